// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The facts of a request, and what is changed in it.

#include "playgate_envoy.h"

#include <slice.h>

#include <ctype.h>
#include <stdlib.h>

// MARK: Fields

int pge_read_fields(pge_worker *worker, void *host) {
    worker->field_count = envoy_dynamic_module_callback_http_get_headers_size(host, ENVOY_REQUEST_FIELDS);
    if (worker->field_count <= PGE_FIELDS_LIMIT && envoy_dynamic_module_callback_http_get_headers(host, ENVOY_REQUEST_FIELDS, worker->fields))
        return 0;
    worker->field_count = 0;
    return -1;
}

size_t pge_values(const envoy_field *fields, size_t field_count, playgate_slice name, playgate_slice *values, size_t capacity) {
    size_t count = 0;
    for (size_t index = 0; index < field_count; index++) {
        if (!slice_is_name(pge_name_of(&fields[index]), name)) continue;
        if (count < capacity) values[count] = pge_value_of(&fields[index]);
        count++;
    }
    return count;
}

static size_t values(void *context, playgate_slice name, playgate_slice *found, size_t capacity) {
    const pge_worker *worker = ((const pge_hook *)context)->filter->worker;
    return pge_values(worker->fields, worker->field_count, name, found, capacity);
}

playgate_slice pge_field(const pge_hook *hook, const char *name) { return edge_first_value(values, (void *)(uintptr_t)hook, name); }

// MARK: Facts

/// Envoy sets the field by the client's connection, or leaves it as a trusted proxy has set it; a client's own does not arrive.
static playgate_slice scheme_of(const pge_hook *hook) {
    playgate_slice scheme = pge_field(hook, "x-forwarded-proto");
    return slice_is(scheme, slice_of("http")) || slice_is(scheme, slice_of("https")) ? scheme : slice_of(NULL);
}

/// The client's address without its port; empty for a unix socket.
static playgate_slice client_of(void *host) {
    envoy_text text = {NULL, 0};
    if (!envoy_dynamic_module_callback_http_filter_get_attribute_string(host, ENVOY_SOURCE_ADDRESS, &text) || text.length == 0)
        return slice_of(NULL);
    const char *colon = memrchr(text.bytes, ':', text.length);
    if (colon == NULL || text.bytes[0] == '/' || text.bytes[0] == '@') return slice_of(NULL);
    playgate_slice address = {text.bytes, (size_t)(colon - text.bytes)};
    if (address.length < 2 || address.bytes[0] != '[' || address.bytes[address.length - 1] != ']') return address;
    return (playgate_slice){address.bytes + 1, address.length - 2};
}

static int state(void *context, playgate_request *facts) {
    const pge_hook *hook = context;
    facts->method = pge_field(hook, ":method");
    facts->scheme = scheme_of(hook);
    facts->host = pge_field(hook, ":authority");
    facts->client = client_of(hook->host);
    return 0;
}

// MARK: Changes

void pge_set_field(void *host, int fields, const char *name, const char *value) {
    char lower[64];
    size_t length = 0;
    for (; name[length] != '\0' && length < sizeof(lower); length++) lower[length] = (char)tolower((unsigned char)name[length]);
    envoy_dynamic_module_callback_http_set_header(host, fields, (envoy_text){lower, length}, pge_text(slice_of(value)));
}

static void remove_field(void *context, playgate_slice name) {
    const pge_hook *hook = context;
    envoy_dynamic_module_callback_http_set_header(hook->host, ENVOY_REQUEST_FIELDS, pge_text(name), (envoy_text){NULL, 0});
}

/// Removes what the origin would take for the gate's. Returns 0, or -1 if there is no room.
static int remove_own_fields(const pge_hook *hook) {
    // A field that is removed takes its name with it, and others of the same name.
    pge_worker *worker = hook->filter->worker;
    playgate_slice names[PGE_FIELDS_LIMIT];
    size_t count = 0, used = 0;
    for (size_t at = 0; at < worker->field_count; at++) {
        playgate_slice name = pge_name_of(&worker->fields[at]);
        if (!edge_is_own_name(name)) continue;
        if (name.length > sizeof(worker->asked) - used) return -1;
        memcpy(worker->asked + used, name.bytes, name.length);
        names[count++] = (playgate_slice){worker->asked + used, name.length};
        used += name.length;
    }
    for (size_t at = 0; at < count; at++) remove_field((void *)(uintptr_t)hook, names[at]);
    return 0;
}

/// Sets the path for the origin, unless it is the client's. It is copied, since it may be a part of the one that it replaces.
static void set_target(const edge_check *check) {
    const pge_hook *hook = check->context;
    pge_worker *worker = hook->filter->worker;
    playgate_slice target = check->cut.target;
    const char *query = check->rule->settings.drops_query && target.length > 0 ? memchr(target.bytes, '?', target.length) : NULL;
    if (query != NULL) target.length = (size_t)(query - target.bytes);
    if (check->cut.found_count == 0 && query == NULL) return;
    memmove(worker->target, target.bytes, target.length);
    envoy_dynamic_module_callback_http_set_header(hook->host, ENVOY_REQUEST_FIELDS, (envoy_text){":path", 5},
                                                  (envoy_text){worker->target, target.length});
}

int pge_clean_request(const edge_check *check) {
    const pge_hook *hook = check->context;
    if (!check->is_unreadable) set_target(check);
    // No log may show what was not read.
    else pge_set_field(hook->host, ENVOY_REQUEST_FIELDS, ":path", "/");
    int result = remove_own_fields(hook);
    edge_check_remove_fields(check, 0);
    return result;
}

void pge_name_mvpd(const pge_hook *hook) {
    const edge_outcome *outcome = &hook->filter->outcome;
    if (outcome->outcome == PLAYGATE_ALLOW && outcome->mvpd != NULL)
        pge_set_field(hook->host, ENVOY_REQUEST_FIELDS, "x-playgate-mvpd", outcome->mvpd);
}

// MARK: The server

static void *allocate(void *context, size_t size) {
    pge_filter *filter = ((const pge_hook *)context)->filter;
    if (size <= sizeof(filter->texts)) return filter->texts;
    free(filter->more_texts);
    return filter->more_texts = malloc(size);
}

const edge_server pge_server = {
    // Envoy resolves paths if it is configured to, and forwards what is left as it is.
    .flags = PLAYGATE_REQUEST_AS_IS,
    .dialect = PLAYGATE_ENVOY,
    .values = values,
    .state = state,
    .allocate = allocate,
    .remove_field = remove_field,
};
