// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "playgate_playbacks.h"

#include <string.h>
#include <strings.h>

static int is_digit(char byte) { return byte >= '0' && byte <= '9'; }

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t length) {
    uint64_t word;
    hash = mix(hash, length);
    for (; length >= 8; bytes += 8, length -= 8) {
        memcpy(&word, bytes, 8);
        hash = mix(hash, word);
    }
    word = 0;
    if (length > 0) memcpy(&word, bytes, length);
    return mix(hash, word);
}

// True if a file with this extension is no segment.
static int is_other(const char *bytes, size_t length) {
    static const char others[][5] = {"m3u8", "json", "m3u", "mpd", "key", "bin", "vtt", "jpg", "png"};
    // The first two have four letters.
    size_t first = length == 4 ? 0 : 2, end = length == 4 ? 2 : sizeof others / sizeof others[0];
    if (length < 3 || length > 4) return 0;
    for (size_t at = first; at < end; at++)
        if ((bytes[0] | 0x20) == others[at][0] && strncasecmp(others[at], bytes, length) == 0) return 1;
    return 0;
}

// The end of the file's name without its extension. 0 if the file is no segment.
static size_t stem_end(const char *path, size_t start, size_t end) {
    size_t dot = end;
    while (dot > start && path[dot - 1] != '.') dot--;
    if (dot == start) return end;
    size_t length = end - dot, digits = 0;
    while (digits < length && is_digit(path[dot + digits])) digits++;
    if (length > 0 && digits == length) return end;
    return is_other(path + dot, length) ? 0 : dot - 1;
}

int32_t playgate_segment_parse(const char *path, size_t length, playgate_segment *segment) {
    size_t start, end, first;
    uint64_t index = 0, hash;
    const char *query = length == 0 ? NULL : memchr(path, '?', length);
    if (query != NULL) length = (size_t)(query - path);
    start = length;
    while (start > 0 && path[start - 1] != '/') start--;
    if (length - start >= 4 && (path[start] | 0x20) == 'i' && strncasecmp(path + start, "init", 4) == 0) return 0;
    end = stem_end(path, start, length);
    while (end > start && !is_digit(path[end - 1])) end--;
    if (end <= start) return 0;
    for (first = end; first > start && end - first < 10 && is_digit(path[first - 1]);) first--;
    for (size_t at = first; at < end; at++) index = 10 * index + (uint64_t)(path[at] - '0');
    if (index > UINT32_MAX) return 0;
    hash = hash_bytes(hash_bytes(1, path, first), path + end, length - end);
    segment->index = (uint32_t)index;
    segment->track = (uint16_t)(hash >> 40);
    // 0 is no track.
    if (segment->track == 0) segment->track = 1;
    return 1;
}
