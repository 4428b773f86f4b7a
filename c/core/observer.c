// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// For getentropy() and sched_yield().
#define _GNU_SOURCE 1

#include "observer.h"

#include "slice.h"

#include <sched.h>
#include <stdio.h>
#ifdef __APPLE__
#include <sys/random.h>
#else
#include <unistd.h>
#endif

// MARK: Life

size_t playgate_observer_size(size_t playbacks) { return observer_size() + playgate_playbacks_size(playbacks); }

playgate_observer *playgate_observer_create(void *memory, size_t size, size_t playbacks) {
    playgate_observer *observer = memory;
    char text[name_size + 1];
    if (memory == NULL || size < observer_size()) return NULL;
    if (playgate_playbacks_create((char *)memory + observer_size(), size - observer_size(), playbacks) == NULL) return NULL;
    if (getentropy(&observer->number, sizeof observer->number) != 0) return NULL;
    snprintf(text, sizeof text, "%016llx", (unsigned long long)observer->number);
    memcpy(observer->name, text, name_size);
    observer->suspicion = usual_suspicion;
    return observer;
}

playgate_slice playgate_observer_name(const playgate_observer *observer) {
    playgate_slice name = {observer == NULL ? NULL : observer->name, observer == NULL ? 0 : name_size};
    return name;
}

playgate_observer_counters playgate_observer_counts(const playgate_observer *observer) {
    playgate_observer_counters counts = {0};
    if (observer == NULL) return counts;
    playgate_playbacks_counters table = playgate_playbacks_counts(table_of((playgate_observer *)(uintptr_t)observer));
    counts.evicted = table.evicted;
    counts.skipped = table.skipped + load(&observer->counts.skipped);
    counts.dropped = load(&observer->counts.dropped);
    counts.reported = load(&observer->counts.reported);
    return counts;
}

// MARK: The lock

// A process that was killed while it had the lock would keep it: after many failures in a row, of a millisecond each at least, the lock
// passes on. All positions are bounded where they are used, so that what such a process has left half done costs reports and nothing else.
int observer_lock(playgate_observer *observer) {
    for (int attempt = 0; attempt < 2000; attempt++) {
        uint32_t none = 0;
        if (__atomic_compare_exchange_n(&observer->lock, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            __atomic_store_n(&observer->failures, 0, __ATOMIC_RELAXED);
            return 1;
        }
        if (attempt >= 1000) sched_yield();
    }
    add_to(&observer->counts.skipped, 1);
    if (__atomic_add_fetch(&observer->failures, 1, __ATOMIC_RELAXED) < most_failures) return 0;
    __atomic_store_n(&observer->failures, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&observer->lock, 0, __ATOMIC_RELEASE);
    return 0;
}

void observer_unlock(playgate_observer *observer) { __atomic_store_n(&observer->lock, 0, __ATOMIC_RELEASE); }

// MARK: Reports that wait

// Without room, sightings are left out, as they are repeated, and the oldest uses leave.
static void add_use(playgate_observer *observer, const use *added) {
    if (observer->end_use - observer->first_use >= most_uses) {
        add_to(&observer->counts.dropped, 1);
        if (added->kind == kind_seen) return;
        observer->first_use = observer->end_use - most_uses + 1;
    }
    // A process that is killed in between leaves no half of it.
    observer->uses[observer->end_use % most_uses] = *added;
    __atomic_store_n(&observer->end_use, observer->end_use + 1, __ATOMIC_RELEASE);
}

static int hexadecimal(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static int read_session(playgate_slice text, unsigned char session[session_size]) {
    if (text.length != 2 * session_size) return 0;
    for (size_t at = 0; at < session_size; at++) {
        int high = hexadecimal(text.bytes[2 * at]), low = hexadecimal(text.bytes[2 * at + 1]);
        if (high < 0 || low < 0) return 0;
        session[at] = (unsigned char)(16 * high + low);
    }
    return 1;
}

static void add_holder(playgate_observer *observer, const playgate_answer *answer, int64_t now, int cause) {
    holder added = {.playback = answer->playback, .time = now, .end = answer->playback_end, .cause = (unsigned char)cause};
    if (!read_session(answer->session, added.session)) return;
    added.profile_length = (unsigned char)(answer->profile.length < longest_profile ? answer->profile.length : longest_profile);
    if (added.profile_length > 0) memcpy(added.profile, answer->profile.bytes, added.profile_length);
    if (observer->end_holder - observer->first_holder >= most_holders) {
        add_to(&observer->counts.dropped, 1);
        observer->first_holder = observer->end_holder - most_holders + 1;
    }
    observer->holders[observer->end_holder % most_holders] = added;
    __atomic_store_n(&observer->end_holder, observer->end_holder + 1, __ATOMIC_RELEASE);
}

// MARK: Orders

// Obeys the order about the playback of a request. Returns 1 if the service is to be asked.
static int follow_order(playgate_observer *observer, const playgate_answer *answer, const playgate_segment *segment, int64_t now) {
    order *order = find_order(present_orders(observer), answer->playback);
    int is_known = order != NULL && order->kind != order_none && now <= order->end;
    // The record may have left for another, or the watch has ended.
    playgate_playbacks_watch(table_of(observer), answer->playback, is_known);
    if (!is_known) return 0;
    if (order->kind != order_watch_known && now - order->reported >= holder_interval) {
        add_holder(observer, answer, now, order->kind == order_look ? cause_sighted : cause_watched);
        order->reported = now;
    }
    if (order->kind == order_look) return 0;
    int64_t obeyed = __atomic_load_n(&observer->obeyed, __ATOMIC_RELAXED);
    int is_asked = answer->issued < order->before && now - obeyed < order_life;
    // One player must not push the uses of others out.
    if (now / 1000 != order->second) {
        order->second = now / 1000;
        order->uses = 0;
    }
    if (order->uses++ >= most_uses_a_second) return is_asked;
    use added = {.playback = answer->playback, .time = now, .grant = answer->grant_number, .index = segment->index, .track = segment->track,
                 .kind = kind_used};
    add_use(observer, &added);
    return is_asked;
}

// MARK: Requests

// Counts the path in the spelling in which the gate does: a copier may choose another one.
static int parse_segment(const playgate_observer *observer, playgate_slice target, playgate_segment *segment) {
    char text[PLAYGATE_PATH_LIMIT];
    if (target.length == 0 || target.bytes == NULL) return 0;
    if (!playgate_path_is_normal(target.bytes, target.length)) {
        target.length = playgate_path_normalize(target.bytes, target.length, text);
        target.bytes = text;
    }
    uint32_t at = __atomic_load_n(&observer->renditions_at, __ATOMIC_ACQUIRE) & 1;
    uint32_t count = __atomic_load_n(&observer->rendition_counts[at], __ATOMIC_RELAXED);
    if (count == 0) return playgate_segment_parse(target.bytes, target.length, segment);
    return playgate_segment_parse_rendition(target.bytes, target.length, observer->renditions[at], count < most_renditions ? count : most_renditions,
                                            segment);
}

// Does what follows from a count. Returns 1 if the service is to be asked.
static int note(playgate_observer *observer, const playgate_answer *answer, const playgate_segment *segment, int32_t count, int64_t now) {
    int has_orders = __atomic_load_n(&present_orders(observer)->count, __ATOMIC_RELAXED) > 0, is_asked = 0;
    if (!observer_lock(observer)) return 0;
    if ((count & PLAYGATE_PLAYBACK_WATCHED) != 0 || ((count & PLAYGATE_PLAYBACK_NEW) != 0 && has_orders))
        is_asked = follow_order(observer, answer, segment, now);
    if ((count & (PLAYGATE_PLAYBACK_SEEN | PLAYGATE_PLAYBACK_NEW)) != 0) {
        use seen = {.playback = answer->playback, .time = now, .kind = kind_seen};
        add_use(observer, &seen);
    }
    if ((count & PLAYGATE_PLAYBACK_SUSPECTED) != 0) add_holder(observer, answer, now, cause_turns);
    observer_unlock(observer);
    return is_asked;
}

int32_t playgate_observe(playgate_observer *observer, const playgate_request *request, const playgate_answer *answer) {
    playgate_segment segment;
    if (observer == NULL || request == NULL || answer == NULL || request->size < PLAYGATE_REQUEST_SIZE_1) return 0;
    if (answer->size < sizeof *answer || answer->playback == 0 || answer->outcome != PLAYGATE_ALLOW) return 0;
    if (request->method.length > 0 && !slice_is(request->method, (playgate_slice){"GET", 3})) return 0;
    if (!parse_segment(observer, request->target, &segment)) return 0;
    uint32_t flags = (request->flags & PLAYGATE_REQUEST_PARTIAL) != 0 ? PLAYGATE_SEGMENT_PART : 0;
    uint8_t suspicion = (uint8_t)__atomic_load_n(&observer->suspicion, __ATOMIC_RELAXED);
    int32_t count = playgate_playbacks_count(table_of(observer), answer->playback, segment, flags, request->now, suspicion);
    return count == 0 ? 0 : note(observer, answer, &segment, count, request->now);
}
