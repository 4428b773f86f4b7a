// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// A request's target without tokens, and the facts in its header fields.

#include "edge.h"

#include <ctype.h>

/// True if a target has nothing that could be cut, and can be read in one way only.
static int is_plain(const edge_rules *rules, playgate_slice target) {
    if (rules->has_plain_segments || target.length == 0 || target.bytes[0] != '/') return 0;
    for (size_t place = 0; place < target.length; place++)
        if (!edge_is_plain(target.bytes[place])) return 0;
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

int edge_is_partial(edge_fields fields, void *context) {
    playgate_slice values[8];
    size_t count = fields(context, edge_slice("range"), values, 8);
    for (size_t place = 0; place < count && place < 8; place++)
        if (values[place].length > 0 && !edge_same_name(values[place], edge_slice("bytes=0-"))) return 1;
    return count > 8;
}

playgate_slice edge_first_value(edge_fields fields, void *context, const char *name) {
    playgate_slice value = {NULL, 0};
    return fields(context, edge_slice(name), &value, 1) > 0 ? value : (playgate_slice){NULL, 0};
}

int edge_is_own_name(playgate_slice name) {
    static const char own[] = "x-playgate";
    if (name.length < sizeof(own) - 1) return 0;
    // Some origins read every character but letters and digits as `_`.
    for (size_t place = 0; place < sizeof(own) - 1; place++)
        if (own[place] == '-' ? isalnum((unsigned char)name.bytes[place]) : (name.bytes[place] | 0x20) != own[place]) return 0;
    return 1;
}
