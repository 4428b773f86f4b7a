// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_MEMO_H
#define PLAYGATE_MEMO_H

#include "playgate.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A bounded table of answers, in front of playgate_check(): the same tokens for the same folder get the same answer, until
/// `good_until`. One for each worker, created there: a memo has no lock, and is used by one thread at a time.
///
/// The whole tokens, grants, method, scheme, host and folder are compared byte for byte; a hash only finds the place. An
/// answer is not kept if it hands over a grant, if anything but these decided, or if it is too large. When a place is full,
/// the answer that was not used for the longest time leaves.
typedef struct playgate_memo playgate_memo;

/// The counts of a memo, such as in memory that workers share: they are added to atomically. All 8-byte aligned.
typedef struct playgate_memo_counters {
    /// Look-ups that found an answer.
    uint64_t hits;
    /// Look-ups that found none.
    uint64_t misses;
    /// Answers that were kept.
    uint64_t stored;
    /// Answers that were not kept although `good_until` permits it: they are too large.
    uint64_t rejected;
} playgate_memo_counters;

/// Creates a memo; null if there is no memory.
///
/// entries: The number of answers, rounded up to a power of two, from 64 to 1,048,576.
/// entry_size: The bytes of an entry, from 512 to 16,384; 0 for 2,048. An answer is kept if its tokens, grants, method,
/// scheme, host, folder and texts have some 200 bytes less.
/// counters: The counts; null for none. They must live as long as the memo.
playgate_memo *playgate_memo_create(size_t entries, size_t entry_size, playgate_memo_counters *counters);

/// Frees a memo; ignores null.
void playgate_memo_free(playgate_memo *memo);

/// Looks up the answer to a request.
///
/// place: A number of the caller's for the place that the request is checked with; 0 for none.
/// generation: playgate_engine_generation(): answers of another one are not found.
/// answer: As for playgate_check(). `trace` is made anew if the request has none.
/// Returns 1 if `answer` was filled, 0 if not: call playgate_check().
int32_t playgate_memo_find(playgate_memo *memo, uint64_t place, uint64_t generation, const playgate_request *request,
                           playgate_answer *answer);

/// Keeps an answer, if it may be kept.
void playgate_memo_keep(playgate_memo *memo, uint64_t place, const playgate_request *request,
                        const playgate_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
