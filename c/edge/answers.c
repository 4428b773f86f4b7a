// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The answers that all threads remember.

#include "answers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/// A cache of the library is used by one thread at a time. One for each thread would take much memory and know little. So there is one
/// table, in parts with a lock each: a request finds its part by its last token or grant and its folder, and holds the lock for a
/// look-up, less than a microsecond. Not for a check.
enum { most_parts = 16 };

typedef struct {
    pthread_mutex_t lock;
    playgate_answer_cache *cache;
} __attribute__((aligned(64))) answers_part;

struct edge_answers {
    int has_threads;
    size_t count;
    answers_part parts[most_parts];
};

edge_answers *edge_answers_create(size_t entries, size_t entry_size, int has_threads, playgate_answer_cache_counters *counters) {
    edge_answers *answers = NULL;
    if (posix_memalign((void **)&answers, 64, sizeof(*answers)) != 0) return NULL;
    memset(answers, 0, sizeof(*answers));
    answers->has_threads = has_threads;
    // The library's caches have at least 64 entries.
    size_t count = entries / edge_least_answers < most_parts ? entries / edge_least_answers : most_parts;
    if (!has_threads || count == 0) count = 1;
    for (size_t at = 0; at < count; at++) {
        playgate_answer_cache *part = playgate_answer_cache_create(entries / count, entry_size, counters);
        if (part == NULL || pthread_mutex_init(&answers->parts[at].lock, NULL) != 0) {
            playgate_answer_cache_free(part);
            edge_answers_free(answers);
            return NULL;
        }
        answers->parts[at].cache = part;
        answers->count++;
    }
    return answers;
}

void edge_answers_free(edge_answers *answers) {
    if (answers == NULL) return;
    for (size_t at = 0; at < answers->count; at++) {
        playgate_answer_cache_free(answers->parts[at].cache);
        pthread_mutex_destroy(&answers->parts[at].lock);
    }
    free(answers);
}

/// The end of a token is a part of its signature, and spreads as well as all of it.
static uint32_t mixed(uint32_t sum, playgate_slice text) {
    size_t start = text.length > 16 ? text.length - 16 : 0;
    for (size_t at = start; at < text.length; at++) sum = (sum ^ (unsigned char)text.bytes[at]) * 16777619;
    return sum;
}

/// The part for a request, locked. Requests that may have the same answer have the same part.
static answers_part *lock_part(edge_answers *answers, const playgate_request *request) {
    playgate_slice folder = request->target;
    if (!answers->has_threads) return &answers->parts[0];
    const char *query = folder.length == 0 ? NULL : memchr(folder.bytes, '?', folder.length);
    if (query != NULL) folder.length = (size_t)(query - folder.bytes);
    while (folder.length > 0 && folder.bytes[folder.length - 1] != '/') folder.length--;
    uint32_t sum = mixed(2166136261, folder);
    if (request->token_count > 0) sum = mixed(sum, request->tokens[request->token_count - 1]);
    if (request->grant_count > 0) sum = mixed(sum, request->grants[request->grant_count - 1]);
    answers_part *part = &answers->parts[(sum ^ sum >> 16) % answers->count];
    pthread_mutex_lock(&part->lock);
    return part;
}

static void unlock_part(edge_answers *answers, answers_part *part) {
    if (answers->has_threads) pthread_mutex_unlock(&part->lock);
}

int edge_answers_find(edge_answers *answers, uint64_t location, uint64_t generation, const playgate_request *request, playgate_answer *answer) {
    answers_part *part = lock_part(answers, request);
    int is_found = playgate_answer_cache_find(part->cache, location, generation, request, answer);
    unlock_part(answers, part);
    return is_found;
}

void edge_answers_keep(edge_answers *answers, uint64_t location, const playgate_request *request, const playgate_answer *answer) {
    // Most answers that may not be kept need no lock.
    if (answer->good_until == 0 || answer->scope == PLAYGATE_SCOPE_NONE) return;
    answers_part *part = lock_part(answers, request);
    playgate_answer_cache_keep(part->cache, location, request, answer);
    unlock_part(answers, part);
}
