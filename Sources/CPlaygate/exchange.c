// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#define _GNU_SOURCE 1

#include "exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

enum { first_capacity = 4096, most_head = 32768 };

// MARK: Time and memory

static int64_t milliseconds(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return 0;
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

int64_t exchange_clock(void) { return milliseconds(CLOCK_MONOTONIC); }

int64_t exchange_now(void) { return milliseconds(CLOCK_REALTIME); }

void exchange_wipe(void *bytes, size_t length) {
    volatile unsigned char *place = bytes;
    while (length-- > 0) *place++ = 0;
}

void exchange_forget(exchange_response *response) {
    if (response->bytes != NULL) exchange_wipe(response->bytes, response->capacity);
    free(response->bytes);
    memset(response, 0, sizeof *response);
}

// MARK: Sockets

// Limits the time of connect() and of each send().
static int limit_time(int descriptor, int64_t deadline) {
    int64_t left = deadline - exchange_clock();
    if (left <= 0) return -1;
    struct timeval time = {.tv_sec = (time_t)(left / 1000), .tv_usec = (suseconds_t)(left % 1000 * 1000)};
    return setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

int exchange_connect(const char *path, int64_t deadline) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof address.sun_path) return -1;
    memcpy(address.sun_path, path, length);
#ifdef SOCK_CLOEXEC
    // Set at once: another thread may start a program meanwhile, which would keep the connection.
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
#endif
    if (descriptor < 0) return -1;
#ifdef SO_NOSIGPIPE
    int yes = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
#endif
    if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 && limit_time(descriptor, deadline) == 0
        && connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0)
        return descriptor;
    close(descriptor);
    return -1;
}

int exchange_send(int descriptor, const char *bytes, size_t length, int64_t deadline) {
    while (length > 0) {
        if (limit_time(descriptor, deadline) != 0) return -1;
        ssize_t count = send(descriptor, bytes, length, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return -1;
        bytes += count;
        length -= (size_t)count;
    }
    return 0;
}

// MARK: Responses

static int grow(exchange_response *response) {
    if (response->length < response->capacity) return 0;
    size_t capacity = response->capacity == 0 ? first_capacity : 2 * response->capacity;
    char *bytes = malloc(capacity);
    if (bytes == NULL) return -1;
    size_t length = response->length;
    if (length > 0) memcpy(bytes, response->bytes, length);
    int status = response->status;
    size_t head = response->head;
    exchange_forget(response);
    *response = (exchange_response){.bytes = bytes, .length = length, .capacity = capacity, .head = head, .status = status};
    return 0;
}

playgate_slice exchange_field(const exchange_response *response, const char *name) {
    playgate_slice value = {NULL, 0};
    size_t count = strlen(name), found = 0;
    const char *end = response->bytes + response->head, *line = memchr(response->bytes, '\n', response->head);
    for (; line != NULL; line = memchr(line, '\n', (size_t)(end - line))) {
        line++;
        if ((size_t)(end - line) <= count || line[count] != ':' || strncasecmp(line, name, count) != 0) continue;
        value.bytes = line + count + 1;
        while (value.bytes < end && *value.bytes == ' ') value.bytes++;
        // The head ends with CR LF CR LF.
        value.length = (size_t)((const char *)memchr(value.bytes, '\r', (size_t)(end - value.bytes)) - value.bytes);
        found++;
    }
    return found == 1 ? value : (playgate_slice){NULL, 0};
}

// Returns the length of the body; -1 if it is not stated as one number.
static int64_t body_length(const exchange_response *response) {
    if (response->status == 304 || response->status == 204) return 0;
    playgate_slice text = exchange_field(response, "Content-Length");
    int64_t length = 0;
    if (text.length == 0 || text.length > 10) return -1;
    for (size_t place = 0; place < text.length; place++) {
        if (text.bytes[place] < '0' || text.bytes[place] > '9') return -1;
        length = 10 * length + (text.bytes[place] - '0');
    }
    return length;
}

// Looks at what has come. Returns 1 if the response is whole, 0 if not yet, -1 if it is none.
static int is_whole(exchange_response *response, size_t limit) {
    if (response->head == 0) {
        const char *end = response->length < 4 ? NULL : memmem(response->bytes, response->length, "\r\n\r\n", 4);
        if (end == NULL) return response->length > most_head ? -1 : 0;
        response->head = (size_t)(end - response->bytes) + 4;
        if (response->head < 16 || memcmp(response->bytes, "HTTP/1.1 ", 9) != 0) return -1;
        for (size_t place = 9; place < 12; place++) {
            if (response->bytes[place] < '0' || response->bytes[place] > '9') return -1;
            response->status = 10 * response->status + (response->bytes[place] - '0');
        }
    }
    int64_t length = body_length(response);
    if (length < 0 || (uint64_t)length > limit || response->length > response->head + (size_t)length) return -1;
    return response->length == response->head + (size_t)length;
}

// Waits until there is something to read. Returns 0, or why not.
static int wait_to_read(int descriptor, int wake, int64_t deadline) {
    for (;;) {
        int64_t left = deadline - exchange_clock();
        struct pollfd both[2] = {{.fd = descriptor, .events = POLLIN}, {.fd = wake, .events = POLLIN}};
        if (left <= 0) return EXCHANGE_FAILED;
        int count = poll(both, wake < 0 ? 1 : 2, left > 60000 ? 60000 : (int)left);
        if (count < 0 && errno != EINTR) return EXCHANGE_FAILED;
        if (count <= 0) continue;
        return wake >= 0 && both[1].revents != 0 ? EXCHANGE_WOKEN : 0;
    }
}

int exchange_receive(int descriptor, int wake, int64_t deadline, size_t limit, exchange_response *response) {
    for (;;) {
        int result = wait_to_read(descriptor, wake, deadline);
        if (result != 0) return result;
        if (grow(response) != 0) return EXCHANGE_FAILED;
        ssize_t count = recv(descriptor, response->bytes + response->length, response->capacity - response->length, MSG_DONTWAIT);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count == 0 && response->length == 0) return EXCHANGE_CLOSED;
        if (count <= 0) return response->length == 0 && errno == ECONNRESET ? EXCHANGE_CLOSED : EXCHANGE_FAILED;
        response->length += (size_t)count;
        int whole = is_whole(response, limit);
        if (whole != 0) return whole > 0 ? EXCHANGE_WHOLE : EXCHANGE_FAILED;
    }
}
