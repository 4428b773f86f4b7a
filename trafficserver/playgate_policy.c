// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The policies, which all remap lines share, and what threads remember.

#include "playgate_plugin.h"

#include <pthread.h>
#include <stdatomic.h>

/// The most threads of requests that remember answers.
#define THREADS_LIMIT 256

struct pg_policy {
    pg_policy *next;
    char *source;
    /// The file of the key; null for none.
    char *key;
    /// The file of the keys that sign the policy; null if it is not signed.
    char *trust;
    size_t memo;
    /// The remap lines with this policy, those of a configuration that is being replaced too.
    size_t users;
    playgate_follower *follower;
    /// A memo of the library has no lock, and each thread of requests handles its requests alone: each has a memo of its own, which it
    /// makes at its first request. Nobody else touches it until the last remap line has gone, and with it all requests.
    playgate_memo *memos[THREADS_LIMIT];
};

/// All policies, which only the loading and the end of a configuration look at.
static pg_policy *policies;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// MARK: Following

static void log_message(void *context, int32_t level, const char *message) {
    const pg_policy *policy = context;
    if (level == PLAYGATE_LOG_ERROR) TSError("[playgate] %s", message);
    else TSNote("[playgate] %s: %s", policy->source, message);
}

static void free_policy(pg_policy *policy) {
    playgate_follower_free(policy->follower);
    for (size_t place = 0; place < THREADS_LIMIT; place++) playgate_memo_free(policy->memos[place]);
    free(policy->source);
    free(policy->key);
    free(policy->trust);
    free(policy);
}

/// The thread of a policy, which frees it at its end.
static void *follow(void *argument) {
    pg_policy *policy = argument;
    pthread_setname_np(pthread_self(), "playgate-policy");
    if (playgate_follower_run(policy->follower) != PLAYGATE_OK) TSError("[playgate] %s: the policy is not followed", policy->source);
    free_policy(policy);
    return NULL;
}

// MARK: Life

static int is_same(const char *one, const char *other) {
    return one == other || (one != NULL && other != NULL && strcmp(one, other) == 0);
}

static int start(pg_policy *policy, playgate_error *error) {
    playgate_follower_rules rules = {.size = sizeof(rules), .source = policy->source, .key_file = policy->key, .trust_file = policy->trust};
    pthread_t thread;
    rules.log = log_message;
    rules.log_context = policy;
    if (playgate_follower_create(&rules, &policy->follower, error) != PLAYGATE_OK) return -1;
    if (pthread_create(&thread, NULL, follow, policy) != 0) return -1;
    pthread_detach(thread);
    return 0;
}

static pg_policy *make(const char *source, const char *key, const char *trust, size_t memo, playgate_error *error) {
    pg_policy *policy = calloc(1, sizeof(*policy));
    if (policy == NULL) return NULL;
    policy->source = strdup(source);
    policy->key = key == NULL ? NULL : strdup(key);
    policy->trust = trust == NULL ? NULL : strdup(trust);
    policy->memo = memo;
    policy->users = 1;
    int has_texts = policy->source != NULL && (key == NULL || policy->key != NULL) && (trust == NULL || policy->trust != NULL);
    if (has_texts && start(policy, error) == 0) return policy;
    free_policy(policy);
    return NULL;
}

static int is_of(const pg_policy *policy, const char *source, const char *key, const char *trust, size_t memo) {
    return is_same(policy->source, source) && is_same(policy->key, key) && is_same(policy->trust, trust) && policy->memo == memo;
}

pg_policy *pg_open_policy(const char *source, const char *key, const char *trust, size_t memo, playgate_error *error) {
    pthread_mutex_lock(&lock);
    pg_policy *policy = policies;
    while (policy != NULL && !is_of(policy, source, key, trust, memo)) policy = policy->next;
    if (policy != NULL) {
        policy->users++;
    } else if ((policy = make(source, key, trust, memo, error)) != NULL) {
        policy->next = policies;
        policies = policy;
    }
    pthread_mutex_unlock(&lock);
    return policy;
}

void pg_close_policy(pg_policy *policy) {
    if (policy == NULL) return;
    pthread_mutex_lock(&lock);
    int is_last = --policy->users == 0;
    pg_policy **place = &policies;
    while (is_last && *place != policy) place = &(*place)->next;
    if (is_last) *place = policy->next;
    pthread_mutex_unlock(&lock);
    // Its thread frees it.
    if (is_last) playgate_follower_stop(policy->follower);
}

playgate_engine *pg_engine(const pg_policy *policy) { return playgate_follower_engine(policy->follower); }

// MARK: Memory of answers

playgate_memo *pg_memo(pg_policy *policy) {
    static atomic_int threads;
    static _Thread_local int thread = -1;
    if (policy->memo == 0) return NULL;
    if (thread < 0) thread = atomic_fetch_add(&threads, 1);
    if (thread >= THREADS_LIMIT) return NULL;
    if (policy->memos[thread] == NULL) policy->memos[thread] = playgate_memo_create(policy->memo, 0, NULL);
    return policy->memos[thread];
}
