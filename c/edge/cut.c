// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// A request's target without tokens.

#include "cut.h"

/// True if a target has nothing that could be cut, and can be read in one way only.
static int is_plain(const edge_rules *rules, playgate_slice target) {
    if (rules->has_plain_segments || target.length == 0 || target.bytes[0] != '/') return 0;
    for (size_t at = 0; at < target.length; at++)
        if (!edge_is_plain(target.bytes[at])) return 0;
    return 1;
}

int edge_cut(const edge_rules *rules, playgate_slice target, char *buffer, size_t capacity, playgate_cut *cut) {
    cut->size = sizeof(*cut);
    cut->found_count = cut->flags = 0;
    cut->target = target;
    if (is_plain(rules, target) && target.length < EDGE_TARGET_LIMIT / 2) return 0;
    if (target.length > capacity || target.length > EDGE_TARGET_LIMIT) return -1;
    return playgate_target_cut(&rules->rules, target, buffer, capacity, cut) == PLAYGATE_OK ? 0 : -1;
}
