// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_EDGE_POLICY_H
#define PLAYGATE_EDGE_POLICY_H

#include "answers.h"

#include <playgate_follow.h>
#include <playgate_observe.h>

#include <pthread.h>

/// A policy that a thread of its own follows, and the answers by it that are remembered: the same in all servers.
///
///     edge_policy_open()   reads it, or asks the service for it
///     edge_policy_start()  from then on it is followed, and answers are remembered
///     edge_policy_stop()   ends both

#pragma GCC visibility push(hidden)

/// The number of playbacks of an observer.
enum { edge_playbacks = 131072 };

typedef struct edge_policy {
    playgate_follower *follower;
    /// Null for none.
    edge_answers *answers;
    /// What counts the segments that playbacks fetch; null for none. Who sets one before edge_policy_start(), such as in memory that
    /// workers share, frees it. A policy of a service has else one of its own.
    playgate_observer *observer;
    pthread_t thread;
    unsigned has_thread : 1;
    /// 1 if the observer is its own.
    unsigned has_observer : 1;
    /// Called on the policy's thread at its end; null if edge_policy_stop() is to wait for that.
    void (*ended)(struct edge_policy *policy);
} edge_policy;

/// Opens a policy that is all zeros, or with `ended`. Returns PLAYGATE_OK, or the fault of playgate_follower_create().
int32_t edge_policy_open(edge_policy *policy, const playgate_follower_rules *rules, playgate_error *error);
/// Starts to follow a policy. Returns 0, or -1 without memory or a thread.
///
/// entries: The answers that are remembered; 0 for none. The rest as for edge_answers_create().
int edge_policy_start(edge_policy *policy, size_t entries, size_t entry_size, int has_threads, playgate_answer_cache_counters *counters);
/// Ends a policy, which is then all zeros again, or freed by `ended`.
void edge_policy_stop(edge_policy *policy);
/// Frees what an ended policy has. For `ended`.
void edge_policy_clear(edge_policy *policy);
/// Null if the service has not answered yet.
playgate_engine *edge_policy_engine(const edge_policy *policy);

#pragma GCC visibility pop

#endif
