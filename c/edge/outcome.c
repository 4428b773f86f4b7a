// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// What was decided about a request, in terms of HTTP.

#include "outcome.h"

#include "slice.h"

#include <stdio.h>

// MARK: Taking

/// The status of a refusal, as the service states it.
static int status_of(int32_t status, const char *code) {
    static const struct { const char *code; int status; } known[] = {
        {"unknown_media", 404},     {"invalid_path", 404},             {"internal_failure", 503},
        {"replay_store_full", 503}, {"replay_store_unavailable", 503}, {"gate_overloaded", 503},
    };
    for (size_t at = 0; at < sizeof(known) / sizeof(known[0]); at++)
        if (strcmp(code, known[at].code) == 0) return known[at].status;
    return status == 401 || status == 404 || status == 503 ? status : 403;
}

/// True if a text can be a header field's value. The library and the service write no others.
static int is_field_text(playgate_slice text) {
    for (size_t at = 0; at < text.length; at++)
        if (text.bytes[at] < 0x20 || text.bytes[at] > 0x7E) return 0;
    return text.length > 0;
}

static int is_kept(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9')
        || (byte != '\0' && strchr("-._~:/@+=", byte) != NULL);
}

/// Writes a text with its end, and returns it; null for one that is no header field's value. `end` goes on behind it.
static const char *write_text(char **end, playgate_slice text) {
    const char *start = *end;
    if (!is_field_text(text)) return NULL;
    memcpy(*end, text.bytes, text.length);
    *end += text.length;
    *(*end)++ = '\0';
    return start;
}

/// Writes a text percent-encoded, as the service does it in its header fields.
static const char *write_encoded(char **end, playgate_slice text) {
    static const char digits[] = "0123456789ABCDEF";
    const char *start = *end;
    if (text.length == 0 || text.length > EDGE_TEXT_LIMIT) return NULL;
    for (size_t at = 0; at < text.length; at++) {
        unsigned char byte = (unsigned char)text.bytes[at];
        if (is_kept((char)byte)) {
            *(*end)++ = (char)byte;
            continue;
        }
        *(*end)++ = '%';
        *(*end)++ = digits[byte >> 4];
        *(*end)++ = digits[byte & 15];
    }
    *(*end)++ = '\0';
    return start;
}

void edge_refuse(edge_outcome *outcome, const char *code, int status) {
    unsigned is_unreadable = outcome->is_unreadable;
    memset(outcome, 0, sizeof(*outcome));
    outcome->is_unreadable = is_unreadable;
    outcome->outcome = PLAYGATE_REFUSE;
    outcome->code = code;
    outcome->number = playgate_code_number(slice_of(code));
    outcome->status = status;
}

int edge_take(edge_outcome *outcome, const playgate_answer *answer, edge_allocate allocate, void *context) {
    const char *name = playgate_code_name(answer->code);
    playgate_slice mvpd = answer->mvpd, resource = answer->resource;
    if (mvpd.length > EDGE_TEXT_LIMIT) mvpd.length = 0;
    if (resource.length > EDGE_TEXT_LIMIT) resource.length = 0;
    size_t size = answer->trace.length + answer->session.length + answer->set_cookie.length + answer->grant.length
        + 3 * (mvpd.length + resource.length) + 6;
    char *end = name == NULL ? NULL : allocate(context, size);
    if (end == NULL) {
        edge_refuse(outcome, "internal_failure", 503);
        return -1;
    }
    *outcome = (edge_outcome){.status = 503, .is_unreadable = outcome->is_unreadable};
    outcome->outcome = answer->outcome;
    outcome->number = answer->code;
    outcome->code = name;
    outcome->flags = answer->flags;
    outcome->expires = answer->expires;
    outcome->trace = write_text(&end, answer->trace);
    outcome->session = write_text(&end, answer->session);
    outcome->mvpd = write_encoded(&end, mvpd);
    outcome->resource = write_encoded(&end, resource);
    if (answer->outcome == PLAYGATE_REFUSE) outcome->status = status_of(answer->status, name);
    if (answer->outcome != PLAYGATE_ALLOW) return 0;
    outcome->status = 200;
    outcome->set_cookie = write_text(&end, answer->set_cookie);
    outcome->grant = write_text(&end, answer->grant);
    return 0;
}

// MARK: Responses

int edge_deliver(const edge_outcome *outcome, edge_add_field add, void *context) {
    if (outcome->outcome != PLAYGATE_ALLOW) return 0;
    if (outcome->set_cookie != NULL && add(context, "Set-Cookie", outcome->set_cookie) != 0) return -1;
    if (outcome->grant == NULL || !(outcome->flags & PLAYGATE_ANSWER_GRANT_HEADER)) return 0;
    if (add(context, "CTA-Common-Access-Token", outcome->grant) != 0) return -1;
    return add(context, "Common-Access-Token", outcome->grant);
}

static int mark(const edge_outcome *outcome, edge_add_field set, void *context) {
    if (set(context, "X-Playgate-Code", outcome->code) != 0) return -1;
    return set(context, "X-Playgate-Trace", outcome->trace);
}

int edge_mark_refusal(const edge_outcome *outcome, edge_add_field set, void *context) {
    if (mark(outcome, set, context) != 0 || set(context, "Cache-Control", "no-store") != 0) return -1;
    return outcome->status == 401 ? set(context, "WWW-Authenticate", "MediaToken") : 0;
}

int edge_mark_response(const edge_outcome *outcome, const edge_settings *settings, int status, const playgate_slice *values, size_t count,
                       edge_add_field set, void *context) {
    char text[EDGE_CACHE_CONTROL_SIZE];
    // Before any field is changed: the values may be the server's own memory.
    if (settings->is_private) edge_cache_control(status, values, count, text);
    if (mark(outcome, set, context) != 0) return -1;
    if (!settings->is_private) return 0;
    if (set(context, "Expires", NULL) != 0 || set(context, "Set-Cookie", NULL) != 0) return -1;
    return set(context, "Cache-Control", text);
}

// MARK: Caches

/// What all fields of `Cache-Control` say together.
typedef struct {
    /// The least `max-age`; -1 for none.
    int64_t age;
    unsigned no_store : 1, no_cache : 1, must_revalidate : 1, no_transform : 1, immutable : 1;
} cache_rules;

static void read_directive(playgate_slice text, cache_rules *rules) {
    const char *mark = memchr(text.bytes, '=', text.length);
    playgate_slice name = {text.bytes, mark == NULL ? text.length : (size_t)(mark - text.bytes)};
    if (slice_is_name(name, slice_of("no-store"))) rules->no_store = 1;
    // With names of fields it forbids less, and without them it is safe.
    if (slice_is_name(name, slice_of("no-cache"))) rules->no_cache = 1;
    if (slice_is_name(name, slice_of("must-revalidate"))) rules->must_revalidate = 1;
    if (slice_is_name(name, slice_of("no-transform"))) rules->no_transform = 1;
    if (slice_is_name(name, slice_of("immutable"))) rules->immutable = 1;
    if (mark == NULL || !slice_is_name(name, slice_of("max-age"))) return;
    playgate_slice value = slice_after(text, name.length + 1);
    if (value.length > 2 && value.bytes[0] == '"' && value.bytes[value.length - 1] == '"')
        value = (playgate_slice){value.bytes + 1, value.length - 2};
    int64_t age = slice_number(value, INT64_C(9999999999));
    // What cannot be read is no permission.
    if (age < 0) rules->no_cache = 1;
    else if (rules->age < 0 || age < rules->age) rules->age = age;
}

static void read_field(playgate_slice value, cache_rules *rules) {
    while (value.length > 0) {
        size_t length = 0;
        int is_quoted = 0;
        for (; length < value.length && (is_quoted || value.bytes[length] != ','); length++)
            if (value.bytes[length] == '"') is_quoted = !is_quoted;
        playgate_slice directive = slice_trimmed((playgate_slice){value.bytes, length});
        if (directive.length > 0) read_directive(directive, rules);
        value = slice_after(value, length < value.length ? length + 1 : length);
    }
}

void edge_cache_control(int status, const playgate_slice *values, size_t count, char text[EDGE_CACHE_CONTROL_SIZE]) {
    cache_rules rules = {.age = -1};
    for (size_t at = 0; at < count && at < EDGE_FIELDS_LIMIT; at++) read_field(values[at], &rules);
    if (rules.no_store || count > EDGE_FIELDS_LIMIT || status < 100 || status >= 400) {
        snprintf(text, EDGE_CACHE_CONTROL_SIZE, "no-store");
        return;
    }
    int length = snprintf(text, EDGE_CACHE_CONTROL_SIZE, "private%s", rules.no_cache || rules.age < 0 ? ", no-cache" : "");
    if (rules.age >= 0) length += snprintf(text + length, EDGE_CACHE_CONTROL_SIZE - (size_t)length, ", max-age=%lld", (long long)rules.age);
    snprintf(text + length, EDGE_CACHE_CONTROL_SIZE - (size_t)length, "%s%s%s", rules.must_revalidate ? ", must-revalidate" : "",
             rules.no_transform ? ", no-transform" : "", rules.immutable ? ", immutable" : "");
}
