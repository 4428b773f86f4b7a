// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#define _GNU_SOURCE 1

#include "playgate_follow.h"
#include "playgate_signed.h"

#include "exchange.h"
#include "fork.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Milliseconds: between two looks at a file, and before a failed request is made again; between two requests of which the first
// brought a policy; beyond the wait that a request asks for; for the request before there is a policy.
enum { interval = 1000, soon = 50, patience = 10000, first_patience = 1000 };
enum { longest_wait = 55, most_key = 512, most_trust = 65536 };

struct playgate_follower {
    char *path;
    int is_service;
    char key[most_key + 1];
    // The keys that sign the file; null if it is not signed.
    char *trust;
    size_t trust_length;
    void (*log)(void *context, int32_t level, const char *message);
    void *log_context;
    _Atomic(playgate_engine *) engine;
    atomic_int is_stopped;
    // The process that may use the pipe and the engine.
    uint32_t forks;
    // A byte in it ends every wait.
    int wake[2];
    // The last result of taking a document.
    int32_t result;
    // The last fault that was told.
    char told[320];
    // A service's: the tag of the policy, and the time for which that is good.
    char tag[128];
    int64_t good_for;
    // A file's: what it was when it was read.
    struct stat facts;
};

static const char service_prefix[] = "unix:";

// MARK: Messages

static void tell(playgate_follower *follower, int32_t level, const char *message) {
    if (follower->log != NULL) follower->log(follower->log_context, level, message);
}

// Tells a fault, unless it was the last one too.
static void complain(playgate_follower *follower, const char *why, const char *more) {
    char text[sizeof follower->told];
    snprintf(text, sizeof text, "the policy %.120s stays as it was: %s%s%.120s", follower->path, why, *more == '\0' ? "" : ": ", more);
    if (strcmp(text, follower->told) == 0) return;
    memcpy(follower->told, text, sizeof text);
    tell(follower, PLAYGATE_LOG_ERROR, text);
}

// MARK: Documents

static int32_t parse(const playgate_follower *follower, const char *bytes, size_t length, playgate_policy **policy,
                     playgate_error *error) {
    int64_t now = exchange_now();
    if (follower->trust == NULL) return playgate_policy_open(bytes, length, now, policy, error);
    return playgate_policy_open_signed(bytes, length, follower->trust, follower->trust_length, now, policy, error);
}

// Takes a document as the policy. Returns what playgate_policy_open() and the engine do.
static int32_t use(playgate_follower *follower, const char *bytes, size_t length, playgate_error *error) {
    playgate_policy *policy = NULL;
    playgate_engine *engine = atomic_load(&follower->engine);
    int32_t result = parse(follower, bytes, length, &policy, error);
    if (result == PLAYGATE_OK && engine != NULL) {
        result = playgate_engine_replace(engine, policy, error);
    } else if (result == PLAYGATE_OK) {
        result = playgate_engine_create(policy, &engine, error);
        if (result == PLAYGATE_OK) atomic_store(&follower->engine, engine);
    }
    if (result == PLAYGATE_OK) {
        follower->good_for = playgate_policy_good_for(policy);
        follower->told[0] = '\0';
        tell(follower, PLAYGATE_LOG_NOTICE, "the policy was read");
    }
    playgate_policy_release(policy);
    return follower->result = result;
}

static void complain_of(playgate_follower *follower, const playgate_error *error) {
    char where[320];
    snprintf(where, sizeof where, "%s in line %u, column %u", error->message, error->line, error->column);
    complain(follower, "it is invalid", where);
}

// MARK: Files

static int same_file(const struct stat *one, const struct stat *other) {
#ifdef __APPLE__
    struct timespec changed = one->st_mtimespec, then = other->st_mtimespec;
#else
    struct timespec changed = one->st_mtim, then = other->st_mtim;
#endif
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino && one->st_size == other->st_size
        && changed.tv_sec == then.tv_sec && changed.tv_nsec == then.tv_nsec;
}

// Reads a file of at most `limit` bytes. Returns its bytes, to be wiped and freed, or null with `errno`.
static char *read_whole(const char *path, size_t limit, struct stat *facts) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return NULL;
    char *bytes = NULL;
    int failure = fstat(descriptor, facts) != 0 ? errno : 0;
    if (failure == 0 && (!S_ISREG(facts->st_mode) || (uint64_t)facts->st_size > limit)) failure = EINVAL;
    size_t length = failure == 0 ? (size_t)facts->st_size : 0, done = 0;
    if (failure == 0 && (bytes = malloc(length + 1)) == NULL) failure = ENOMEM;
    while (failure == 0 && done < length) {
        ssize_t count = read(descriptor, bytes + done, length - done);
        if (count < 0 && errno != EINTR) failure = errno;
        // The file has become shorter: it is written in place.
        if (count == 0) failure = EINVAL;
        if (count > 0) done += (size_t)count;
    }
    close(descriptor);
    if (failure == 0) return bytes;
    if (bytes != NULL) exchange_wipe(bytes, length);
    free(bytes);
    errno = failure;
    return NULL;
}

static int32_t read_policy(playgate_follower *follower, playgate_error *error) {
    struct stat facts;
    char *bytes = read_whole(follower->path, PLAYGATE_POLICY_LIMIT, &facts);
    if (bytes == NULL) {
        snprintf(error->message, sizeof error->message, "the policy cannot be read: %s", strerror(errno));
        return PLAYGATE_E_ARGUMENT;
    }
    int32_t result = use(follower, bytes, (size_t)facts.st_size, error);
    exchange_wipe(bytes, (size_t)facts.st_size);
    free(bytes);
    // A failure that is no fault of the file may be over at the next look.
    if (result != PLAYGATE_E_INTERNAL) follower->facts = facts;
    return result;
}

// Reads the policy again if its file is another one.
static void look_at_file(playgate_follower *follower) {
    struct stat facts;
    playgate_error error = {0};
    if (stat(follower->path, &facts) != 0) {
        complain(follower, "its file cannot be found", strerror(errno));
        return;
    }
    if (same_file(&facts, &follower->facts)) return;
    int32_t result = read_policy(follower, &error);
    if (result == PLAYGATE_E_ARGUMENT && error.line == 0) complain(follower, error.message, "");
    else if (result != PLAYGATE_OK) complain_of(follower, &error);
}

// MARK: The service

static uint32_t wait_of(const playgate_follower *follower) {
    // The policy is confirmed three times within the time for which it is good.
    int64_t seconds = follower->good_for / 3000;
    return (uint32_t)(seconds < 1 ? 1 : seconds > longest_wait ? longest_wait : seconds);
}

static size_t write_request(const playgate_follower *follower, char *text, size_t size) {
    size_t length = 0;
    length += (size_t)snprintf(text, size, "GET /v1/policy");
    if (follower->tag[0] != '\0') length += (size_t)snprintf(text + length, size - length, "?wait=%u", wait_of(follower));
    length += (size_t)snprintf(text + length, size - length, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    if (follower->key[0] != '\0')
        length += (size_t)snprintf(text + length, size - length, "Authorization: Bearer %s\r\n", follower->key);
    if (follower->tag[0] != '\0')
        length += (size_t)snprintf(text + length, size - length, "If-None-Match: %s\r\n", follower->tag);
    return length + (size_t)snprintf(text + length, size - length, "\r\n");
}

// Sends the request, and reads the response. `sent` receives the time of sending.
static int request(playgate_follower *follower, int64_t time, exchange_response *response, int64_t *sent) {
    // The parts have limits, which are together below this size.
    char text[2048];
    int64_t deadline = exchange_clock() + time;
    int descriptor = exchange_connect(follower->path, exchange_clock() + first_patience);
    if (descriptor < 0) return EXCHANGE_FAILED;
    size_t length = write_request(follower, text, sizeof text);
    *sent = exchange_now();
    int result = exchange_send(descriptor, text, length, deadline);
    exchange_wipe(text, sizeof text);
    if (result == 0) result = exchange_receive(descriptor, follower->wake[0], deadline, PLAYGATE_POLICY_LIMIT, response);
    close(descriptor);
    return result;
}

static void note_tag(playgate_follower *follower, playgate_slice tag) {
    follower->tag[0] = '\0';
    if (tag.length == 0 || tag.length >= sizeof follower->tag) return;
    memcpy(follower->tag, tag.bytes, tag.length);
    follower->tag[tag.length] = '\0';
}

// Takes a response. Returns the time until the next request.
static int take(playgate_follower *follower, const exchange_response *response, int64_t sent) {
    playgate_engine *engine = atomic_load(&follower->engine);
    playgate_error error = {0};
    char status[16];
    if (response->status == 304 && engine != NULL && playgate_engine_confirm(engine, sent) == PLAYGATE_OK) {
        follower->told[0] = '\0';
        // A service that has too many waiting answers at once.
        return exchange_now() - sent < interval ? interval : soon;
    }
    if (response->status != 200) {
        snprintf(status, sizeof status, "%d", response->status);
        complain(follower, "the service has answered", status);
        return interval;
    }
    int32_t result = use(follower, response->bytes + response->head, response->length - response->head, &error);
    if (result != PLAYGATE_OK) {
        complain_of(follower, &error);
        return interval;
    }
    note_tag(follower, exchange_field(response, "ETag"));
    return soon;
}

// Asks the service. Returns the time until the next request.
static int ask(playgate_follower *follower, int64_t time) {
    exchange_response response = {0};
    int64_t sent = 0;
    int next = interval, result = request(follower, time, &response, &sent);
    if (result == EXCHANGE_WHOLE) next = take(follower, &response, sent);
    else if (result != EXCHANGE_WOKEN) complain(follower, "the service has not answered", "");
    exchange_forget(&response);
    return next;
}

// MARK: Life

static int32_t fail(playgate_follower *follower, int32_t result, playgate_error *error, const char *message) {
    if (error != NULL && message != NULL) snprintf(error->message, sizeof error->message, "%s", message);
    playgate_follower_free(follower);
    return result;
}

// Reads the key of the service. Returns 0 if it is one.
static int read_key(playgate_follower *follower, const char *path) {
    struct stat facts;
    char *bytes = read_whole(path, 2 * most_key, &facts);
    if (bytes == NULL) return -1;
    size_t length = (size_t)facts.st_size;
    while (length > 0 && (unsigned char)bytes[length - 1] <= ' ') length--;
    int is_key = length > 0 && length <= most_key;
    for (size_t place = 0; place < length; place++) is_key = is_key && bytes[place] > ' ' && bytes[place] <= '~';
    if (is_key) memcpy(follower->key, bytes, length);
    exchange_wipe(bytes, (size_t)facts.st_size);
    free(bytes);
    return is_key ? 0 : -1;
}

static int read_trust(playgate_follower *follower, const char *path) {
    struct stat facts;
    follower->trust = read_whole(path, most_trust, &facts);
    follower->trust_length = follower->trust == NULL ? 0 : (size_t)facts.st_size;
    return follower->trust_length > 0 ? 0 : -1;
}

static int open_wake(playgate_follower *follower) {
#ifdef __linux__
    int failed = pipe2(follower->wake, O_CLOEXEC);
#else
    int failed = pipe(follower->wake);
#endif
    if (failed != 0) {
        follower->wake[0] = follower->wake[1] = -1;
        return -1;
    }
    return fcntl(follower->wake[0], F_SETFD, FD_CLOEXEC) | fcntl(follower->wake[1], F_SETFD, FD_CLOEXEC);
}

// Checks the source, and reads the files beside it. Returns null, or the fault.
static const char *read_settings(playgate_follower *follower, const playgate_follower_rules *rules, const char *trust_file) {
    if (follower->path[0] == '\0' || (follower->is_service && strlen(follower->path) > 103))
        return "the source is no path, or too long for a socket";
    if (rules->key_file != NULL && !follower->is_service) return "a file needs no key: a key is for unix:PATH";
    if (rules->key_file != NULL && read_key(follower, rules->key_file) != 0)
        return "the file of the key cannot be read, or has none in it";
    if (trust_file != NULL && follower->is_service) return "a service needs no keys to trust: they are for a file";
    if (trust_file != NULL && read_trust(follower, trust_file) != 0)
        return "the file of the keys to trust cannot be read, or has none in it";
    return NULL;
}

int32_t playgate_follower_create(const playgate_follower_rules *rules, playgate_follower **created, playgate_error *error) {
    if (error != NULL) memset(error, 0, sizeof *error);
    if (created == NULL) return PLAYGATE_E_ARGUMENT;
    *created = NULL;
    // Programs that were built before there was a trust_file have no memory for it.
    if (rules == NULL || rules->size < offsetof(playgate_follower_rules, trust_file) || rules->source == NULL)
        return PLAYGATE_E_ARGUMENT;
    playgate_follower *follower = calloc(1, sizeof *follower);
    if (follower == NULL) return PLAYGATE_E_INTERNAL;
    follower->wake[0] = follower->wake[1] = -1;
    follower->forks = fork_number();
    follower->log = rules->log;
    follower->log_context = rules->log_context;
    size_t prefix = sizeof service_prefix - 1;
    follower->is_service = strncmp(rules->source, service_prefix, prefix) == 0;
    follower->path = strdup(rules->source + (follower->is_service ? prefix : 0));
    if (follower->path == NULL || open_wake(follower) != 0) return fail(follower, PLAYGATE_E_INTERNAL, error, "there is no memory");
    const char *fault = read_settings(follower, rules, rules->size < sizeof *rules ? NULL : rules->trust_file);
    if (fault != NULL) return fail(follower, PLAYGATE_E_ARGUMENT, error, fault);
    if (follower->is_service) {
        ask(follower, first_patience);
        if (follower->result == PLAYGATE_E_FORK)
            return fail(follower, PLAYGATE_E_FORK, error, "the process has not called playgate_no_more_forks()");
    } else {
        playgate_error fault = {0};
        int32_t result = read_policy(follower, &fault);
        if (error != NULL) *error = fault;
        if (result != PLAYGATE_OK) return fail(follower, result, error, NULL);
    }
    *created = follower;
    return PLAYGATE_OK;
}

playgate_engine *playgate_follower_engine(const playgate_follower *follower) {
    return follower == NULL ? NULL : atomic_load_explicit(&((playgate_follower *)(uintptr_t)follower)->engine, memory_order_acquire);
}

int32_t playgate_follower_run(playgate_follower *follower) {
    if (follower == NULL) return PLAYGATE_E_ARGUMENT;
    if (follower->forks != fork_number()) return PLAYGATE_E_FORK;
    int next = follower->is_service ? soon : interval;
    int64_t due = exchange_clock() + next;
    while (!atomic_load(&follower->is_stopped)) {
        struct pollfd wake = {.fd = follower->wake[0], .events = POLLIN};
        int64_t left = due - exchange_clock();
        // A signal ends a wait, and must not put off what is due.
        if (left > 0 && poll(&wake, 1, (int)left) != 0) continue;
        if (left > 0 && exchange_clock() < due) continue;
        if (follower->result == PLAYGATE_E_FORK) return PLAYGATE_E_FORK;
        if (!follower->is_service) look_at_file(follower);
        else next = ask(follower, 1000 * (int64_t)wait_of(follower) + patience);
        due = exchange_clock() + next;
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
    if (follower->forks == fork_number()) playgate_engine_release(atomic_load(&follower->engine));
    for (int end = 0; end < 2; end++)
        if (follower->wake[end] >= 0) close(follower->wake[end]);
    exchange_wipe(follower->key, sizeof follower->key);
    free(follower->trust);
    free(follower->path);
    free(follower);
}
