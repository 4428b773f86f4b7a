// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#define _GNU_SOURCE 1

#include "playgate_ask.h"

#include "fork.h"
#include "http.h"
#include "refusal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_request = 65536, most_body = 65536 };

struct playgate_asker {
    char *path;
    uint32_t timeout, limit, count;
    // The process that may use the connections and the lock.
    uint32_t forks;
    pthread_mutex_t lock;
    // The idle connections, the latest last.
    int idle[];
};

// MARK: Life

int32_t playgate_asker_create(const char *path, uint32_t timeout, uint32_t connections, playgate_asker **asker) {
    if (asker == NULL) return PLAYGATE_E_ARGUMENT;
    *asker = NULL;
    // 104 bytes of path fit into every system's address.
    if (path == NULL || path[0] == '\0' || strlen(path) > 103 || timeout < 1 || timeout > 60000) return PLAYGATE_E_ARGUMENT;
    if (connections < 1 || connections > 1024) return PLAYGATE_E_ARGUMENT;
    playgate_asker *fresh = calloc(1, sizeof *fresh + connections * sizeof(int));
    if (fresh == NULL) return PLAYGATE_E_INTERNAL;
    fresh->path = strdup(path);
    fresh->timeout = timeout;
    fresh->limit = connections;
    fresh->forks = fork_number();
    if (fresh->path == NULL || pthread_mutex_init(&fresh->lock, NULL) != 0) {
        free(fresh->path);
        free(fresh);
        return PLAYGATE_E_INTERNAL;
    }
    *asker = fresh;
    return PLAYGATE_OK;
}

void playgate_asker_free(playgate_asker *asker) {
    if (asker == NULL) return;
    for (uint32_t at = 0; at < asker->count; at++) close(asker->idle[at]);
    if (asker->forks == fork_number()) pthread_mutex_destroy(&asker->lock);
    free(asker->path);
    free(asker);
}

// Returns an idle connection, or -1.
static int take_idle(playgate_asker *asker) {
    pthread_mutex_lock(&asker->lock);
    int descriptor = asker->count == 0 ? -1 : asker->idle[--asker->count];
    pthread_mutex_unlock(&asker->lock);
    return descriptor;
}

static void keep_idle(playgate_asker *asker, int descriptor) {
    pthread_mutex_lock(&asker->lock);
    int is_kept = asker->count < asker->limit;
    if (is_kept) asker->idle[asker->count++] = descriptor;
    pthread_mutex_unlock(&asker->lock);
    if (!is_kept) close(descriptor);
}

// MARK: Texts

typedef struct text {
    char *bytes;
    size_t length;
    int failed;
} text;

static void add(text *text, playgate_slice piece) {
    if (text->failed || piece.length > most_request - text->length) {
        text->failed = 1;
        return;
    }
    if (piece.length > 0) memcpy(text->bytes + text->length, piece.bytes, piece.length);
    text->length += piece.length;
}

static void write_request(text *text, const playgate_subrequest *subrequest) {
    add(text, slice_of("GET "));
    add(text, subrequest->path);
    add(text, subrequest->target);
    add(text, slice_of(" HTTP/1.1\r\nHost: gate\r\n"));
    for (uint32_t at = 0; at < subrequest->field_count; at++) {
        add(text, subrequest->fields[at].name);
        add(text, slice_of(": "));
        add(text, subrequest->fields[at].value);
        add(text, slice_of("\r\n"));
    }
    add(text, slice_of("\r\n"));
}

// MARK: Asking

// Sends a request on a connection, and reads the response.
static int exchange(int descriptor, const text *request, int64_t deadline, http_response *response) {
    if (http_send(descriptor, request->bytes, request->length, deadline) != 0) return HTTP_CLOSED;
    return http_receive(descriptor, -1, deadline, most_body, response);
}

// Asks on an idle connection if there is one, else on a new one. The service may have closed those that are idle.
static int ask(playgate_asker *asker, const text *request, http_response *response) {
    int64_t deadline = clock_steady() + asker->timeout;
    int descriptor = -1, result = HTTP_CLOSED;
    while (result == HTTP_CLOSED && (descriptor = take_idle(asker)) >= 0) {
        result = exchange(descriptor, request, deadline, response);
        if (result != HTTP_WHOLE) close(descriptor);
    }
    if (result == HTTP_CLOSED) {
        descriptor = http_connect(asker->path, deadline);
        if (descriptor < 0) return -1;
        result = exchange(descriptor, request, deadline, response);
        if (result != HTTP_WHOLE) close(descriptor);
    }
    if (result != HTTP_WHOLE) return -1;
    if (slice_is(http_field(response, "Connection"), slice_of("close"))) close(descriptor);
    else keep_idle(asker, descriptor);
    return 0;
}

int32_t playgate_ask_subrequest(playgate_asker *asker, const playgate_subrequest *subrequest, playgate_answer *answer) {
    if (answer == NULL || answer->size < PLAYGATE_ANSWER_SIZE_1) return PLAYGATE_E_ARGUMENT;
    refuse_for_failure(answer);
    if (asker == NULL || subrequest == NULL || subrequest->size < PLAYGATE_SUBREQUEST_SIZE_1 || subrequest->field_count > PLAYGATE_SUBREQUEST_FIELDS)
        return PLAYGATE_E_ARGUMENT;
    // A connection that two processes use gives one the answers of the other.
    if (asker->forks != fork_number()) return PLAYGATE_E_FORK;
    text written = {.bytes = malloc(most_request)};
    http_response response = {0};
    if (written.bytes == NULL) return PLAYGATE_E_INTERNAL;
    write_request(&written, subrequest);
    int32_t result = written.failed ? PLAYGATE_E_ARGUMENT : PLAYGATE_E_INTERNAL;
    if (!written.failed && ask(asker, &written, &response) == 0)
        result = playgate_subrequest_read(response.status, http_values, &response, answer);
    memory_wipe(written.bytes, written.length);
    free(written.bytes);
    http_forget(&response);
    return result;
}

int32_t playgate_ask(playgate_asker *asker, const playgate_request *request, playgate_answer *answer) {
    playgate_subrequest subrequest = {.size = sizeof subrequest};
    if (answer == NULL || answer->size < PLAYGATE_ANSWER_SIZE_1) return PLAYGATE_E_ARGUMENT;
    refuse_for_failure(answer);
    if (asker == NULL || request == NULL || request->size < PLAYGATE_REQUEST_SIZE_1) return PLAYGATE_E_ARGUMENT;
    int32_t dialect = request->flags & PLAYGATE_REQUEST_AS_IS ? PLAYGATE_FORWARD : PLAYGATE_RESOLVED;
    int32_t result = playgate_subrequest_make(dialect, request, &subrequest);
    return result == PLAYGATE_OK ? playgate_ask_subrequest(asker, &subrequest, answer) : result;
}
