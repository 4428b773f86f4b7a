// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// What the client sees.

#include "playgate_envoy.h"

#include <slice.h>

// MARK: Refusals

typedef struct {
    envoy_field fields[4];
    size_t count;
} refusal;

static int add_field(void *context, const char *name, const char *value) {
    refusal *refusal = context;
    if (value == NULL) return 0;
    if (refusal->count == sizeof(refusal->fields) / sizeof(refusal->fields[0])) return -1;
    refusal->fields[refusal->count++] = (envoy_field){name, strlen(name), value, strlen(value)};
    return 0;
}

void pge_send_refusal(const pge_hook *hook) {
    refusal refusal = {.count = 0};
    const edge_outcome *outcome = &hook->filter->outcome;
    edge_mark_refusal(outcome, add_field, &refusal);
    envoy_dynamic_module_callback_http_send_response(hook->host, (uint32_t)outcome->status, refusal.fields, refusal.count,
                                                     (envoy_text){NULL, 0}, (envoy_text){"playgate", 8});
}

// MARK: Responses

static int set_field(void *context, const char *name, const char *value) {
    pge_set_field(context, ENVOY_RESPONSE_FIELDS, name, value);
    return 0;
}

/// Several of a name may stand beside each other.
static int append_field(void *context, const char *name, const char *value) {
    envoy_dynamic_module_callback_http_add_header(context, ENVOY_RESPONSE_FIELDS, pge_text(slice_of(name)), pge_text(slice_of(value)));
    return 0;
}

static int status_of(void *host) {
    envoy_text value = {NULL, 0};
    if (!envoy_dynamic_module_callback_http_get_header(host, ENVOY_RESPONSE_FIELDS, (envoy_text){":status", 7}, &value, 0, NULL)) return 0;
    return (int)slice_number((playgate_slice){value.bytes, value.length}, 999);
}

void pge_mark_response(const pge_hook *hook) {
    const pge_filter *filter = hook->filter;
    const edge_settings *settings = &filter->config->rule.settings;
    envoy_text value = {NULL, 0}, name = {"cache-control", 13};
    playgate_slice values[EDGE_FIELDS_LIMIT];
    size_t found = 0, count = 0;
    for (size_t at = 0; settings->is_private && (at == 0 || at < count) && found < EDGE_FIELDS_LIMIT; at++)
        if (envoy_dynamic_module_callback_http_get_header(hook->host, ENVOY_RESPONSE_FIELDS, name, &value, at, &count))
            values[found++] = (playgate_slice){value.bytes, value.length};
    edge_mark_response(&filter->outcome, settings, status_of(hook->host), values, count > found ? count : found, set_field, hook->host);
    if (settings->sets_cookie) edge_deliver(&filter->outcome, append_field, hook->host);
}
