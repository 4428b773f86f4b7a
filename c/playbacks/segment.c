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

// The end of the part of a path that a pattern matches from `start` on; 0 if it does not match there. `barren` receives the end of what
// has no suffix for any start before: else a path of prefixes would cost the square of its length.
static size_t match_end(const char *path, size_t length, size_t start, const playgate_rendition *rendition, size_t *barren) {
    const char *suffix = rendition->text + rendition->star + 1;
    size_t suffix_length = (size_t)rendition->length - rendition->star - 1, at = start + rendition->star;
    if (memcmp(path + start, rendition->text, rendition->star) != 0) return 0;
    if (at < *barren) return 0;
    for (; at + suffix_length <= length; at++) {
        if (memcmp(path + at, suffix, suffix_length) == 0) return at + suffix_length;
        if (path[at] == '/') break;
    }
    *barren = at + 1;
    return 0;
}

// Writes a path with the pattern in place of the first part that matches it. Returns its length; 0 if none does.
static size_t replace_match(const char *path, size_t length, const playgate_rendition *rendition, char replaced[longest_path]) {
    size_t least = rendition->length == 0 ? 0 : (size_t)rendition->length - 1, barren = 0;
    for (size_t start = 0; start + least <= length; start++) {
        size_t end = match_end(path, length, start, rendition, &barren);
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
    if (length > longest_path) count = 0;
    for (size_t at = 0; at < count; at++) {
        // What another process wrote may be anything.
        if (renditions[at].length > sizeof renditions[at].text || renditions[at].star >= renditions[at].length) continue;
        size_t written = replace_match(path, length, &renditions[at], replaced);
        if (written > 0) return playgate_segment_parse(replaced, written, segment);
    }
    return playgate_segment_parse(path, length, segment);
}

// MARK: Normal form

static int value_of(char digit) {
    if (is_digit(digit)) return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static int is_unreserved(int byte) {
    int letter = byte | 0x20;
    return (letter >= 'a' && letter <= 'z') || is_digit((char)byte) || byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

// True for what a path has as it is.
static int is_plain(int byte) { return is_unreserved(byte) || (byte != 0 && byte < 0x80 && strchr("/!$&'()*+,=:@", byte) != NULL); }

// Writes a path with each character in one spelling (RFC 3986 §6.2.2). Returns its length; 0 if it has no room, or encodes nothing.
static size_t decode(const char *path, size_t length, char *text, size_t capacity) {
    static const char digits[] = "0123456789ABCDEF";
    size_t written = 0;
    for (size_t at = 0; at < length; at++) {
        int byte = (unsigned char)path[at], is_encoded = byte == '%';
        if (is_encoded) {
            int high = at + 2 < length ? value_of(path[at + 1]) : -1, low = high >= 0 ? value_of(path[at + 2]) : -1;
            if (low < 0) return 0;
            byte = 16 * high + low;
            at += 2;
        }
        int is_written = is_encoded ? is_unreserved(byte) : is_plain(byte);
        if (written + 3 > capacity) return 0;
        if (is_written) {
            text[written++] = (char)byte;
            continue;
        }
        text[written++] = '%';
        text[written++] = digits[byte >> 4];
        text[written++] = digits[byte & 15];
    }
    return written;
}

// The number of dots of a segment that has nothing else, at most two; 0 for any other.
static size_t dots_of(const char *segment, size_t length) {
    if (length == 0 || length > 2 || segment[0] != '.' || segment[length - 1] != '.') return 0;
    return length;
}

// Removes empty and dot segments. Returns the length.
static size_t resolve(char *path, size_t length) {
    size_t written = 0, start = 1;
    for (;;) {
        size_t end = start;
        while (end < length && path[end] != '/') end++;
        size_t dots = dots_of(path + start, end - start), is_last = end >= length;
        if (dots == 2)
            while (written > 0 && path[--written] != '/') {}
        if (dots == 0 ? is_last || end > start : is_last) path[written++] = '/';
        if (dots == 0) {
            memmove(path + written, path + start, end - start);
            written += end - start;
        }
        if (is_last) return written;
        start = end + 1;
    }
}

size_t playgate_path_normalize(const char *path, size_t length, char text[PLAYGATE_PATH_LIMIT]) {
    const char *query = length == 0 ? NULL : memchr(path, '?', length);
    if (query != NULL) length = (size_t)(query - path);
    if (length == 0 || path[0] != '/') return 0;
    size_t written = decode(path, length, text, PLAYGATE_PATH_LIMIT);
    return written == 0 ? 0 : resolve(text, written);
}

#define TEN(first) [first] = 1, [first + 1] = 1, [first + 2] = 1, [first + 3] = 1, [first + 4] = 1, [first + 5] = 1, [first + 6] = 1, \
    [first + 7] = 1, [first + 8] = 1, [first + 9] = 1
static const unsigned char is_alphanumeric[256] = {TEN('0'), TEN('A'), TEN('K'), TEN('a'), TEN('k'), ['U'] = 1, ['V'] = 1, ['W'] = 1,
    ['X'] = 1, ['Y'] = 1, ['Z'] = 1, ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1};

int32_t playgate_path_is_normal(const char *path, size_t length) {
    char previous = 0;
    for (size_t at = 0; at < length && path[at] != '?'; at++) {
        unsigned char byte = (unsigned char)path[at];
        // Most are letters and digits.
        if (!is_alphanumeric[byte] && !is_plain(byte)) return 0;
        // No dot and no slash may follow a slash.
        if (previous == '/' && (path[at] == '/' || path[at] == '.')) return 0;
        previous = path[at];
    }
    return 1;
}
