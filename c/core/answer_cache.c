// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// For getentropy().
#define _DEFAULT_SOURCE 1

#include "playgate_answer_cache.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <sys/random.h>
#else
#include <unistd.h>
#endif

// A table of sets with 16 entries each: with fewer, viewers who take turns push each other out of a table with room for all.
// A set has its entries' tags in one cache line, so that a look-up touches no entry but its own.
// The key of an entry is a list of pieces, each with its length before it, so that no two lists have the same bytes.

enum { line = 64, ways = 16, choices = 2, texts = 5, most_credentials = 16, fixed_pieces = 6, most_pieces = fixed_pieces + 2 * most_credentials };

typedef struct entry {
    uint64_t hash, used, location, generation;
    // What playgate_observe() needs of the grant; a playback of 0 has none.
    uint64_t playback;
    int64_t issued, playback_end;
    int64_t decided, good_until, expires;
    int32_t code, status;
    uint32_t flags, request_flags, key_length;
    int32_t scope;
    uint32_t grant_number;
    uint32_t text_lengths[texts];
    // The key, and the texts after it.
    unsigned char bytes[];
} entry;

struct playgate_answer_cache {
    // The tags of the entries in their order; 0 for none. Equal tags say nothing: the entry is compared.
    uint32_t *tags;
    unsigned char *entries;
    size_t sets, entry_size;
    uint64_t clock, seed, traces;
    playgate_answer_cache_counters *counters;
};

typedef struct key {
    playgate_slice pieces[most_pieces];
    size_t count, length;
    uint64_t hash;
} key;

static void add_to(uint64_t *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

// MARK: Hashes

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

// Four sums take turns, as each multiplication waits for the one before it in the same sum.
static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t length) {
    uint64_t word, words[4];
    hash = mix(hash, length);
    if (length >= sizeof words) {
        uint64_t sums[4] = {hash, hash + 1, hash + 2, hash + 3};
        for (; length >= sizeof words; bytes += sizeof words, length -= sizeof words) {
            memcpy(words, bytes, sizeof words);
            for (int at = 0; at < 4; at++) sums[at] = mix(sums[at], words[at]);
        }
        hash = mix(mix(mix(sums[0], sums[1]), sums[2]), sums[3]);
    }
    for (; length >= 8; bytes += 8, length -= 8) {
        memcpy(&word, bytes, 8);
        hash = mix(hash, word);
    }
    word = 0;
    if (length > 0) memcpy(&word, bytes, length);
    return mix(hash, word);
}

// MARK: Keys

// Adds a piece. Returns 0 if the key becomes longer than any entry.
static int add_piece(key *key, playgate_slice piece, size_t limit) {
    if (key->count == most_pieces || piece.length > limit || (piece.bytes == NULL && piece.length > 0)) return 0;
    key->pieces[key->count++] = piece;
    key->length += piece.length + sizeof(uint32_t);
    key->hash = hash_bytes(key->hash, piece.bytes, piece.length);
    return key->length <= limit;
}

static int add_list(key *key, const playgate_slice *list, size_t count, size_t limit) {
    static const char numbers[most_credentials + 1] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    playgate_slice number = {numbers, 1};
    if (count > most_credentials || (count > 0 && list == NULL)) return 0;
    number.bytes += count;
    if (!add_piece(key, number, limit)) return 0;
    for (size_t at = 0; at < count; at++)
        if (!add_piece(key, list[at], limit)) return 0;
    return 1;
}

// Makes the part of the key that all scopes have. Returns 0 if no entry has such a key.
static int make_key(const playgate_answer_cache *cache, uint64_t location, const playgate_request *request, key *key) {
    size_t limit = cache->entry_size - sizeof(entry);
    key->count = key->length = 0;
    key->hash = mix(mix(cache->seed, location), request->flags);
    return add_piece(key, request->method, limit) && add_piece(key, request->scheme, limit)
        && add_piece(key, request->host, limit) && add_list(key, request->tokens, request->token_count, limit)
        && add_list(key, request->grants, request->grant_count, limit);
}

// Returns 1 if an entry has this key.
static int has_key(const entry *entry, const key *key) {
    const unsigned char *bytes = entry->bytes;
    if (entry->key_length != key->length) return 0;
    for (size_t at = 0; at < key->count; at++) {
        uint32_t length;
        memcpy(&length, bytes, sizeof length);
        bytes += sizeof length;
        if (length != key->pieces[at].length) return 0;
        if (length > 0 && memcmp(bytes, key->pieces[at].bytes, length) != 0) return 0;
        bytes += length;
    }
    return 1;
}

static void write_key(entry *entry, const key *key) {
    unsigned char *bytes = entry->bytes;
    entry->key_length = (uint32_t)key->length;
    for (size_t at = 0; at < key->count; at++) {
        uint32_t length = (uint32_t)key->pieces[at].length;
        memcpy(bytes, &length, sizeof length);
        bytes += sizeof length;
        if (length > 0) memcpy(bytes, key->pieces[at].bytes, length);
        bytes += length;
    }
}

// Returns the length of the folder of a target that an answer for PLAYGATE_SCOPE_FOLDER is good for; 0 if it is none.
static size_t folder_length(playgate_slice target) {
    size_t end = 0, position = 0;
    if (target.bytes == NULL || target.length == 0 || target.bytes[0] != '/') return 0;
    for (; position < target.length && target.bytes[position] != '?'; position++)
        if (target.bytes[position] == '/') end = position + 1;
    for (size_t at = end; at < position; at++) {
        unsigned char byte = (unsigned char)target.bytes[at];
        int is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9')
            || byte == '-' || byte == '_' || byte == '~' || (byte == '.' && at > end);
        if (!is_plain) return 0;
    }
    for (; position < target.length; position++) {
        unsigned char byte = (unsigned char)target.bytes[position];
        if (byte < 0x21 || byte > 0x7E || byte == '#') return 0;
    }
    return end;
}

// Adds what a scope compares of the target. Returns 0 if the target has no such scope.
static int add_scope(const playgate_answer_cache *cache, playgate_slice target, int32_t scope, key *key) {
    if (scope == PLAYGATE_SCOPE_FOLDER) {
        target.length = folder_length(target);
        if (target.length == 0) return 0;
    } else if (scope != PLAYGATE_SCOPE_TARGET) {
        return 0;
    }
    key->hash = mix(key->hash, (uint64_t)scope);
    return add_piece(key, target, cache->entry_size - sizeof(entry));
}

// MARK: The table

// The sets that an entry may be in. With one, some are full in a table that is not, and viewers push each other out at each turn.
static void find_sets(const playgate_answer_cache *cache, uint64_t hash, size_t sets[choices]) {
    sets[0] = (size_t)(hash >> 20) & (cache->sets - 1);
    sets[1] = (size_t)(hash * UINT64_C(0xD6E8FEB86659FD93) >> 40) & (cache->sets - 1);
}

static uint32_t tag_of(uint64_t hash) { return (uint32_t)(hash >> 32) | 1; }

static entry *entry_at(const playgate_answer_cache *cache, size_t set, size_t way) {
    return (entry *)(void *)(cache->entries + (set * ways + way) * cache->entry_size);
}

static int is_of(const entry *entry, uint64_t location, const playgate_request *request, const key *key, int32_t scope) {
    return entry->generation != 0 && entry->hash == key->hash && entry->location == location && entry->scope == scope
        && entry->request_flags == request->flags && has_key(entry, key);
}

static entry *find_entry(const playgate_answer_cache *cache, uint64_t location, const playgate_request *request, const key *key,
                         int32_t scope) {
    uint32_t tag = tag_of(key->hash);
    size_t sets[choices];
    find_sets(cache, key->hash, sets);
    for (size_t choice = 0; choice < choices; choice++) {
        const uint32_t *tags = cache->tags + sets[choice] * ways;
        uint32_t found = 0;
        // Without a branch for each, several are compared at once.
        for (size_t way = 0; way < ways; way++) found |= (uint32_t)(tags[way] == tag) << way;
        for (; found != 0; found &= found - 1) {
            entry *entry = entry_at(cache, sets[choice], (size_t)__builtin_ctz(found));
            // With many viewers the entry is in no near cache: all of its lines are fetched at once.
            for (size_t at = 0; at < sizeof *entry + key->length; at += line) __builtin_prefetch((const char *)entry + at);
            if (is_of(entry, location, request, key, scope)) return entry;
        }
    }
    return NULL;
}

static size_t count_free(const uint32_t *tags) {
    size_t count = 0;
    for (size_t way = 0; way < ways; way++) count += tags[way] == 0;
    return count;
}

// Returns an entry that was never used, in the set that has more of them; else one past its time; else the least recently used.
static entry *free_entry(const playgate_answer_cache *cache, uint64_t hash, uint64_t generation, int64_t now) {
    size_t sets[choices];
    entry *oldest;
    find_sets(cache, hash, sets);
    size_t emptier = sets[count_free(cache->tags + sets[0] * ways) < count_free(cache->tags + sets[1] * ways) ? 1 : 0];
    for (size_t way = 0; way < ways; way++)
        if (cache->tags[emptier * ways + way] == 0) return entry_at(cache, emptier, way);
    oldest = entry_at(cache, sets[0], 0);
    for (size_t choice = 0; choice < choices; choice++)
        for (size_t way = 0; way < ways; way++) {
            entry *entry = entry_at(cache, sets[choice], way);
            if (entry->generation != generation || entry->good_until < now) return entry;
            if (entry->used < oldest->used) oldest = entry;
        }
    return oldest;
}

playgate_answer_cache *playgate_answer_cache_create(size_t entries, size_t entry_size, playgate_answer_cache_counters *counters) {
    playgate_answer_cache *cache;
    size_t sets = 16;
    if (entries > 1048576) entries = 1048576;
    while (sets * ways < entries) sets *= 2;
    if (entry_size == 0) entry_size = 2048;
    if (entry_size < 512) entry_size = 512;
    if (entry_size > 16384) entry_size = 16384;
    entry_size &= ~(size_t)15;
    cache = calloc(1, sizeof *cache);
    if (cache == NULL) return NULL;
    // Pages that no entry needs stay untouched.
    cache->entries = calloc(sets * ways, entry_size);
    cache->tags = aligned_alloc(line, sets * ways * sizeof *cache->tags);
    if (cache->entries == NULL || cache->tags == NULL) {
        playgate_answer_cache_free(cache);
        return NULL;
    }
    memset(cache->tags, 0, sets * ways * sizeof *cache->tags);
    cache->sets = sets;
    cache->entry_size = entry_size;
    cache->counters = counters;
    // Without it, the trace ids of two workers may be the same: they decide nothing.
    if (getentropy(&cache->seed, sizeof cache->seed) != 0) cache->seed = (uint64_t)(uintptr_t)cache;
    return cache;
}

void playgate_answer_cache_free(playgate_answer_cache *cache) {
    if (cache == NULL) return;
    free(cache->tags);
    free(cache->entries);
    free(cache);
}

// MARK: Answers

// What an answer has that a caller of the first version has no memory for.
static void fill_grant(const entry *entry, playgate_answer *answer) {
    answer->playback = entry->playback;
    answer->issued = entry->issued;
    answer->playback_end = entry->playback_end;
    answer->grant_number = entry->grant_number;
    answer->reserved_2 = 0;
}

static int fill(playgate_answer_cache *cache, const entry *entry, const playgate_request *request, playgate_answer *answer) {
    playgate_slice profile, *slices[texts] = {&answer->mvpd, &answer->requestor, &answer->resource, &answer->session, &profile};
    int is_whole = answer->size >= sizeof *answer;
    const unsigned char *text = entry->bytes + entry->key_length;
    size_t used = 0;
    for (size_t at = 0; at < texts; at++) used += entry->text_lengths[at];
    if (answer->buffer == NULL || answer->capacity < used + 32) return 0;
    if (is_whole) slices[texts - 1] = &answer->profile;
    used = 0;
    for (size_t at = 0; at < texts; at++) {
        size_t length = entry->text_lengths[at];
        if (length > 0) memcpy(answer->buffer + used, text, length);
        slices[at]->bytes = answer->buffer + used;
        slices[at]->length = length;
        text += length;
        used += length;
    }
    playgate_write_trace(request->traceparent, cache->seed, &cache->traces, answer->buffer + used);
    answer->trace.bytes = answer->buffer + used;
    answer->trace.length = 32;
    answer->grant.bytes = answer->set_cookie.bytes = NULL;
    answer->grant.length = answer->set_cookie.length = 0;
    answer->outcome = PLAYGATE_ALLOW;
    answer->code = entry->code;
    answer->status = entry->status;
    answer->flags = entry->flags;
    answer->scope = entry->scope;
    answer->scope_length = entry->scope == PLAYGATE_SCOPE_FOLDER ? (uint32_t)folder_length(request->target) : 0;
    answer->reserved = 0;
    answer->expires = entry->expires;
    answer->good_until = entry->good_until;
    answer->generation = entry->generation;
    if (is_whole) fill_grant(entry, answer);
    return 1;
}

int32_t playgate_answer_cache_find(playgate_answer_cache *cache, uint64_t location, uint64_t generation, const playgate_request *request,
                           playgate_answer *answer) {
    static const int32_t scopes[2] = {PLAYGATE_SCOPE_FOLDER, PLAYGATE_SCOPE_TARGET};
    key key;
    if (cache == NULL || request == NULL || answer == NULL || generation == 0 || request->size < PLAYGATE_REQUEST_SIZE_1
        || answer->size < PLAYGATE_ANSWER_SIZE_1)
        return 0;
    if (make_key(cache, location, request, &key)) {
        size_t count = key.count, length = key.length;
        uint64_t hash = key.hash;
        for (size_t which = 0; which < 2; which++) {
            entry *entry;
            // What both scopes have stays.
            key.count = count;
            key.length = length;
            key.hash = hash;
            if (!add_scope(cache, request->target, scopes[which], &key)) continue;
            entry = find_entry(cache, location, request, &key, scopes[which]);
            // A clock that was set back must not find what was decided later.
            if (entry == NULL || entry->generation != generation || request->now > entry->good_until
                || request->now < entry->decided || !fill(cache, entry, request, answer))
                continue;
            entry->used = ++cache->clock;
            if (cache->counters != NULL) add_to(&cache->counters->hits);
            return 1;
        }
    }
    if (cache->counters != NULL) add_to(&cache->counters->misses);
    return 0;
}

// Returns the lengths of the texts in all; the size of an entry, if they are no less.
static size_t text_length(const playgate_answer_cache *cache, const playgate_answer *answer, playgate_slice *slices) {
    size_t length = 0;
    slices[0] = answer->mvpd;
    slices[1] = answer->requestor;
    slices[2] = answer->resource;
    slices[3] = answer->session;
    // A caller of the first version has no such member.
    slices[4] = answer->size < sizeof *answer ? (playgate_slice){NULL, 0} : answer->profile;
    for (size_t slice = 0; slice < texts; slice++) {
        if (slices[slice].bytes == NULL) slices[slice].length = 0;
        if (slices[slice].length > cache->entry_size - length) return cache->entry_size;
        length += slices[slice].length;
    }
    return length;
}

static void write_entry(entry *entry, const key *key, int64_t now, const playgate_answer *answer, const playgate_slice *slices) {
    unsigned char *text = entry->bytes + key->length;
    entry->hash = key->hash;
    entry->generation = answer->generation;
    entry->decided = now;
    entry->good_until = answer->good_until;
    entry->expires = answer->expires;
    entry->code = answer->code;
    entry->status = answer->status;
    entry->flags = answer->flags;
    entry->scope = answer->scope;
    int is_counted = answer->size >= sizeof *answer && answer->playback != 0;
    entry->playback = is_counted ? answer->playback : 0;
    entry->issued = is_counted ? answer->issued : 0;
    entry->playback_end = is_counted ? answer->playback_end : 0;
    entry->grant_number = is_counted ? answer->grant_number : 0;
    write_key(entry, key);
    for (size_t slice = 0; slice < texts; slice++) {
        entry->text_lengths[slice] = (uint32_t)slices[slice].length;
        if (slices[slice].length > 0) memcpy(text, slices[slice].bytes, slices[slice].length);
        text += slices[slice].length;
    }
}

static int may_keep(const playgate_request *request, const playgate_answer *answer) {
    return answer->outcome == PLAYGATE_ALLOW && answer->good_until >= request->now && answer->good_until > 0
        && answer->generation != 0 && answer->grant.length == 0 && answer->set_cookie.length == 0
        && answer->scope != PLAYGATE_SCOPE_NONE && (answer->flags & PLAYGATE_ANSWER_TRUNCATED) == 0;
}

void playgate_answer_cache_keep(playgate_answer_cache *cache, uint64_t location, const playgate_request *request,
                        const playgate_answer *answer) {
    playgate_slice slices[texts];
    key key;
    entry *target;
    size_t length;
    if (cache == NULL || request == NULL || answer == NULL || request->size < PLAYGATE_REQUEST_SIZE_1
        || answer->size < PLAYGATE_ANSWER_SIZE_1 || !may_keep(request, answer))
        return;
    length = text_length(cache, answer, slices);
    if (!make_key(cache, location, request, &key) || !add_scope(cache, request->target, answer->scope, &key)
        || length > cache->entry_size - sizeof(entry) - key.length) {
        if (cache->counters != NULL) add_to(&cache->counters->rejected);
        return;
    }
    target = find_entry(cache, location, request, &key, answer->scope);
    if (target == NULL) target = free_entry(cache, key.hash, answer->generation, request->now);
    target->location = location;
    target->request_flags = request->flags;
    target->used = ++cache->clock;
    cache->tags[(size_t)((unsigned char *)target - cache->entries) / cache->entry_size] = tag_of(key.hash);
    write_entry(target, &key, request->now, answer, slices);
    if (cache->counters != NULL) add_to(&cache->counters->stored);
}
