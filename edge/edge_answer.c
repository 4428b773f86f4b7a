// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The decision in terms of HTTP.

#include "edge.h"

#include <stdio.h>

void edge_refuse(playgate_answer *answer, int32_t outcome, const char *code, int32_t status) {
    char *buffer = answer->buffer;
    size_t capacity = answer->capacity;
    *answer = (playgate_answer){.size = sizeof(*answer), .outcome = outcome, .status = status, .buffer = buffer, .capacity = capacity};
    answer->code = playgate_code_number(edge_slice(code));
}

/// For what the service alone can tell, and to renew a grant if the policy lets no edge do it. It decides by the path, and knows
/// nothing of a place, whose demands only a policy can check.
int edge_is_asked(int32_t outcome, uint32_t flags, playgate_slice code, int has_place) {
    if (outcome == PLAYGATE_ALLOW) return (flags & PLAYGATE_ANSWER_RENEWAL_DUE) != 0;
    return outcome == PLAYGATE_ASK && !(has_place && edge_same(code, edge_slice("ask_policy_stale")));
}

int edge_status(int32_t status, const char *code) {
    static const struct { const char *code; int status; } known[] = {
        {"unknown_media", 404},     {"invalid_path", 404},             {"internal_failure", 503},
        {"replay_store_full", 503}, {"replay_store_unavailable", 503}, {"gate_overloaded", 503},
    };
    for (size_t place = 0; place < sizeof(known) / sizeof(known[0]); place++)
        if (strcmp(code, known[place].code) == 0) return known[place].status;
    return status == 401 || status == 404 || status == 503 ? status : 403;
}

int edge_is_field_text(playgate_slice text) {
    for (size_t place = 0; place < text.length; place++)
        if (text.bytes[place] < 0x20 || text.bytes[place] > 0x7E) return 0;
    return text.length > 0;
}

static int is_kept(char byte, const char *kept) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9')
        || (byte != '\0' && strchr(kept, byte) != NULL);
}

size_t edge_encode(playgate_slice text, const char *kept, char *buffer, size_t capacity) {
    static const char digits[] = "0123456789ABCDEF";
    size_t length = 0;
    for (size_t place = 0; place < text.length; place++) {
        unsigned char byte = (unsigned char)text.bytes[place];
        if (capacity - length < 3) return 0;
        if (is_kept((char)byte, kept)) {
            buffer[length++] = (char)byte;
            continue;
        }
        buffer[length++] = '%';
        buffer[length++] = digits[byte >> 4];
        buffer[length++] = digits[byte & 15];
    }
    return length;
}

// MARK: Caches

/// Reads one directive of `Cache-Control`: the seconds of `max-age` into `age`. Returns 1 for `no-store`.
static int read_directive(playgate_slice text, char age[11]) {
    static const char name[] = "max-age=";
    if (edge_same_name(text, edge_slice("no-store"))) return 1;
    if (text.length < sizeof(name) || strncasecmp(text.bytes, name, sizeof(name) - 1) != 0) return 0;
    text = edge_after(text, sizeof(name) - 1);
    if (text.length > 10) return 0;
    for (size_t place = 0; place < text.length; place++)
        if (text.bytes[place] < '0' || text.bytes[place] > '9') return 0;
    memcpy(age, text.bytes, text.length);
    age[text.length] = '\0';
    return 0;
}

/// Reads one field of `Cache-Control`. Returns 1 if it forbids to keep the response.
static int forbids(playgate_slice value, char age[11]) {
    while (value.length > 0) {
        size_t length = 0;
        while (length < value.length && value.bytes[length] != ',' && !edge_is_blank(value.bytes[length])) length++;
        if (read_directive((playgate_slice){value.bytes, length}, age)) return 1;
        value = edge_after(value, length < value.length ? length + 1 : length);
    }
    return 0;
}

void edge_cache_control(int status, const playgate_slice *values, size_t count, char text[EDGE_CACHE_CONTROL_SIZE]) {
    char age[11] = "";
    int is_forbidden = count > EDGE_FIELDS_LIMIT || status < 100 || status >= 400;
    for (size_t place = 0; place < count && place < EDGE_FIELDS_LIMIT; place++) is_forbidden |= forbids(values[place], age);
    if (is_forbidden) snprintf(text, EDGE_CACHE_CONTROL_SIZE, "no-store");
    else if (age[0] == '\0') snprintf(text, EDGE_CACHE_CONTROL_SIZE, "private, no-cache");
    else snprintf(text, EDGE_CACHE_CONTROL_SIZE, "private, max-age=%s", age);
}
