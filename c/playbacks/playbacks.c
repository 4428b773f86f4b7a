// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "playgate_playbacks.h"

#include <string.h>

// A table of sets with eight records each. A set has a line of its own with the lock, the tags and the times of its records, so that a
// look-up touches that line and the two of its own record.

enum { line = 64, ways = 8, tracks = 4, positions = 2 };

// A position at which segments are fetched, one after another.
typedef struct cursor {
    // The newest segment, and the 32 up to it that were fetched: bit 0 is the newest one. 0 for no position.
    uint32_t newest, fetched;
    // The time of the last step forward, in units.
    uint16_t advanced;
    uint16_t reserved;
} cursor;

// The turns on a track.
typedef struct head {
    uint16_t track;
    uint8_t level, state;
} head;

typedef struct record {
    uint64_t playback;
    // The time at which the playback was reported as seen, in units.
    uint32_t reported;
    uint32_t reserved;
    head heads[tracks];
    cursor cursors[tracks][positions];
} record;

typedef struct set {
    // 0, or the time at which it was locked, in units and not 0.
    uint32_t lock;
    uint16_t tags[ways];
    uint32_t seen[ways];
    uint32_t reserved[3];
} set;

struct playgate_playbacks {
    uint64_t sets;
    playgate_playbacks_counters counters;
    uint64_t reserved[5];
};

_Static_assert(sizeof(cursor) == 12, "a cursor");
_Static_assert(sizeof(record) == 128, "a record has two cache lines");
_Static_assert(sizeof(set) == line && sizeof(playgate_playbacks) == line, "a cache line");

// MARK: Times

// Times are in units of 125 ms: 17 years in 32 bits.
enum { unit = 125, second = 8, alive = 90 * second, half_second = 4, minute = 60 * second, takeover = 2 * second };

// The levels are in quarters of a turn.
enum { turn = 4, further = 2, window = 31, stride = 8 };

// MARK: State of a track

// The bits of `state`: the position that was used last, what happened last, the repetitions of the newest segment without anything
// between them, and whether a jump was ignored.
enum { state_position = 1, state_last = 6, state_repeats = 24, state_ignored = 32 };
enum { last_other = 0, last_forward = 2, last_repeat = 4, one_repeat = 8 };

static void raise(head *head) {
    unsigned level = head->level + (unsigned)turn;
    head->level = (uint8_t)(level > 255 ? 255 : level);
}

static void set_last(head *head, unsigned position, unsigned last) {
    unsigned ignored = head->state & state_ignored;
    head->state = (uint8_t)(ignored | position | last);
}

static unsigned repeat_count(const head *head) { return (head->state & state_repeats) / one_repeat; }

// A step forward: by the position that was used last, or by the other one, which is a turn.
static void go_forward(head *head, cursor *cursor, unsigned position, uint32_t step, uint32_t now) {
    unsigned previous = head->state & state_position, last = head->state & state_last;
    cursor->newest += step;
    cursor->fetched = cursor->fetched << step | 1;
    if (position != previous) raise(head);
    // Steps in a burst say little, and one after a repetition is the other half of a turn.
    else if (last != last_repeat && (uint16_t)(now - cursor->advanced) >= half_second && head->level > 0) head->level--;
    cursor->advanced = (uint16_t)now;
    set_last(head, position, last_forward);
}

// A segment that is not newer: a repetition, or one that was left out.
static void go_back(head *head, cursor *cursor, unsigned position, uint32_t distance) {
    unsigned last = head->state & state_last;
    if ((cursor->fetched >> distance & 1) == 0) {
        cursor->fetched |= UINT32_C(1) << distance;
        set_last(head, position, last_other);
        return;
    }
    unsigned count = distance == 0 ? repeat_count(head) : 0;
    // Of three players with one segment, two repeat it.
    if (last == last_forward || (count >= 1 && count <= further)) raise(head);
    if (distance == 0 && count <= further) count++;
    set_last(head, position, last_repeat | count * one_repeat);
}

// A segment at none of the positions. If both are in use, every other one is ignored: of three players, two are seen.
static void jump(head *head, cursor *cursors, uint32_t index, uint32_t now) {
    unsigned older = 0;
    for (unsigned at = 1; at < positions; at++)
        if (cursors[at].fetched == 0
            || (cursors[older].fetched != 0 && (uint16_t)(now - cursors[at].advanced) > (uint16_t)(now - cursors[older].advanced)))
            older = at;
    int is_alive = cursors[older].fetched != 0 && (uint16_t)(now - cursors[older].advanced) <= alive;
    if (is_alive && (head->state & state_ignored) == 0) {
        head->state |= state_ignored;
        return;
    }
    cursors[older] = (cursor){.newest = index, .fetched = 1, .advanced = (uint16_t)now};
    head->state = 0;
    set_last(head, older, last_other);
}

static void step(head *head, cursor *cursors, uint32_t index, uint32_t now) {
    unsigned used = head->state & state_position;
    for (unsigned at = 0; at < positions; at++) {
        unsigned position = used ^ at;
        cursor *cursor = &cursors[position];
        if (cursor->fetched == 0) continue;
        int64_t distance = (int64_t)index - cursor->newest;
        if (distance > 0 && distance <= stride) return go_forward(head, cursor, position, (uint32_t)distance, now);
        if (distance <= 0 && distance >= -window) return go_back(head, cursor, position, (uint32_t)-distance);
    }
    jump(head, cursors, index, now);
}

// The track of a segment. A new one replaces the one that has not advanced for the longest time.
static unsigned track_index(record *record, uint16_t track, uint32_t now) {
    unsigned oldest = 0;
    uint16_t age = 0;
    for (unsigned at = 0; at < tracks; at++)
        if (record->heads[at].track == track) return at;
    for (unsigned at = 0; at < tracks; at++) {
        uint16_t younger = UINT16_MAX;
        if (record->heads[at].track == 0) {
            oldest = at;
            break;
        }
        for (unsigned position = 0; position < positions; position++) {
            uint16_t its = (uint16_t)(now - record->cursors[at][position].advanced);
            if (record->cursors[at][position].fetched != 0 && its < younger) younger = its;
        }
        if (younger >= age) oldest = at, age = younger;
    }
    record->heads[oldest] = (head){.track = track};
    memset(record->cursors[oldest], 0, sizeof record->cursors[oldest]);
    return oldest;
}

// MARK: The table

static size_t set_count(size_t playbacks) {
    size_t sets = 8;
    if (playbacks > 4194304) playbacks = 4194304;
    while (sets * ways < playbacks) sets *= 2;
    return sets;
}

size_t playgate_playbacks_size(size_t playbacks) {
    return sizeof(playgate_playbacks) + set_count(playbacks) * (sizeof(set) + ways * sizeof(record));
}

playgate_playbacks *playgate_playbacks_create(void *memory, size_t size, size_t playbacks) {
    playgate_playbacks *table = memory;
    if (memory == NULL || (uintptr_t)memory % line != 0 || size < playgate_playbacks_size(playbacks)) return NULL;
    table->sets = set_count(playbacks);
    return table;
}

playgate_playbacks_counters playgate_playbacks_counts(const playgate_playbacks *table) {
    playgate_playbacks_counters counts = {__atomic_load_n(&table->counters.evicted, __ATOMIC_RELAXED),
                                          __atomic_load_n(&table->counters.skipped, __ATOMIC_RELAXED)};
    return counts;
}

static set *set_at(playgate_playbacks *table, uint64_t number) { return (set *)(void *)(table + 1) + number; }

static record *record_at(playgate_playbacks *table, uint64_t number, unsigned way) {
    return (record *)(void *)((set *)(void *)(table + 1) + table->sets) + number * ways + way;
}

// Locks a set. A process that died with the lock must not keep it. Returns 0 if another has it for too long.
static int lock(set *set, uint32_t now) {
    uint32_t own = now | 1;
    for (int attempt = 0; attempt < 1000; attempt++) {
        uint32_t owner = 0;
        if (__atomic_compare_exchange_n(&set->lock, &owner, own, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 1;
        if ((uint32_t)(own - owner) > takeover && (uint32_t)(own - owner) < UINT32_MAX / 2
            && __atomic_compare_exchange_n(&set->lock, &owner, own, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return 1;
    }
    return 0;
}

static void unlock(set *set) { __atomic_store_n(&set->lock, 0, __ATOMIC_RELEASE); }

// The record of a playback, which is made if there is none.
static record *find(playgate_playbacks *table, uint64_t number, uint64_t playback, uint32_t now) {
    set *set = set_at(table, number);
    uint16_t tag = (uint16_t)(playback >> 48 | 1);
    unsigned oldest = 0;
    for (unsigned way = 0; way < ways; way++) {
        record *record = record_at(table, number, way);
        if (set->tags[way] != tag || record->playback != playback) continue;
        set->seen[way] = now;
        return record;
    }
    for (unsigned way = 0; way < ways; way++) {
        if (set->tags[way] == 0) {
            oldest = way;
            break;
        }
        if ((uint32_t)(now - set->seen[way]) > (uint32_t)(now - set->seen[oldest])) oldest = way;
    }
    if (set->tags[oldest] != 0) __atomic_fetch_add(&table->counters.evicted, 1, __ATOMIC_RELAXED);
    record *record = record_at(table, number, oldest);
    memset(record, 0, sizeof *record);
    record->playback = playback;
    record->reported = now - minute;
    set->tags[oldest] = tag;
    set->seen[oldest] = now;
    return record;
}

int32_t playgate_playbacks_count(playgate_playbacks *table, uint64_t playback, playgate_segment segment, int64_t now, uint8_t suspicion) {
    uint32_t time = (uint32_t)((uint64_t)now / unit);
    uint64_t number = playback * UINT64_C(0xD6E8FEB86659FD93) >> 32 & (table->sets - 1);
    set *set = set_at(table, number);
    int32_t result = 0;
    if (segment.track == 0) return 0;
    if (!lock(set, time)) {
        __atomic_fetch_add(&table->counters.skipped, 1, __ATOMIC_RELAXED);
        return 0;
    }
    record *record = find(table, number, playback, time);
    unsigned at = track_index(record, segment.track, time);
    step(&record->heads[at], record->cursors[at], segment.index, time);
    if (record->heads[at].level >= suspicion) {
        record->heads[at].level = 0;
        result |= PLAYGATE_PLAYBACK_SUSPECTED;
    }
    if ((uint32_t)(time - record->reported) >= minute) {
        record->reported = time;
        result |= PLAYGATE_PLAYBACK_SEEN;
    }
    unlock(set);
    return result;
}
