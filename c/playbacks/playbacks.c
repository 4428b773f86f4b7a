// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "playgate_playbacks.h"

#include <string.h>

// A table of sets with eight records each. A set has a line of its own with the lock, the tags and the times of its records, so that a
// look-up touches that line and the two of its own record.

enum { line = 64, ways = 8, tracks = 4, positions = 2, most_failures = 10000 };

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
    // 1 for a playback that is watched.
    uint32_t is_watched;
    head heads[tracks];
    cursor cursors[tracks][positions];
} record;

typedef struct set {
    // 1 while a thread has the set.
    uint32_t lock;
    uint16_t tags[ways];
    uint32_t seen[ways];
    // The failures to get the set since a thread had it.
    uint32_t failures;
    uint32_t reserved[2];
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
enum { unit = 125, second = 8, alive = 90 * second, half_second = 4, sight = 30 * second };

// The age of a time. A clock that was set back, or another thread that was faster, makes none negative.
static uint32_t age(uint32_t now, uint32_t time) { return (int32_t)(now - time) < 0 ? 0 : now - time; }
static uint16_t short_age(uint32_t now, uint16_t time) { return (int16_t)((uint16_t)now - time) < 0 ? 0 : (uint16_t)((uint16_t)now - time); }

// The levels are in quarters of a turn.
enum { turn = 4, further = 2, window = 31, stride = 8 };

// MARK: State of a track

// The bits of `state`: the position that was used last, what happened last, the repetitions of the newest segment without anything
// between them, whether a jump was ignored, and how established the track is.
enum { state_position = 1, state_last = 6, state_repeats = 24, state_ignored = 32, state_established = 192, one_established = 64 };
enum { last_other = 0, last_forward = 2, last_repeat = 4, one_repeat = 8 };

static void raise(head *head) {
    unsigned level = head->level + (unsigned)turn;
    head->level = (uint8_t)(level > 255 ? 255 : level);
}

static void set_last(head *head, unsigned position, unsigned last) {
    unsigned rest = head->state & (state_ignored | state_established);
    head->state = (uint8_t)(rest | position | last);
}

static unsigned repeat_count(const head *head) { return (head->state & state_repeats) / one_repeat; }

// A step forward: by the position that was used last, or by the other one, which is a turn.
static void go_forward(head *head, cursor *cursor, unsigned position, uint32_t step, uint32_t now) {
    unsigned previous = head->state & state_position, last = head->state & state_last;
    cursor->newest += step;
    cursor->fetched = cursor->fetched << step | 1;
    if (position != previous) raise(head);
    // Steps in a burst say little, and one after a repetition is the other half of a turn.
    else if (last != last_repeat && short_age(now, cursor->advanced) >= half_second && head->level > 0) head->level--;
    cursor->advanced = (uint16_t)now;
    set_last(head, position, last_forward);
}

// A segment that is not newer: a repetition, or one that was left out.
static void go_back(head *head, cursor *cursor, unsigned position, uint32_t distance, int is_part) {
    unsigned last = head->state & state_last;
    // A player fetches a segment in several parts.
    if (is_part && distance == 0) return;
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
            || (cursors[older].fetched != 0 && short_age(now, cursors[at].advanced) > short_age(now, cursors[older].advanced)))
            older = at;
    int is_alive = cursors[older].fetched != 0 && short_age(now, cursors[older].advanced) <= alive;
    if (is_alive && (head->state & state_ignored) == 0) {
        head->state |= state_ignored;
        return;
    }
    cursors[older] = (cursor){.newest = index, .fetched = 1, .advanced = (uint16_t)now};
    head->state &= (uint8_t)~state_ignored;
    set_last(head, older, last_other);
}

static void step(head *head, cursor *cursors, uint32_t index, int is_part, uint32_t now) {
    unsigned used = head->state & state_position;
    for (unsigned at = 0; at < positions; at++) {
        unsigned position = used ^ at;
        cursor *cursor = &cursors[position];
        if (cursor->fetched == 0) continue;
        int64_t distance = (int64_t)index - cursor->newest;
        if (distance > 0 && distance <= stride) return go_forward(head, cursor, position, (uint32_t)distance, now);
        if (distance <= 0 && distance >= -window) return go_back(head, cursor, position, (uint32_t)-distance, is_part);
    }
    jump(head, cursors, index, now);
}

// The time since a track has advanced.
static uint16_t track_age(const record *record, unsigned track, uint32_t now) {
    uint16_t youngest = UINT16_MAX;
    for (unsigned position = 0; position < positions; position++) {
        const cursor *cursor = &record->cursors[track][position];
        if (cursor->fetched != 0 && short_age(now, cursor->advanced) < youngest) youngest = short_age(now, cursor->advanced);
    }
    return youngest;
}

static unsigned established(const head *head) { return (head->state & state_established) / one_established; }

// True if a track is to leave before another one: it has fewer turns, is less established, or has not advanced for longer.
static int leaves_first(const record *record, unsigned one, unsigned other, uint32_t now) {
    const head *head = &record->heads[one], *second = &record->heads[other];
    if (head->level != second->level) return head->level < second->level;
    if (established(head) != established(second)) return established(head) < established(second);
    return track_age(record, one, now) > track_age(record, other, now);
}

// The track of a segment; `tracks` if there is no room for it yet. Whoever asks for invented tracks does not make the real ones forgotten:
// a new track makes another one less established, and replaces it only when that is not established at all.
static unsigned track_index(record *record, uint16_t track, uint32_t now) {
    unsigned least = 0;
    for (unsigned at = 0; at < tracks; at++) {
        head *head = &record->heads[at];
        if (head->track != track) continue;
        if (established(head) < 3) head->state += one_established;
        return at;
    }
    for (unsigned at = 0; at < tracks && record->heads[least].track != 0; at++)
        if (record->heads[at].track == 0 || leaves_first(record, at, least, now)) least = at;
    head *head = &record->heads[least];
    if (head->track != 0 && established(head) > 0) {
        head->state -= one_established;
        return tracks;
    }
    *head = (struct head){.track = track};
    memset(record->cursors[least], 0, sizeof record->cursors[least]);
    return least;
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

// Locks a set. Returns 0 if another thread has it for too long, such as one that waits for a core. A process that was killed while it had
// the set has it no more after many failures.
static int lock(set *set) {
    for (int attempt = 0; attempt < 1000; attempt++) {
        uint32_t none = 0;
        if (__atomic_compare_exchange_n(&set->lock, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            if (set->failures != 0) __atomic_store_n(&set->failures, 0, __ATOMIC_RELAXED);
            return 1;
        }
    }
    if (__atomic_add_fetch(&set->failures, 1, __ATOMIC_RELAXED) < most_failures) return 0;
    __atomic_store_n(&set->failures, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&set->lock, 0, __ATOMIC_RELEASE);
    return 0;
}

static void unlock(set *set) { __atomic_store_n(&set->lock, 0, __ATOMIC_RELEASE); }

static uint64_t set_number(const playgate_playbacks *table, uint64_t playback) {
    return playback * UINT64_C(0xD6E8FEB86659FD93) >> 32 & (table->sets - 1);
}

static uint16_t tag_of(uint64_t playback) { return (uint16_t)(playback >> 48 | 1); }

// The index of a playback in its set; `ways` if it has none.
static unsigned way_of(playgate_playbacks *table, uint64_t number, uint64_t playback) {
    const set *set = set_at(table, number);
    unsigned way = 0;
    while (way < ways && (set->tags[way] != tag_of(playback) || record_at(table, number, way)->playback != playback)) way++;
    return way;
}

// The record of a playback, which is made if there is none. `is_new` receives 1 then.
static record *find(playgate_playbacks *table, uint64_t number, uint64_t playback, uint32_t now, int *is_new) {
    set *set = set_at(table, number);
    unsigned way = way_of(table, number, playback), oldest = 0;
    *is_new = way == ways;
    if (way < ways) {
        set->seen[way] = now;
        return record_at(table, number, way);
    }
    for (way = 0; way < ways && set->tags[oldest] != 0; way++)
        if (set->tags[way] == 0 || age(now, set->seen[way]) > age(now, set->seen[oldest])) oldest = way;
    if (set->tags[oldest] != 0) __atomic_fetch_add(&table->counters.evicted, 1, __ATOMIC_RELAXED);
    record *record = record_at(table, number, oldest);
    memset(record, 0, sizeof *record);
    record->playback = playback;
    record->reported = now;
    set->tags[oldest] = tag_of(playback);
    set->seen[oldest] = now;
    return record;
}

int32_t playgate_playbacks_count(playgate_playbacks *table, uint64_t playback, playgate_segment segment, uint32_t flags, int64_t now,
                                 uint8_t suspicion) {
    uint32_t time = (uint32_t)((uint64_t)now / unit);
    uint64_t number = set_number(table, playback);
    set *set = set_at(table, number);
    int32_t result = 0;
    int is_new;
    if (segment.track == 0) return 0;
    if (!lock(set)) {
        __atomic_fetch_add(&table->counters.skipped, 1, __ATOMIC_RELAXED);
        return 0;
    }
    record *record = find(table, number, playback, time, &is_new);
    unsigned at = track_index(record, segment.track, time);
    if (at < tracks) step(&record->heads[at], record->cursors[at], segment.index, (flags & PLAYGATE_SEGMENT_PART) != 0, time);
    if (at < tracks && record->heads[at].level >= suspicion) {
        record->heads[at].level = 0;
        result |= PLAYGATE_PLAYBACK_SUSPECTED;
    }
    if (is_new) result |= PLAYGATE_PLAYBACK_NEW;
    if (record->is_watched) result |= PLAYGATE_PLAYBACK_WATCHED;
    if (age(time, record->reported) >= sight) {
        record->reported = time;
        result |= PLAYGATE_PLAYBACK_SEEN;
    }
    unlock(set);
    return result;
}

void playgate_playbacks_watch(playgate_playbacks *table, uint64_t playback, int32_t is_watched) {
    uint64_t number = set_number(table, playback);
    set *set = set_at(table, number);
    if (!lock(set)) return;
    unsigned way = way_of(table, number, playback);
    if (way < ways) record_at(table, number, way)->is_watched = is_watched != 0;
    unlock(set);
}
