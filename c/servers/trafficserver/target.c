// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The URL of a request.

#include "playgate_trafficserver.h"

#include <slice.h>

/// The parts of a target, as Traffic Server keeps them, with the byte that it writes before each.
typedef const char *(*get_part)(TSMBuffer buffer, TSMLoc url, int *length);
typedef TSReturnCode (*set_part)(TSMBuffer buffer, TSMLoc url, const char *value, int length);

static const struct { char mark; get_part get; set_part set; } parts[] = {
    {'/', TSUrlPathGet, TSUrlPathSet},
    {';', TSUrlHttpParamsGet, TSUrlHttpParamsSet},
    {'?', TSUrlHttpQueryGet, TSUrlHttpQuerySet},
    {'#', TSUrlHttpFragmentGet, TSUrlHttpFragmentSet},
};

enum { part_count = sizeof(parts) / sizeof(parts[0]) };

playgate_slice pgt_target(const pgt_url *url, char *text) {
    size_t written = 0;
    for (size_t at = 0; at < part_count; at++) {
        int length = 0;
        const char *bytes = parts[at].get(url->buffer, url->url, &length);
        if (at > 0 && (bytes == NULL || length <= 0)) continue;
        if (bytes == NULL || length < 0) length = 0;
        if ((size_t)length >= EDGE_TARGET_LIMIT - written) return slice_of(NULL);
        text[written++] = parts[at].mark;
        if (length > 0) memcpy(text + written, bytes, (size_t)length);
        written += (size_t)length;
    }
    return (playgate_slice){text, written};
}

void pgt_set_target(const pgt_url *url, playgate_slice target) {
    // A part ends where one of the later marks is.
    static const char *const ends[part_count] = {";?#", "?#", "#", ""};
    for (size_t at = 0; at < part_count; at++) {
        size_t length = 0;
        if (target.length > 0 && target.bytes[0] == parts[at].mark) {
            target = slice_after(target, 1);
            while (length < target.length && strchr(ends[at], target.bytes[length]) == NULL) length++;
        }
        parts[at].set(url->buffer, url->url, length == 0 ? "" : target.bytes, (int)length);
        target = slice_after(target, length);
    }
}
