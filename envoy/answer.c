// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "playgate_envoy.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

// MARK: Answers

void pe_refuse(pe_filter *filter, const char *code, uint32_t status) {
    filter->outcome = PLAYGATE_REFUSE;
    filter->status = status;
    filter->flags = 0;
    snprintf(filter->code, sizeof(filter->code), "%s", code);
}

/// The status of a refusal, as the service states it in `X-Playgate-Status`.
static uint32_t status_of(int32_t status, const char *code) {
    static const struct { const char *code; uint32_t status; } known[] = {
        {"unknown_media", 404},     {"invalid_path", 404},           {"internal_failure", 503},
        {"replay_store_full", 503}, {"replay_store_unavailable", 503}, {"gate_overloaded", 503},
    };
    for (size_t place = 0; place < sizeof(known) / sizeof(known[0]); place++)
        if (strcmp(code, known[place].code) == 0) return known[place].status;
    return status == 401 ? 401 : 403;
}

/// Copies a text that can be a header field's value; null if it is empty. The library and the service write no others.
static char *copy(playgate_slice text, int *failed) {
    if (text.length == 0) return NULL;
    for (size_t place = 0; place < text.length; place++)
        if (text.bytes[place] < 0x20 || text.bytes[place] > 0x7E) return NULL;
    char *own = strndup(text.bytes, text.length);
    if (own == NULL) *failed = 1;
    return own;
}

void pe_take_grant(pe_filter *filter, playgate_slice grant, playgate_slice set_cookie) {
    int failed = 0;
    free(filter->grant);
    free(filter->set_cookie);
    filter->grant = copy(grant, &failed);
    filter->set_cookie = copy(set_cookie, &failed);
    if (failed) pe_refuse(filter, "internal_failure", 503);
}

void pe_take_answer(pe_filter *filter, const playgate_answer *answer) {
    const char *name = playgate_code_name(answer->code);
    pe_refuse(filter, name == NULL ? "internal_failure" : name, 503);
    if (answer->trace.length == sizeof(filter->trace) - 1) memcpy(filter->trace, answer->trace.bytes, answer->trace.length);
    if (name == NULL) return;
    filter->outcome = answer->outcome;
    filter->flags = answer->flags;
    if (answer->outcome == PLAYGATE_REFUSE) filter->status = status_of(answer->status, name);
    if (answer->grant.length > 0) pe_take_grant(filter, answer->grant, answer->set_cookie);
}

// MARK: Requests

static void remove_field(void *host, int fields, envoy_text name) {
    envoy_dynamic_module_callback_http_set_header(host, fields, name, (envoy_text) {NULL, 0});
}

/// Removes header fields with tokens, and those that the origin would take for the gate's. Returns 0, or -1 if there is no room.
static int remove_secrets(pe_filter *filter, void *host) {
    // A field that is removed takes its name with it, and others of the same name.
    pe_worker *worker = filter->worker;
    envoy_text names[PE_FIELDS_LIMIT];
    size_t count = 0, used = 0;
    for (size_t place = 0; place < worker->field_count; place++) {
        const envoy_field *field = &worker->fields[place];
        if (!pe_is_credential(filter->config, field) && !pe_is_gates(field)) continue;
        if (field->name_length > sizeof(worker->asked) - used) return -1;
        memcpy(worker->asked + used, field->name, field->name_length);
        names[count++] = (envoy_text) {worker->asked + used, field->name_length};
        used += field->name_length;
    }
    for (size_t place = 0; place < count; place++) remove_field(host, ENVOY_REQUEST_FIELDS, names[place]);
    return 0;
}

/// Sets the path for the origin, unless it is the client's. It is copied, since it may be a part of the one that it replaces.
static void set_target(pe_filter *filter, void *host, const playgate_cut *cut) {
    pe_worker *worker = filter->worker;
    playgate_slice target = cut->target;
    const char *query = filter->config->drops_query ? memchr(target.bytes, '?', target.length) : NULL;
    if (query != NULL) target.length = (size_t) (query - target.bytes);
    if (cut->found_count == 0 && query == NULL) return;
    memmove(worker->target, target.bytes, target.length);
    envoy_dynamic_module_callback_http_set_header(host, ENVOY_REQUEST_FIELDS, PE_TEXT(":path"), (envoy_text) {worker->target, target.length});
}

int pe_clean_request(pe_filter *filter, void *host, const playgate_cut *cut) {
    if (cut != NULL) set_target(filter, host, cut);
    if (remove_secrets(filter, host) == 0) return 0;
    pe_refuse(filter, "edge_request_invalid", 403);
    pe_send_refusal(filter, host);
    return -1;
}

static int is_unreserved(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '.'
        || byte == '_' || byte == '~';
}

void pe_name_mvpd(void *host, playgate_slice mvpd, int is_encoded) {
    static const char digits[] = "0123456789ABCDEF";
    char text[PE_TEXT_LIMIT];
    size_t length = 0;
    if (mvpd.length == 0) return;
    for (size_t place = 0; place < mvpd.length; place++) {
        char byte = mvpd.bytes[place];
        if (length + 3 > sizeof(text)) return;
        if (is_unreserved(byte) || (is_encoded && byte == '%')) {
            text[length++] = byte;
        } else {
            text[length++] = '%';
            text[length++] = digits[(unsigned char) byte >> 4];
            text[length++] = digits[byte & 15];
        }
    }
    envoy_dynamic_module_callback_http_set_header(host, ENVOY_REQUEST_FIELDS, PE_TEXT("x-playgate-mvpd"), (envoy_text) {text, length});
}

// MARK: Responses

static envoy_field field(const char *name, const char *value) {
    return (envoy_field) {name, strlen(name), value, strlen(value)};
}

void pe_send_refusal(pe_filter *filter, void *host) {
    uint32_t status = filter->status;
    envoy_field fields[4];
    size_t count = 0;
    if (status != 401 && status != 404 && status != 503) status = 403;
    fields[count++] = field("x-playgate-code", filter->code);
    fields[count++] = field("cache-control", "no-store");
    if (filter->trace[0] != '\0') fields[count++] = field("x-playgate-trace", filter->trace);
    if (status == 401) fields[count++] = field("www-authenticate", "MediaToken");
    envoy_dynamic_module_callback_http_send_response(host, status, fields, count, (envoy_text) {NULL, 0}, PE_TEXT("playgate"));
}

static void set_field(void *host, envoy_text name, const char *value) {
    envoy_dynamic_module_callback_http_set_header(host, ENVOY_RESPONSE_FIELDS, name, (envoy_text) {value, strlen(value)});
}

static void add_field(void *host, envoy_text name, const char *value) {
    envoy_dynamic_module_callback_http_add_header(host, ENVOY_RESPONSE_FIELDS, name, (envoy_text) {value, strlen(value)});
}

/// Reads one directive of `Cache-Control`: the seconds of `max-age` into `age`. Returns 1 for `no-store`.
static int read_directive(const char *bytes, size_t length, char age[11]) {
    static const char name[] = "max-age=";
    size_t start = sizeof(name) - 1, digits = 0;
    if (length == 8 && strncasecmp(bytes, "no-store", length) == 0) return 1;
    if (length <= start || length - start > 10 || strncasecmp(bytes, name, start) != 0) return 0;
    while (start + digits < length && bytes[start + digits] >= '0' && bytes[start + digits] <= '9') digits++;
    if (start + digits != length) return 0;
    memcpy(age, bytes + start, digits);
    age[digits] = '\0';
    return 0;
}

/// Reads one field of `Cache-Control`. Returns 1 if it forbids to keep the response.
static int forbids(envoy_text value, char age[11]) {
    const char *end = value.bytes + value.length;
    for (const char *start = value.bytes; start < end; start++) {
        const char *mark = start;
        while (mark < end && *mark != ',' && *mark != ' ' && *mark != '\t') mark++;
        if (read_directive(start, (size_t) (mark - start), age)) return 1;
        start = mark;
    }
    return 0;
}

/// A player may keep what is protected as the origin says; but no shared cache may, and nobody an error.
static void keep_private(void *host) {
    envoy_text value = {NULL, 0}, name = PE_TEXT("cache-control");
    char age[11] = "", text[40];
    size_t count = 0;
    int is_forbidden = !envoy_dynamic_module_callback_http_get_header(host, ENVOY_RESPONSE_FIELDS, PE_TEXT(":status"), &value, 0, NULL)
        || value.length != 3 || value.bytes[0] >= '4';
    for (size_t place = 0; place == 0 || place < count; place++)
        if (envoy_dynamic_module_callback_http_get_header(host, ENVOY_RESPONSE_FIELDS, name, &value, place, &count) && value.length > 0)
            is_forbidden |= forbids(value, age);
    snprintf(text, sizeof(text), age[0] == '\0' ? "private, no-cache" : "private, max-age=%s", age);
    set_field(host, name, is_forbidden ? "no-store" : text);
    remove_field(host, ENVOY_RESPONSE_FIELDS, PE_TEXT("expires"));
    remove_field(host, ENVOY_RESPONSE_FIELDS, PE_TEXT("set-cookie"));
}

void pe_clean_response(pe_filter *filter, void *host) {
    if (filter->config->is_private) keep_private(host);
    set_field(host, PE_TEXT("x-playgate-code"), filter->code);
    if (filter->trace[0] != '\0') set_field(host, PE_TEXT("x-playgate-trace"), filter->trace);
    if (!filter->config->hands_over_grants || filter->outcome != PLAYGATE_ALLOW) return;
    if (filter->set_cookie != NULL) add_field(host, PE_TEXT("set-cookie"), filter->set_cookie);
    if (!(filter->flags & PLAYGATE_ANSWER_GRANT_HEADER) || filter->grant == NULL) return;
    add_field(host, PE_TEXT("cta-common-access-token"), filter->grant);
    add_field(host, PE_TEXT("common-access-token"), filter->grant);
}
