// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_HTTP_H
#define PLAYGATE_HTTP_H

#include "clock.h"
#include "wipe.h"
#include "slice.h"

// A request of HTTP/1.1 to the service over a unix socket, and its whole response. The one reader of HTTP. For follow.c and ask.c.

// A response. All zeros before, and after http_forget().
typedef struct http_response {
    char *bytes;
    size_t length, capacity;
    // The length of the head with its empty line, and the status.
    size_t head;
    int status;
} http_response;

// The results of http_receive().
enum { HTTP_WHOLE = 0, HTTP_FAILED = -1, HTTP_WOKEN = -2, HTTP_CLOSED = -3 };

// Returns a connected socket, or -1. A path of more than a socket's address has room for fails.
int http_connect(const char *path, int64_t deadline);

// Sends it all. Returns 0, or -1.
int http_send(int descriptor, const char *bytes, size_t length, int64_t deadline);

// Reads a response, of at most `limit` bytes, up to its end and no further. HTTP_CLOSED: the peer has closed before the first
// byte. `wake` ends it if it becomes readable; -1 for none.
int http_receive(int descriptor, int wake, int64_t deadline, size_t limit, http_response *response);

// The values of a field of the head, as playgate_header_values() gives those of a request. `response` is a http_response.
size_t http_values(void *response, playgate_slice name, playgate_slice *values, size_t capacity);

// The value of a field; empty if there is none, or more than one.
playgate_slice http_field(const http_response *response, const char *name);

// Wipes and frees a response.
void http_forget(http_response *response);

#endif
