// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_EXCHANGE_H
#define PLAYGATE_EXCHANGE_H

#include "playgate.h"

// A request of HTTP/1.1 to the service over a unix socket, and its whole response. For follow.c and ask.c alone.

// A response. All zeros before, and after exchange_forget().
typedef struct exchange_response {
    char *bytes;
    size_t length, capacity;
    // The length of the head with its empty line, and the status.
    size_t head;
    int status;
} exchange_response;

// The results of exchange_receive().
enum { EXCHANGE_WHOLE = 0, EXCHANGE_FAILED = -1, EXCHANGE_WOKEN = -2, EXCHANGE_CLOSED = -3 };

// The time in milliseconds that no change of the system's clock moves; and the time in Unix milliseconds.
int64_t exchange_clock(void);
int64_t exchange_now(void);

// Overwrites memory that had a key in it.
void exchange_wipe(void *bytes, size_t length);

// Returns a connected socket, or -1. A path of more than a socket's address has room for fails.
int exchange_connect(const char *path, int64_t deadline);

// Sends it all. Returns 0, or -1.
int exchange_send(int descriptor, const char *bytes, size_t length, int64_t deadline);

// Reads a response, of at most `limit` bytes, up to its end and no further. EXCHANGE_CLOSED: the peer has closed before the first
// byte. `wake` ends it if it becomes readable; -1 for none.
int exchange_receive(int descriptor, int wake, int64_t deadline, size_t limit, exchange_response *response);

// A field of the head; empty if there is none, or more than one.
playgate_slice exchange_field(const exchange_response *response, const char *name);

// Wipes and frees a response.
void exchange_forget(exchange_response *response);

#endif
