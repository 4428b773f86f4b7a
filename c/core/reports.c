// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "observer.h"

#include <string.h>

// The reports of an observer, as the service reads them: see LeakReportBatch in SharedGrants.

// MARK: Sending

int32_t playgate_observer_is_due(playgate_observer *observer, int64_t now) {
    if (observer == NULL) return 0;
    int64_t last = __atomic_load_n(&observer->reported, __ATOMIC_RELAXED);
    // A clock that was set back begins again.
    if (now >= last && now - last < report_interval) return 0;
    return __atomic_compare_exchange_n(&observer->reported, &last, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// A batch that is written.
typedef struct batch {
    char *bytes;
    size_t length;
    int64_t base;
} batch;

static void put(batch *batch, uint64_t number, size_t size) {
    for (size_t byte = size; byte > 0; byte--) batch->bytes[batch->length++] = (char)(number >> 8 * (byte - 1));
}

static void put_bytes(batch *batch, const void *bytes, size_t size) {
    memcpy(batch->bytes + batch->length, bytes, size);
    batch->length += size;
}

// The kind of a report, and its time after the base. Returns 0 for a time that has no room.
static int put_head(batch *batch, int kind, int64_t time) {
    int64_t offset = time - batch->base;
    if (offset < 0 || offset > UINT32_MAX) return 0;
    put(batch, (uint64_t)kind, 1);
    for (; offset >= 0x80; offset >>= 7) put(batch, (uint64_t)(offset & 0x7F) | 0x80, 1);
    put(batch, (uint64_t)offset, 1);
    return 1;
}

static void put_use(batch *batch, const use *use) {
    // What was left half written is none.
    if (use->kind != kind_seen && use->kind != kind_used) return;
    if (!put_head(batch, use->kind, use->time)) return;
    put(batch, use->playback, 8);
    if (use->kind == kind_seen) return;
    put(batch, use->grant, 4);
    put(batch, use->index, 4);
    put(batch, use->track, 2);
}

static void put_holder(batch *batch, const holder *holder) {
    size_t length = holder->profile_length < longest_profile ? holder->profile_length : longest_profile;
    if (!put_head(batch, kind_held, holder->time)) return;
    put(batch, holder->playback, 8);
    put(batch, holder->cause, 1);
    put_bytes(batch, holder->session, session_size);
    put(batch, (uint64_t)holder->end, 8);
    put(batch, length, 1);
    put_bytes(batch, holder->profile, length);
}

// The positions of the reports that wait, as they were once: others may pass the lock on.
typedef struct range {
    uint64_t first, end;
} range;

static range range_of(const uint64_t *first, const uint64_t *end, uint64_t most) {
    range found = {__atomic_load_n(first, __ATOMIC_RELAXED), __atomic_load_n(end, __ATOMIC_RELAXED)};
    if (found.end - found.first > most) found.first = found.end;
    return found;
}

// The earliest time of the reports that wait.
static int64_t base_of(const playgate_observer *observer, range uses, range holders, int64_t now) {
    int64_t base = now;
    for (uint64_t at = uses.first; at != uses.end; at++)
        if (observer->uses[at % most_uses].time < base) base = observer->uses[at % most_uses].time;
    for (uint64_t at = holders.first; at != holders.end; at++)
        if (observer->holders[at % most_holders].time < base) base = observer->holders[at % most_holders].time;
    return base;
}

_Static_assert(17 + most_uses * 24 + most_holders * (32 + 8 + longest_profile) <= PLAYGATE_REPORTS_LIMIT, "a batch has room for all reports");

size_t playgate_observer_reports(const playgate_observer *shared, int64_t now, char *bytes, playgate_reports *reports) {
    playgate_observer *observer = (playgate_observer *)(uintptr_t)shared;
    if (observer == NULL || bytes == NULL || reports == NULL || reports->size < sizeof *reports || !observer_lock(observer)) return 0;
    range uses = range_of(&observer->first_use, &observer->end_use, most_uses);
    range holders = range_of(&observer->first_holder, &observer->end_holder, most_holders);
    batch batch = {.bytes = bytes, .base = base_of(observer, uses, holders, now)};
    put(&batch, 1, 1);
    put(&batch, observer->number, 8);
    put(&batch, (uint64_t)batch.base, 8);
    // The holders first: the service takes the uses of those whom it knows.
    for (uint64_t at = holders.first; at != holders.end; at++) put_holder(&batch, &observer->holders[at % most_holders]);
    for (uint64_t at = uses.first; at != uses.end; at++) put_use(&batch, &observer->uses[at % most_uses]);
    reports->uses = uses.end;
    reports->holders = holders.end;
    reports->count = (uint32_t)(uses.end - uses.first + holders.end - holders.first);
    observer_unlock(observer);
    return batch.length;
}

void playgate_observer_confirm(playgate_observer *observer, const playgate_reports *reports) {
    if (observer == NULL || reports == NULL || reports->size < sizeof *reports || !observer_lock(observer)) return;
    // The oldest ones may have left meanwhile.
    if (reports->uses - observer->first_use <= observer->end_use - observer->first_use) observer->first_use = reports->uses;
    if (reports->holders - observer->first_holder <= observer->end_holder - observer->first_holder) observer->first_holder = reports->holders;
    add_to(&observer->counts.reported, reports->count);
    observer_unlock(observer);
}
