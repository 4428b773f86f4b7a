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

// MARK: Renditions

// The longest path whose rendition is looked for.
enum { longest_path = 2048 };

int32_t playgate_rendition_make(const char *text, size_t length, playgate_rendition *rendition) {
    const char *star = length == 0 || length > sizeof rendition->text ? NULL : memchr(text, '*', length);
    if (star == NULL || star == text || star == text + length - 1 || memchr(star + 1, '*', length - (size_t)(star + 1 - text)) != NULL) return 0;
    memset(rendition, 0, sizeof *rendition);
    memcpy(rendition->text, text, length);
    rendition->length = (uint8_t)length;
    rendition->star = (uint8_t)(star - text);
    return 1;
}

// The end of the part of a path that a pattern matches from `start` on; 0 if it does not match there.
static size_t match_end(const char *path, size_t length, size_t start, const playgate_rendition *rendition) {
    const char *suffix = rendition->text + rendition->star + 1;
    size_t suffix_length = (size_t)rendition->length - rendition->star - 1;
    if (memcmp(path + start, rendition->text, rendition->star) != 0) return 0;
    for (size_t at = start + rendition->star; at + suffix_length <= length; at++) {
        if (memcmp(path + at, suffix, suffix_length) == 0) return at + suffix_length;
        if (path[at] == '/') return 0;
    }
    return 0;
}

// Writes a path with the pattern in place of the first part that matches it. Returns its length; 0 if none does.
static size_t replace_match(const char *path, size_t length, const playgate_rendition *rendition, char replaced[longest_path]) {
    size_t least = rendition->length == 0 ? 0 : (size_t)rendition->length - 1;
    for (size_t start = 0; start + least <= length; start++) {
        size_t end = match_end(path, length, start, rendition);
        if (end == 0) continue;
        size_t written = start + rendition->length + (length - end);
        if (written > longest_path) return 0;
        memcpy(replaced, path, start);
        memcpy(replaced + start, rendition->text, rendition->length);
        memcpy(replaced + start + rendition->length, path + end, length - end);
        return written;
    }
    return 0;
}

int32_t playgate_segment_parse_rendition(const char *path, size_t length, const playgate_rendition *renditions, size_t count,
                                         playgate_segment *segment) {
    char replaced[longest_path];
    const char *query = length == 0 ? NULL : memchr(path, '?', length);
    if (query != NULL) length = (size_t)(query - path);
    for (size_t at = 0; at < count; at++) {
        // What another process wrote may be anything.
        if (renditions[at].length > sizeof renditions[at].text || renditions[at].star >= renditions[at].length) continue;
        size_t written = replace_match(path, length, &renditions[at], replaced);
        if (written > 0) return playgate_segment_parse(replaced, written, segment);
    }
    return playgate_segment_parse(path, length, segment);
}
