// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#define _GNU_SOURCE 1

#include "playgate_follow.h"

#include "fork.h"
#include "http.h"
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// The driver of a source for threads that may wait.

struct playgate_follower {
    playgate_source source;
    atomic_int is_stopped;
    // The process that may use the pipe and the engine.
    uint32_t forks;
    // A byte in it ends every wait.
    int wake[2];
    // The time until the source is looked at first.
    int64_t first;
};

// MARK: The service

// Sends the next request, and reads the response. `sent` receives the time of sending.
static int request(playgate_follower *follower, int64_t time, http_response *response, int64_t *sent) {
    char text[source_request_limit];
    int64_t deadline = clock_steady() + time;
    int descriptor = http_connect(follower->source.path, clock_steady() + source_first_patience);
    if (descriptor < 0) return HTTP_FAILED;
    size_t length = source_write_request(&follower->source, text);
    *sent = clock_unix();
    int result = http_send(descriptor, text, length, deadline);
    memory_wipe(text, sizeof text);
    if (result == 0) result = http_receive(descriptor, follower->wake[0], deadline, PLAYGATE_POLICY_LIMIT, response);
    close(descriptor);
    return result;
}

// Asks the service. Returns the time until the next request.
static int64_t ask(playgate_follower *follower, int64_t time) {
    http_response response = {0};
    int64_t sent = 0, next = source_interval;
    int result = request(follower, time, &response, &sent);
    if (result == HTTP_WHOLE) {
        playgate_slice body = {response.bytes + response.head, response.length - response.head};
        next = source_take(&follower->source, response.status, body, http_field(&response, "ETag"), sent);
    } else if (result != HTTP_WOKEN) {
        next = source_miss(&follower->source);
    }
    http_forget(&response);
    return next;
}

// MARK: Reports

// Sends a batch. Returns the status of the response; 0 without one.
static int send_reports(const playgate_follower *follower, playgate_slice batch, http_response *response) {
    char head[source_request_limit];
    int64_t deadline = clock_steady() + source_first_patience;
    int descriptor = http_connect(follower->source.path, deadline);
    if (descriptor < 0) return 0;
    size_t length = source_write_report_head(&follower->source, batch.length, head);
    int result = http_send(descriptor, head, length, deadline);
    memory_wipe(head, sizeof head);
    if (result == 0) result = http_send(descriptor, batch.bytes, batch.length, deadline);
    if (result == 0) result = http_receive(descriptor, follower->wake[0], deadline, PLAYGATE_REPORTS_LIMIT, response);
    close(descriptor);
    return result == HTTP_WHOLE ? response->status : 0;
}

// Without an answer, the reports wait for the next exchange. Those that the service cannot read would stay for good.
static void exchange(const playgate_follower *follower, playgate_observer *observer, char *bytes) {
    http_response response = {0};
    playgate_reports reports = {.size = sizeof reports};
    size_t length = playgate_observer_reports(observer, clock_unix(), bytes, &reports);
    int status = length == 0 ? 0 : send_reports(follower, (playgate_slice){bytes, length}, &response);
    if (status == 200 || status == 400 || status == 413) playgate_observer_confirm(observer, &reports);
    if (status == 200)
        playgate_observer_obey(observer, (playgate_slice){response.bytes + response.head, response.length - response.head}, clock_unix());
    http_forget(&response);
}

int32_t playgate_follower_report(playgate_follower *follower, playgate_observer *observer) {
    if (follower == NULL || observer == NULL) return PLAYGATE_E_ARGUMENT;
    if (follower->forks != fork_number()) return PLAYGATE_E_FORK;
    if (!follower->source.is_service) return PLAYGATE_OK;
    char *bytes = malloc(PLAYGATE_REPORTS_LIMIT);
    if (bytes == NULL) return PLAYGATE_E_INTERNAL;
    while (!atomic_load(&follower->is_stopped)) {
        struct pollfd wake = {.fd = follower->wake[0], .events = POLLIN};
        if (poll(&wake, 1, source_interval) != 0) continue;
        if (playgate_observer_is_due(observer, clock_unix())) exchange(follower, observer, bytes);
    }
    free(bytes);
    return PLAYGATE_OK;
}

int32_t playgate_follower_has_service(const playgate_follower *follower) { return follower != NULL && follower->source.is_service; }

// MARK: Life

static int open_wake(playgate_follower *follower) {
#ifdef __linux__
    if (pipe2(follower->wake, O_CLOEXEC) == 0) return 0;
#else
    if (pipe(follower->wake) == 0)
        return fcntl(follower->wake[0], F_SETFD, FD_CLOEXEC) | fcntl(follower->wake[1], F_SETFD, FD_CLOEXEC);
#endif
    follower->wake[0] = follower->wake[1] = -1;
    return -1;
}

// Has the policy of a file in force, or asks the service for it once.
static int32_t begin(playgate_follower *follower, playgate_error *error) {
    playgate_source *source = &follower->source;
    if (source->is_service) {
        ask(follower, source_first_patience);
        follower->first = source_soon;
        if (source->result != PLAYGATE_E_FORK) return PLAYGATE_OK;
        snprintf(error->message, sizeof error->message, "the process has not called playgate_no_more_forks()");
        return PLAYGATE_E_FORK;
    }
    int is_opened = source->policy != NULL;
    follower->first = source_interval;
    int32_t result = is_opened ? PLAYGATE_OK : source_read(source, error);
    if (result == PLAYGATE_OK) result = source_enforce(source, error);
    // One that was read before a fork may be days old, and a revocation since then must hold from the first check on.
    if (result == PLAYGATE_OK && is_opened) source_look(source);
    return result;
}

static int32_t set_up(playgate_follower *follower, const playgate_follower_rules *rules, playgate_error *error) {
    const playgate_source *opened = rules->size < sizeof *rules ? NULL : rules->opened;
    if (open_wake(follower) != 0) return PLAYGATE_E_INTERNAL;
    int32_t result = opened == NULL ? source_set_up(&follower->source, rules, error) : source_copy(&follower->source, opened);
    follower->source.log = rules->log;
    follower->source.log_context = rules->log_context;
    return result == PLAYGATE_OK ? begin(follower, error) : result;
}

int32_t playgate_follower_create(const playgate_follower_rules *rules, playgate_follower **created, playgate_error *error) {
    playgate_error fault = {0};
    if (error != NULL) *error = fault;
    if (created == NULL) return PLAYGATE_E_ARGUMENT;
    *created = NULL;
    if (rules == NULL || rules->size < PLAYGATE_FOLLOWER_RULES_SIZE_1) return PLAYGATE_E_ARGUMENT;
    if (rules->source == NULL && (rules->size < sizeof *rules || rules->opened == NULL)) return PLAYGATE_E_ARGUMENT;
    playgate_follower *follower = calloc(1, sizeof *follower);
    if (follower == NULL) return PLAYGATE_E_INTERNAL;
    follower->wake[0] = follower->wake[1] = -1;
    follower->forks = fork_number();
    int32_t result = set_up(follower, rules, &fault);
    if (result == PLAYGATE_E_INTERNAL && fault.message[0] == '\0') snprintf(fault.message, sizeof fault.message, "there is no memory");
    if (error != NULL && result != PLAYGATE_OK) *error = fault;
    if (result == PLAYGATE_OK) *created = follower;
    else playgate_follower_free(follower);
    return result;
}

playgate_engine *playgate_follower_engine(const playgate_follower *follower) {
    if (follower == NULL) return NULL;
    return atomic_load_explicit(&((playgate_follower *)(uintptr_t)follower)->source.engine, memory_order_acquire);
}

int32_t playgate_follower_run(playgate_follower *follower) {
    if (follower == NULL) return PLAYGATE_E_ARGUMENT;
    if (follower->forks != fork_number()) return PLAYGATE_E_FORK;
    playgate_source *source = &follower->source;
    int64_t due = clock_steady() + follower->first;
    while (!atomic_load(&follower->is_stopped)) {
        struct pollfd wake = {.fd = follower->wake[0], .events = POLLIN};
        int64_t left = due - clock_steady(), next = source_interval;
        // A signal ends a wait, and must not put off what is due.
        if (left > 0 && poll(&wake, 1, (int)left) != 0) continue;
        if (left > 0 && clock_steady() < due) continue;
        if (source->result == PLAYGATE_E_FORK) return PLAYGATE_E_FORK;
        if (source->is_service) next = ask(follower, source_answer_time(source));
        else source_look(source);
        due = clock_steady() + next;
    }
    return PLAYGATE_OK;
}

void playgate_follower_stop(playgate_follower *follower) {
    // In a child, the byte would wake the parent's thread.
    if (follower == NULL || follower->forks != fork_number()) return;
    while (write(follower->wake[1], "", 1) < 0 && errno == EINTR) {}
    // The last access: the thread may free the follower at once.
    atomic_store(&follower->is_stopped, 1);
}

void playgate_follower_free(playgate_follower *follower) {
    if (follower == NULL) return;
    // A child leaves the engine to its parent, whose locks are in it.
    if (follower->forks == fork_number()) playgate_engine_release(atomic_load(&follower->source.engine));
    for (int end = 0; end < 2; end++)
        if (follower->wake[end] >= 0) close(follower->wake[end]);
    source_clear(&follower->source);
    free(follower);
}
