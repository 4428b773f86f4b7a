// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Loads a policy, forks workers, and lets threads of each check at the same time, as a proxy does.
// usage: forks POLICY GRANT TIME MODE, with MODE `workers`, `parent-checks` or `unsettled`

#include <playgate_ask.h>
#include <playgate_follow.h>
#include <playgate_answer_cache.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// Many workers of few checks: two threads that touch a lazy variable first, at the same time, are the rare case.
enum { threads = 8, rounds = 300, workers = 40, turns = 5, longest = 20 };

static pthread_barrier_t start;

static playgate_engine *engine;
static playgate_asker *asker;
static playgate_follower *follower;
static playgate_slice grant;
static int64_t now;

static playgate_request prepare(playgate_answer *answer, char *buffer) {
    playgate_request request;
    memset(&request, 0, sizeof request);
    memset(answer, 0, sizeof *answer);
    request.size = sizeof request;
    request.now = now;
    request.method = (playgate_slice){"GET", 3};
    request.target = (playgate_slice){"/live/tnt/1.ts", 14};
    request.scheme = (playgate_slice){"https", 5};
    request.host = (playgate_slice){"cdn.example", 11};
    request.grants = &grant;
    request.grant_count = 1;
    answer->size = sizeof *answer;
    answer->buffer = buffer;
    answer->capacity = PLAYGATE_BUFFER_SIZE;
    return request;
}

static int32_t check(playgate_answer *answer, char *buffer) {
    playgate_request request = prepare(answer, buffer);
    return playgate_check(engine, NULL, &request, answer);
}

static int32_t ask(playgate_answer *answer, char *buffer) {
    playgate_request request = prepare(answer, buffer);
    return playgate_ask(asker, &request, answer);
}

static void *check_often(void *unused) {
    char buffer[PLAYGATE_BUFFER_SIZE];
    playgate_answer answer;
    (void)unused;
    pthread_barrier_wait(&start);
    for (int round = 0; round < rounds; round++)
        if (check(&answer, buffer) != PLAYGATE_OK || answer.outcome != PLAYGATE_ALLOW) return (void *)1;
    return NULL;
}

static int check_in_threads(void) {
    pthread_t ids[threads];
    long failures = 0;
    pthread_barrier_init(&start, NULL, threads + 1);
    for (int at = 0; at < threads; at++)
        if (pthread_create(&ids[at], NULL, check_often, NULL) != 0) return 1;
    // The thread that was in the parent too.
    failures += (long)check_often(NULL);
    for (int at = 0; at < threads; at++) {
        void *result;
        pthread_join(ids[at], &result);
        failures += (long)result;
    }
    pthread_barrier_destroy(&start);
    return failures != 0;
}

static int fork_and_wait(int (*work)(playgate_policy *), playgate_policy *policy) {
    pid_t ids[workers];
    int failures = 0;
    for (int at = 0; at < workers; at++) {
        ids[at] = fork();
        if (ids[at] == 0) {
            // A worker that hangs ends by a signal.
            alarm(longest);
            _exit(work(policy));
        }
    }
    for (int at = 0; at < workers; at++) {
        int status = 0;
        waitpid(ids[at], &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fprintf(stderr, "worker: status %d, signal %d\n", status, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
            failures++;
        }
    }
    return failures;
}

static int work(playgate_policy *policy) {
    if (playgate_no_more_forks() != PLAYGATE_OK) return 2;
    if (playgate_engine_create(policy, &engine, NULL) != PLAYGATE_OK) return 3;
    return check_in_threads();
}

// A child of a process that has checked must be refused all checks, in any state of its locks.
static int be_refused(playgate_policy *policy) {
    char buffer[PLAYGATE_BUFFER_SIZE];
    playgate_answer answer;
    playgate_engine *other = NULL;
    if (check(&answer, buffer) != PLAYGATE_E_FORK || answer.outcome != PLAYGATE_REFUSE) return 4;
    if (playgate_no_more_forks() != PLAYGATE_E_FORK) return 5;
    if (playgate_engine_create(policy, &other, NULL) != PLAYGATE_E_FORK || other != NULL) return 6;
    if (playgate_engine_confirm(engine, now) != PLAYGATE_E_FORK) return 7;
    // Connections and threads are the parent's.
    if (ask(&answer, buffer) != PLAYGATE_E_FORK || answer.outcome != PLAYGATE_REFUSE) return 10;
    if (playgate_follower_run(follower) != PLAYGATE_E_FORK) return 11;
    playgate_follower_stop(follower);
    playgate_follower_free(follower);
    playgate_asker_free(asker);
    return 0;
}

// Makes what has descriptors, and uses it before and after the forks.
static int open_both(void) {
    char buffer[PLAYGATE_BUFFER_SIZE];
    playgate_answer answer;
    playgate_follower_rules rules = {.size = sizeof rules, .source = "unix:/nonexistent/api.sock"};
    if (playgate_asker_create("/nonexistent/edge.sock", 100, 4, &asker) != PLAYGATE_OK) return 12;
    if (playgate_follower_create(&rules, &follower, NULL) != PLAYGATE_OK) return 13;
    return ask(&answer, buffer) == PLAYGATE_E_INTERNAL ? 0 : 14;
}

static int close_both(void) {
    playgate_follower_stop(follower);
    int result = playgate_follower_run(follower) == PLAYGATE_OK ? 0 : 15;
    playgate_follower_free(follower);
    playgate_asker_free(asker);
    return result;
}

static playgate_policy *read_policy(const char *path) {
    static char text[1 << 20];
    playgate_policy *policy = NULL;
    playgate_error error;
    FILE *file = fopen(path, "rb");
    size_t length;
    if (file == NULL) return NULL;
    length = fread(text, 1, sizeof text, file);
    fclose(file);
    if (playgate_policy_open(text, length, now, &policy, &error) != PLAYGATE_OK)
        fprintf(stderr, "%s:%u: %s\n", path, error.line, error.message);
    return policy;
}

int main(int count, char **arguments) {
    playgate_policy *policy;
    int failures;
    if (count != 5 || playgate_abi() != PLAYGATE_ABI) return 64;
    grant = (playgate_slice){arguments[2], strlen(arguments[2])};
    now = strtoll(arguments[3], NULL, 10);
    policy = read_policy(arguments[1]);
    if (policy == NULL) return 8;
    if (strcmp(arguments[4], "unsettled") == 0) {
        int32_t result = playgate_engine_create(policy, &engine, NULL);
        playgate_policy_release(policy);
        return result == PLAYGATE_E_FORK && engine == NULL ? 0 : 9;
    }
    if (strcmp(arguments[4], "workers") == 0) {
        failures = 0;
        for (int turn = 0; turn < turns && failures == 0; turn++) failures = fork_and_wait(work, policy);
    } else {
        failures = work(policy);
        if (failures == 0) failures = open_both();
        if (failures == 0) failures = fork_and_wait(be_refused, policy);
        // The parent goes on.
        if (failures == 0) failures = check_in_threads();
        if (failures == 0) failures = close_both();
    }
    playgate_engine_release(engine);
    playgate_policy_release(policy);
    return failures;
}
