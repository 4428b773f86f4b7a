// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "observer.h"

#include <string.h>

// The orders of the service, and its patterns: see LeakOrders in SharedGrants.

// MARK: Obeying

static uint64_t number_at(const char *bytes, size_t size) {
    uint64_t number = 0;
    for (size_t at = 0; at < size; at++) number = number << 8 | (unsigned char)bytes[at];
    return number;
}

// The head is a version, the level of suspicion, and the number of patterns.
enum { orders_version = 1, orders_head = 3, order_size = 25 };

// Reads the patterns. Returns the length of what was read; 0 for a fault.
static size_t read_renditions(playgate_slice text, playgate_rendition renditions[most_renditions], uint32_t *count) {
    size_t at = orders_head;
    *count = (unsigned char)text.bytes[2];
    if (*count > most_renditions) return 0;
    for (uint32_t number = 0; number < *count; number++) {
        size_t length = at < text.length ? (unsigned char)text.bytes[at] : 0;
        if (at + 1 + length > text.length || !playgate_rendition_make(text.bytes + at + 1, length, &renditions[number])) return 0;
        at += 1 + length;
    }
    return at;
}

static int are_orders(playgate_slice text, size_t from) {
    size_t count = (text.length - from) / order_size;
    if ((text.length - from) % order_size != 0 || count > most_orders) return 0;
    for (size_t at = from; at < text.length; at += order_size)
        if (text.bytes[at] < order_watch || text.bytes[at] > order_look) return 0;
    return 1;
}

// Patterns that readers have are not written to, unless they change twice meanwhile.
static void set_renditions(playgate_observer *observer, const playgate_rendition *renditions, uint32_t count) {
    uint32_t present = observer->renditions_at & 1, next = 1 - present;
    size_t size = count * sizeof *renditions;
    if (observer->rendition_counts[present] == count && memcmp(observer->renditions[present], renditions, size) == 0) return;
    memcpy(observer->renditions[next], renditions, size);
    __atomic_store_n(&observer->rendition_counts[next], count, __ATOMIC_RELAXED);
    __atomic_store_n(&observer->renditions_at, next, __ATOMIC_RELEASE);
}

static void set_orders(playgate_observer *observer, playgate_slice text, size_t from) {
    order_table *present = present_orders(observer), *next = &observer->orders[1 - (observer->orders_at & 1)];
    // One that was never used has pages that nobody has touched.
    if (next->count > 0) memset(next, 0, sizeof *next);
    for (size_t at = from; at < text.length; at += order_size) {
        const char *bytes = text.bytes + at;
        order *order = find_order(next, number_at(bytes + 1, 8)), *before = find_order(present, number_at(bytes + 1, 8));
        if (order == NULL || order->kind != order_none) continue;
        order->kind = bytes[0];
        order->playback = number_at(bytes + 1, 8);
        order->before = (int64_t)number_at(bytes + 9, 8);
        order->end = (int64_t)number_at(bytes + 17, 8);
        // A holder is reported at once for an order of another kind.
        int is_same = before != NULL && before->kind == order->kind;
        if (is_same) order->reported = before->reported;
        next->count++;
        if (!is_same) playgate_playbacks_watch(table_of(observer), order->playback, 1);
    }
    // Those that have none now are found by their next request.
    __atomic_store_n(&observer->orders_at, 1 - (observer->orders_at & 1), __ATOMIC_RELAXED);
}

int32_t playgate_observer_obey(playgate_observer *observer, playgate_slice orders, int64_t now) {
    playgate_rendition renditions[most_renditions];
    uint32_t count = 0;
    if (observer == NULL || orders.bytes == NULL || orders.length < orders_head || orders.length > PLAYGATE_REPORTS_LIMIT) return PLAYGATE_E_ARGUMENT;
    if (orders.bytes[0] != orders_version || orders.bytes[1] == 0) return PLAYGATE_E_ARGUMENT;
    size_t from = read_renditions(orders, renditions, &count);
    if (from == 0 || !are_orders(orders, from) || !observer_lock(observer)) return PLAYGATE_E_ARGUMENT;
    __atomic_store_n(&observer->suspicion, (unsigned char)orders.bytes[1], __ATOMIC_RELAXED);
    set_renditions(observer, renditions, count);
    set_orders(observer, orders, from);
    __atomic_store_n(&observer->obeyed, now, __ATOMIC_RELAXED);
    observer_unlock(observer);
    return PLAYGATE_OK;
}
