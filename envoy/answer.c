// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "playgate_envoy.h"

#include <stdio.h>
#include <stdlib.h>

// MARK: Answers

void pe_refuse(pe_filter *filter, const char *code, uint32_t status) {
    filter->outcome = PLAYGATE_REFUSE;
    filter->status = status;
    filter->flags = 0;
    snprintf(filter->code, sizeof(filter->code), "%s", code);
}

/// Copies a text that can be a header field's value; null if it is empty. The library and the service write no others.
static char *copy(playgate_slice text, int *failed) {
    if (!edge_is_field_text(text)) return NULL;
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
    if (answer->outcome == PLAYGATE_REFUSE) filter->status = (uint32_t) edge_status(answer->status, name);
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
        if (!pe_is_credential(filter->config, field) && !edge_is_own_name((playgate_slice) {field->name, field->name_length}))
            continue;
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

void pe_name_mvpd(void *host, playgate_slice mvpd, int is_encoded) {
    char text[PE_TEXT_LIMIT];
    size_t length = edge_encode(mvpd, is_encoded ? "-._~%" : "-._~", text, sizeof(text));
    if (length == 0) return;
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

/// A player may keep what is protected as the origin says; but no shared cache may, and nobody an error.
static void keep_private(void *host) {
    envoy_text value = {NULL, 0}, name = PE_TEXT("cache-control");
    playgate_slice values[EDGE_FIELDS_LIMIT];
    char text[EDGE_CACHE_CONTROL_SIZE];
    size_t found = 0, count = 0;
    int has_status = envoy_dynamic_module_callback_http_get_header(host, ENVOY_RESPONSE_FIELDS, PE_TEXT(":status"), &value, 0, NULL);
    int status = has_status ? (int) pe_read_status((playgate_slice) {value.bytes, value.length}) : 0;
    for (size_t place = 0; (place == 0 || place < count) && found < EDGE_FIELDS_LIMIT; place++)
        if (envoy_dynamic_module_callback_http_get_header(host, ENVOY_RESPONSE_FIELDS, name, &value, place, &count))
            values[found++] = (playgate_slice) {value.bytes, value.length};
    edge_cache_control(status, values, count > found ? count : found, text);
    set_field(host, name, text);
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
