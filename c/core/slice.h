// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_SLICE_H
#define PLAYGATE_SLICE_H

#include "playgate.h"

#include <string.h>
#include <strings.h>

/// Texts that belong to somebody else: comparisons and parts, without copies. For the core and the modules of servers.

/// The slice of a terminated text; empty for null.
static inline playgate_slice slice_of(const char *text) {
    playgate_slice slice = {text, text == NULL ? 0 : strlen(text)};
    return slice;
}

static inline int slice_is(playgate_slice one, playgate_slice other) {
    return one.length == other.length && (one.length == 0 || memcmp(one.bytes, other.bytes, one.length) == 0);
}

/// Compares names of header fields, in any case.
static inline int slice_is_name(playgate_slice one, playgate_slice other) {
    return one.length == other.length && (one.length == 0 || strncasecmp(one.bytes, other.bytes, one.length) == 0);
}

static inline playgate_slice slice_after(playgate_slice text, size_t length) {
    playgate_slice rest = {text.bytes + length, text.length - length};
    return rest;
}

static inline int slice_is_blank(char byte) { return byte == ' ' || byte == '\t'; }

/// Without the blanks at both ends.
static inline playgate_slice slice_trimmed(playgate_slice text) {
    while (text.length > 0 && slice_is_blank(text.bytes[0])) text = slice_after(text, 1);
    while (text.length > 0 && slice_is_blank(text.bytes[text.length - 1])) text.length--;
    return text;
}

/// The number of decimal digits alone, at most `most`; -1 for any other text.
static inline int64_t slice_number(playgate_slice text, int64_t most) {
    int64_t number = 0;
    if (text.length == 0 || text.length > 18) return -1;
    for (size_t at = 0; at < text.length; at++) {
        if (text.bytes[at] < '0' || text.bytes[at] > '9') return -1;
        number = 10 * number + (text.bytes[at] - '0');
    }
    return number <= most ? number : -1;
}

#endif
