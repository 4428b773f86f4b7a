// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "playgate_envoy.h"

#include <time.h>

int pe_read_fields(pe_worker *worker, void *host) {
    worker->field_count = envoy_dynamic_module_callback_http_get_headers_size(host, ENVOY_REQUEST_FIELDS);
    if (worker->field_count <= PE_FIELDS_LIMIT && envoy_dynamic_module_callback_http_get_headers(host, ENVOY_REQUEST_FIELDS, worker->fields))
        return 0;
    worker->field_count = 0;
    return -1;
}

size_t pe_field_values(void *context, playgate_slice name, playgate_slice *values, size_t capacity) {
    const pe_worker *worker = context;
    size_t count = 0;
    for (size_t place = 0; place < worker->field_count; place++) {
        const envoy_field *field = &worker->fields[place];
        if (!edge_same_name((playgate_slice) {field->name, field->name_length}, name)) continue;
        if (count < capacity) values[count] = (playgate_slice) {field->value, field->value_length};
        count++;
    }
    return count;
}

playgate_slice pe_field(const pe_worker *worker, const char *name) {
    return edge_first_value(pe_field_values, (void *) worker, name);
}

/// Envoy sets the field by the client's connection, or leaves it as a trusted proxy has set it; a client's own does not arrive.
static playgate_slice scheme_of(const pe_worker *worker) {
    playgate_slice scheme = pe_field(worker, "x-forwarded-proto");
    int is_known = pe_is(scheme.bytes, scheme.length, "http") || pe_is(scheme.bytes, scheme.length, "https");
    return is_known ? scheme : (playgate_slice) {NULL, 0};
}

/// The client's address without its port; empty for a unix socket.
static playgate_slice client_of(void *host) {
    envoy_text text = {NULL, 0};
    playgate_slice none = {NULL, 0};
    if (!envoy_dynamic_module_callback_http_filter_get_attribute_string(host, ENVOY_SOURCE_ADDRESS, &text) || text.length == 0) return none;
    const char *colon = memrchr(text.bytes, ':', text.length);
    if (colon == NULL || text.bytes[0] == '/' || text.bytes[0] == '@') return none;
    playgate_slice address = {text.bytes, (size_t) (colon - text.bytes)};
    if (address.length < 2 || address.bytes[0] != '[' || address.bytes[address.length - 1] != ']') return address;
    return (playgate_slice) {address.bytes + 1, address.length - 2};
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t) time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void pe_fill_request(pe_worker *worker, void *host, playgate_request *request, const playgate_cut *cut) {
    memset(request, 0, sizeof(*request));
    request->size = sizeof(*request);
    // Envoy resolves paths if it is configured to, and forwards what is left as it is.
    request->flags = cut->flags | PLAYGATE_REQUEST_AS_IS | (edge_is_partial(pe_field_values, worker) ? PLAYGATE_REQUEST_PARTIAL : 0);
    request->now = now();
    request->method = pe_field(worker, ":method");
    request->target = cut->target;
    request->scheme = scheme_of(worker);
    request->host = pe_field(worker, ":authority");
    request->client = client_of(host);
    request->header_values = pe_field_values;
    request->header_context = worker;
    request->traceparent = pe_field(worker, "traceparent");
}

int pe_cut_target(const pe_config *config, pe_worker *worker, playgate_cut *cut) {
    playgate_slice target = pe_field(worker, ":path");
    // A question to the service takes as much again.
    if (target.length > EDGE_TARGET_LIMIT / 2) return -1;
    return edge_cut(&config->target, target, worker->target, sizeof(worker->target), cut);
}

int pe_is_credential(const pe_config *config, const envoy_field *field) {
    playgate_slice name = {field->name, field->name_length};
    return edge_is_credential(&config->tokens, name) || edge_is_credential(&config->grants, name);
}
