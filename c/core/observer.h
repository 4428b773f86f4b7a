// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_OBSERVER_H
#define PLAYGATE_OBSERVER_H

#include "playgate_observe.h"

#include "playgate_playbacks.h"

// A table of turns, the service's orders, and the reports for it, in memory that processes share: it has neither pointers nor locks of
// the system. A request that is no event touches the table only.
//
//     observer.c   requests: what is counted, and what follows from it
//     reports.c    the reports, as the service reads them
//     orders.c     the service's orders

enum { cache_line = 64, most_orders = 2048, order_slots = 4096, most_uses = 2048, most_holders = 64, most_renditions = 8, longest_profile = 64 };
enum { session_size = 16, name_size = 16, usual_suspicion = 20 };

// The failures to get the lock after which it passes on, and the uses of a playback's grants that are reported in a second.
enum { most_failures = 100, most_uses_a_second = 32 };

// Milliseconds: between two reports, and after the first of a holder; for which orders hold without others.
enum { report_interval = 1000, holder_interval = 2000, order_life = 10000 };

// The kinds of reports, and the reasons to report a holder.
enum { kind_seen = 1, kind_used = 3, kind_held = 5 };
enum { cause_watched = 0, cause_turns = 1, cause_sighted = 2 };

// The kinds of orders: to watch a playback whose holder the service does not know from here, and whose holder it knows; to report the
// holder once.
enum { order_none = 0, order_watch = 1, order_watch_known = 2, order_look = 3 };

// An order about a playback.
typedef struct order {
    uint64_t playback;
    // Grants that were issued before are to be replaced, until the end.
    int64_t before, end;
    // The time of the last report of the holder.
    int64_t reported;
    // The uses that were reported in a second.
    int64_t second;
    int32_t kind;
    uint32_t uses;
} order;

typedef struct order_table {
    uint32_t count, reserved;
    order slots[order_slots];
} order_table;

// A use of a grant, or a playback that was seen.
typedef struct use {
    uint64_t playback;
    int64_t time;
    uint32_t grant, index;
    uint16_t track, kind;
    uint32_t reserved;
} use;

// The holder of a grant.
typedef struct holder {
    uint64_t playback;
    int64_t time, end;
    unsigned char session[session_size], cause, profile_length;
    char profile[longest_profile];
} holder;

struct playgate_observer {
    uint64_t number;
    char name[name_size];
    // 1 while a thread has the observer; the failures to get it since somebody had it.
    uint32_t lock, failures;
    // The level of suspicion; the patterns in force, 0 or 1; the orders in force, 0 or 1.
    uint32_t suspicion, renditions_at, orders_at;
    // The times of the last report, and of the last orders.
    int64_t reported, obeyed;
    playgate_observer_counters counts;
    // The positions of the first reports that wait, and after the last ones. They only grow.
    uint64_t first_use, end_use, first_holder, end_holder;
    uint32_t rendition_counts[2];
    playgate_rendition renditions[2][most_renditions];
    use uses[most_uses];
    holder holders[most_holders];
    order_table orders[2];
};

static inline size_t observer_size(void) { return (sizeof(struct playgate_observer) + cache_line - 1) / cache_line * cache_line; }

static inline playgate_playbacks *table_of(playgate_observer *observer) {
    return (playgate_playbacks *)(void *)((char *)observer + observer_size());
}

// MARK: Counters

static inline void add_to(uint64_t *counter, uint64_t number) { __atomic_fetch_add(counter, number, __ATOMIC_RELAXED); }
static inline uint64_t load(const uint64_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

// MARK: The lock

// Returns 0 if others have it for too long.
int observer_lock(playgate_observer *observer);
void observer_unlock(playgate_observer *observer);

// MARK: Orders

static inline size_t slot_of(uint64_t playback) { return (size_t)(playback * UINT64_C(0xD6E8FEB86659FD93) >> 40) % order_slots; }

// The order about a playback, or the free slot for it.
static inline order *find_order(order_table *orders, uint64_t playback) {
    size_t slot = slot_of(playback);
    for (size_t count = 0; count < order_slots; count++, slot = (slot + 1) % order_slots)
        if (orders->slots[slot].kind == order_none || orders->slots[slot].playback == playback) return &orders->slots[slot];
    return NULL;
}

static inline order_table *present_orders(playgate_observer *observer) {
    return &observer->orders[__atomic_load_n(&observer->orders_at, __ATOMIC_RELAXED) & 1];
}

#endif
