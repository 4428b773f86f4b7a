// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_ANSWER_CACHE_H
#define PLAYGATE_ANSWER_CACHE_H

#include "playgate.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A bounded table of answers, in front of playgate_check(): the same tokens for the same folder get the same answer, until
/// `good_until`. One for each worker, created there: a cache has no lock, and is used by one thread at a time.
///
/// The whole tokens, grants, method, scheme, host and folder are compared byte for byte; a hash only finds the set. An
/// answer is not kept if it hands over a grant, if anything but these decided, or if it is too large. When a set is full,
/// the answer that was not used for the longest time leaves.
typedef struct playgate_answer_cache playgate_answer_cache;

/// The counts of a cache, such as in memory that workers share: they are added to atomically. All 8-byte aligned.
typedef struct playgate_answer_cache_counters {
    /// Look-ups that found an answer.
    uint64_t hits;
    /// Look-ups that found none.
    uint64_t misses;
    /// Answers that were kept.
    uint64_t stored;
    /// Answers that were not kept although `good_until` permits it: they are too large.
    uint64_t rejected;
} playgate_answer_cache_counters;

/// Creates a cache; null if there is no memory.
///
/// entries: The number of answers, rounded up to a power of two, from 64 to 1,048,576.
/// entry_size: The bytes of an entry, from 512 to 16,384; 0 for 2,048. An answer is kept if its tokens, grants, method,
/// scheme, host, folder and texts have some 200 bytes less.
/// counters: The counts; null for none. They must live as long as the cache.
playgate_answer_cache *playgate_answer_cache_create(size_t entries, size_t entry_size, playgate_answer_cache_counters *counters);

/// Frees a cache; ignores null.
void playgate_answer_cache_free(playgate_answer_cache *cache);

/// Looks up the answer to a request.
///
/// location: A number of the caller's for the location that the request is checked with; 0 for none.
/// generation: playgate_engine_generation(): answers of another one are not found.
/// answer: As for playgate_check(). `trace` is made anew if the request has none.
/// Returns 1 if `answer` was filled, 0 if not: call playgate_check().
int32_t playgate_answer_cache_find(playgate_answer_cache *cache, uint64_t location, uint64_t generation, const playgate_request *request,
                           playgate_answer *answer);

/// Keeps an answer, if it may be kept.
void playgate_answer_cache_keep(playgate_answer_cache *cache, uint64_t location, const playgate_request *request,
                        const playgate_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
