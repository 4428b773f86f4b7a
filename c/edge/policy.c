// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// A policy that a thread of its own follows.

#include "policy.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

playgate_engine *edge_policy_engine(const edge_policy *policy) { return playgate_follower_engine(policy->follower); }

int32_t edge_policy_open(edge_policy *policy, const playgate_follower_rules *rules, playgate_error *error) {
    return playgate_follower_create(rules, &policy->follower, error);
}

static void *report(void *argument) {
    const edge_policy *policy = argument;
    pthread_setname_np(pthread_self(), "playgate-report");
    playgate_follower_report(policy->follower, policy->observer);
    return NULL;
}

static void *follow(void *argument) {
    edge_policy *policy = argument;
    pthread_t reporter;
    pthread_setname_np(pthread_self(), "playgate-policy");
    int has_reporter = policy->observer != NULL && pthread_create(&reporter, NULL, report, policy) == 0;
    playgate_follower_run(policy->follower);
    if (has_reporter) pthread_join(reporter, NULL);
    if (policy->ended != NULL) policy->ended(policy);
    return NULL;
}

/// Makes an observer in memory of its own: pages that no playback needs stay untouched. Without memory nothing is counted.
static void make_observer(edge_policy *policy) {
    size_t size = playgate_observer_size(edge_playbacks);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    policy->observer = playgate_observer_create(memory, size, edge_playbacks);
    policy->has_observer = policy->observer != NULL;
    if (!policy->has_observer) munmap(memory, size);
}

int edge_policy_start(edge_policy *policy, size_t entries, size_t entry_size, int has_threads, playgate_answer_cache_counters *counters) {
    sigset_t all, before;
    if (entries > 0) policy->answers = edge_answers_create(entries, entry_size, has_threads, counters);
    if (entries > 0 && policy->answers == NULL) return -1;
    if (policy->observer == NULL && playgate_follower_has_service(policy->follower)) make_observer(policy);
    // Signals are for the server's own threads.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    policy->has_thread = pthread_create(&policy->thread, NULL, follow, policy) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return policy->has_thread ? 0 : -1;
}

void edge_policy_clear(edge_policy *policy) {
    void (*ended)(edge_policy *policy) = policy->ended;
    playgate_follower_free(policy->follower);
    edge_answers_free(policy->answers);
    if (policy->has_observer) munmap(policy->observer, playgate_observer_size(edge_playbacks));
    memset(policy, 0, sizeof(*policy));
    policy->ended = ended;
}

void edge_policy_stop(edge_policy *policy) {
    if (!policy->has_thread) {
        edge_policy_clear(policy);
        if (policy->ended != NULL) policy->ended(policy);
        return;
    }
    if (policy->ended != NULL) {
        pthread_detach(policy->thread);
        // The last access: the thread frees the policy.
        playgate_follower_stop(policy->follower);
        return;
    }
    playgate_follower_stop(policy->follower);
    pthread_join(policy->thread, NULL);
    edge_policy_clear(policy);
}
