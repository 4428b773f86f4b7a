// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The answers that all threads remember.

#include "vmod_playgate.h"

/// A memo of the library is used by one thread at a time, and Varnish has thousands. One for each thread would take much memory
/// and know little. So there is one table, in parts with a lock each: a request finds its part by its last token or grant and its
/// folder, and holds the lock for a look-up, less than a microsecond. Not for a check.
#define PG_PARTS 16

typedef struct {
    pthread_mutex_t lock;
    playgate_memo *memo;
} __attribute__((aligned(64))) memo_part;

struct pg_memo {
    size_t count;
    memo_part parts[PG_PARTS];
};

pg_memo *pg_memo_create(size_t entries, playgate_memo_counters *counters) {
    pg_memo *memo = NULL;
    if (posix_memalign((void **)&memo, 64, sizeof(*memo)) != 0) return NULL;
    memset(memo, 0, sizeof(*memo));
    // The library's memos have at least 64 entries.
    size_t count = entries / 64 < PG_PARTS ? entries / 64 : PG_PARTS;
    for (size_t place = 0; place < count; place++) {
        playgate_memo *part = playgate_memo_create(entries / count, 0, counters);
        if (part == NULL || pthread_mutex_init(&memo->parts[place].lock, NULL) != 0) {
            playgate_memo_free(part);
            pg_memo_free(memo);
            return NULL;
        }
        memo->parts[place].memo = part;
        memo->count++;
    }
    return memo;
}

void pg_memo_free(pg_memo *memo) {
    if (memo == NULL) return;
    for (size_t place = 0; place < memo->count; place++) {
        playgate_memo_free(memo->parts[place].memo);
        pthread_mutex_destroy(&memo->parts[place].lock);
    }
    free(memo);
}

/// The end of a token is a part of its signature, and spreads as well as all of it.
static uint32_t mixed(uint32_t sum, playgate_slice text) {
    size_t start = text.length > 16 ? text.length - 16 : 0;
    for (size_t place = start; place < text.length; place++) sum = (sum ^ (unsigned char)text.bytes[place]) * 16777619;
    return sum;
}

/// The part for a request, locked. Requests that may have the same answer have the same part.
static memo_part *lock_part(pg_memo *memo, const playgate_request *request) {
    playgate_slice folder = request->target;
    const char *query = memchr(folder.bytes, '?', folder.length);
    if (query != NULL) folder.length = (size_t)(query - folder.bytes);
    while (folder.length > 0 && folder.bytes[folder.length - 1] != '/') folder.length--;
    uint32_t sum = mixed(2166136261, folder);
    if (request->token_count > 0) sum = mixed(sum, request->tokens[request->token_count - 1]);
    if (request->grant_count > 0) sum = mixed(sum, request->grants[request->grant_count - 1]);
    memo_part *part = &memo->parts[(sum ^ sum >> 16) % memo->count];
    pthread_mutex_lock(&part->lock);
    return part;
}

int pg_memo_find(pg_memo *memo, uint64_t place, uint64_t generation, const playgate_request *request, playgate_answer *answer) {
    memo_part *part = lock_part(memo, request);
    int is_found = playgate_memo_find(part->memo, place, generation, request, answer);
    pthread_mutex_unlock(&part->lock);
    return is_found;
}

void pg_memo_keep(pg_memo *memo, uint64_t place, const playgate_request *request, const playgate_answer *answer) {
    // Most answers that may not be kept need no lock.
    if (answer->good_until == 0 || answer->scope == PLAYGATE_SCOPE_NONE) return;
    memo_part *part = lock_part(memo, request);
    playgate_memo_keep(part->memo, place, request, answer);
    pthread_mutex_unlock(&part->lock);
}
