// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#define _GNU_SOURCE 1

#include "http.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

enum { first_capacity = 4096, most_head = 32768 };

void http_forget(http_response *response) {
    if (response->bytes != NULL) memory_wipe(response->bytes, response->capacity);
    free(response->bytes);
    memset(response, 0, sizeof *response);
}

// MARK: Sockets

// Limits the time of connect() and of each send().
static int limit_time(int descriptor, int64_t deadline) {
    int64_t left = deadline - clock_steady();
    if (left <= 0) return -1;
    struct timeval time = {.tv_sec = (time_t)(left / 1000), .tv_usec = (suseconds_t)(left % 1000 * 1000)};
    return setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

int http_connect(const char *path, int64_t deadline) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof address.sun_path) return -1;
    memcpy(address.sun_path, path, length);
#ifdef SOCK_CLOEXEC
    // Set at once: another thread may start a program meanwhile, which would keep the connection.
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
#else
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    if (descriptor < 0 || fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) return -1;
#endif
#ifdef SO_NOSIGPIPE
    int yes = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
#endif
    if (limit_time(descriptor, deadline) == 0 && connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

int http_send(int descriptor, const char *bytes, size_t length, int64_t deadline) {
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

static int grow(http_response *response) {
    if (response->length < response->capacity) return 0;
    size_t capacity = response->capacity == 0 ? first_capacity : 2 * response->capacity;
    char *bytes = malloc(capacity);
    if (bytes == NULL) return -1;
    size_t length = response->length;
    if (length > 0) memcpy(bytes, response->bytes, length);
    int status = response->status;
    size_t head = response->head;
    http_forget(response);
    *response = (http_response){.bytes = bytes, .length = length, .capacity = capacity, .head = head, .status = status};
    return 0;
}

size_t http_values(void *context, playgate_slice name, playgate_slice *values, size_t capacity) {
    const http_response *response = context;
    size_t count = 0;
    const char *end = response->bytes + response->head, *line = memchr(response->bytes, '\n', response->head);
    for (; line != NULL; line = memchr(line, '\n', (size_t)(end - line))) {
        line++;
        if ((size_t)(end - line) <= name.length || line[name.length] != ':' || strncasecmp(line, name.bytes, name.length) != 0) continue;
        const char *value = line + name.length + 1;
        // The head ends with CR LF CR LF.
        const char *last = memchr(value, '\r', (size_t)(end - value));
        if (count < capacity) values[count] = slice_trimmed((playgate_slice){value, (size_t)(last - value)});
        count++;
    }
    return count;
}

playgate_slice http_field(const http_response *response, const char *name) {
    playgate_slice value = {NULL, 0};
    return http_values((void *)(uintptr_t)response, slice_of(name), &value, 1) == 1 ? value : (playgate_slice){NULL, 0};
}

// Returns the length of the body; -1 if it is not stated as one number.
static int64_t body_length(const http_response *response) {
    if (response->status == 304 || response->status == 204) return 0;
    return slice_number(http_field(response, "Content-Length"), INT32_MAX);
}

// Looks at what has come. Returns 1 if the response is whole, 0 if not yet, -1 if it is none.
static int is_whole(http_response *response, size_t limit) {
    if (response->head == 0) {
        const char *end = response->length < 4 ? NULL : memmem(response->bytes, response->length, "\r\n\r\n", 4);
        if (end == NULL) return response->length > most_head ? -1 : 0;
        response->head = (size_t)(end - response->bytes) + 4;
        if (response->head < 16 || memcmp(response->bytes, "HTTP/1.1 ", 9) != 0) return -1;
        for (size_t at = 9; at < 12; at++) {
            if (response->bytes[at] < '0' || response->bytes[at] > '9') return -1;
            response->status = 10 * response->status + (response->bytes[at] - '0');
        }
    }
    int64_t length = body_length(response);
    if (length < 0 || (uint64_t)length > limit || response->length > response->head + (size_t)length) return -1;
    return response->length == response->head + (size_t)length;
}

// Waits until there is something to read. Returns 0, or why not.
static int wait_to_read(int descriptor, int wake, int64_t deadline) {
    for (;;) {
        int64_t left = deadline - clock_steady();
        struct pollfd both[2] = {{.fd = descriptor, .events = POLLIN}, {.fd = wake, .events = POLLIN}};
        if (left <= 0) return HTTP_FAILED;
        int count = poll(both, wake < 0 ? 1 : 2, left > 60000 ? 60000 : (int)left);
        if (count < 0 && errno != EINTR) return HTTP_FAILED;
        if (count <= 0) continue;
        return wake >= 0 && both[1].revents != 0 ? HTTP_WOKEN : 0;
    }
}

int http_receive(int descriptor, int wake, int64_t deadline, size_t limit, http_response *response) {
    for (;;) {
        int result = wait_to_read(descriptor, wake, deadline);
        if (result != 0) return result;
        if (grow(response) != 0) return HTTP_FAILED;
        ssize_t count = recv(descriptor, response->bytes + response->length, response->capacity - response->length, MSG_DONTWAIT);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count == 0 && response->length == 0) return HTTP_CLOSED;
        if (count <= 0) return response->length == 0 && errno == ECONNRESET ? HTTP_CLOSED : HTTP_FAILED;
        response->length += (size_t)count;
        int whole = is_whole(response, limit);
        if (whole != 0) return whole > 0 ? HTTP_WHOLE : HTTP_FAILED;
    }
}
