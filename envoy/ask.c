// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "playgate_envoy.h"

#include <stdlib.h>

// MARK: Request

/// The most header fields of a request to the service.
enum { fields_limit = 64 };

static const char endpoint[] = "/v1/check/envoy";

typedef struct {
    envoy_field all[fields_limit];
    size_t count;
    /// 1 if there were more.
    int overflow;
} fields;

static void add(fields *found, playgate_slice name, playgate_slice value) {
    if (found->count == fields_limit) {
        found->overflow = 1;
        return;
    }
    found->all[found->count++] = (envoy_field) {name.bytes, name.length, value.bytes, value.length};
}

/// A fact that is unknown is not stated.
static void state(fields *found, const char *name, playgate_slice value) {
    if (value.length > 0) add(found, edge_slice(name), value);
}

/// True if the service reads a header field of the client: the fields that the page of `ext_authz` names, and the places of tokens.
static int is_passed(const pe_config *config, const envoy_field *field) {
    static const char *const names[] = {"authorization", "cookie", "cta-common-access-token", "range",
                                        "traceparent",   "user-agent", "x-media-token"};
    for (size_t place = 0; place < sizeof(names) / sizeof(names[0]); place++)
        if (pe_is(field->name, field->name_length, names[place])) return 1;
    return pe_is_credential(config, field);
}

int pe_ask(pe_filter *filter, void *host, const playgate_request *request) {
    pe_worker *worker = filter->worker;
    playgate_slice target = pe_field(worker, ":path");
    size_t start = sizeof(endpoint) - 1;
    fields found = {.count = 0};
    if (start + target.length > sizeof(worker->asked)) return -1;
    memcpy(worker->asked, endpoint, start);
    memcpy(worker->asked + start, target.bytes, target.length);
    add(&found, edge_slice(":method"), request->method);
    add(&found, edge_slice(":path"), (playgate_slice) {worker->asked, start + target.length});
    add(&found, edge_slice("host"), request->host.length > 0 ? request->host : edge_slice("gate"));
    state(&found, "x-forwarded-proto", request->scheme);
    state(&found, "x-envoy-external-address", request->client);
    for (size_t place = 0; place < worker->field_count; place++) {
        const envoy_field *field = &worker->fields[place];
        if (is_passed(filter->config, field))
            add(&found, (playgate_slice) {field->name, field->name_length}, (playgate_slice) {field->value, field->value_length});
    }
    if (found.overflow) return -1;
    uint64_t call = 0;
    int started = envoy_dynamic_module_callback_http_filter_http_callout(
        host, &call, pe_text(filter->config->ask), found.all, found.count, (envoy_text) {NULL, 0}, filter->config->ask_timeout);
    if (started != ENVOY_CALL_STARTED) pe_log(ENVOY_LOG_ERROR, "the service cannot be asked (%d)", started);
    return started == ENVOY_CALL_STARTED ? 0 : -1;
}

// MARK: Answer

/// A header field of the service's answer; empty if there is none, or more than one.
static playgate_slice field_of(const envoy_field *fields, size_t count, const char *name) {
    playgate_slice value = {NULL, 0};
    int found = 0;
    for (size_t place = 0; place < count; place++) {
        if (!pe_is(fields[place].name, fields[place].name_length, name)) continue;
        value = (playgate_slice) {fields[place].value, fields[place].value_length};
        found++;
    }
    return found == 1 ? value : (playgate_slice) {NULL, 0};
}

uint32_t pe_read_status(playgate_slice text) {
    uint32_t status = 0;
    if (text.length != 3) return 0;
    for (size_t place = 0; place < 3; place++) {
        if (text.bytes[place] < '0' || text.bytes[place] > '9') return 0;
        status = status * 10 + (uint32_t) (text.bytes[place] - '0');
    }
    return status;
}

int pe_take_asked(pe_filter *filter, void *host, const envoy_field *fields, size_t count) {
    playgate_slice decision = field_of(fields, count, "x-playgate-decision"), code = field_of(fields, count, "x-playgate-code");
    playgate_slice trace = field_of(fields, count, "x-playgate-trace");
    uint32_t status = pe_read_status(field_of(fields, count, ":status")), stated = pe_read_status(field_of(fields, count, "x-playgate-status"));
    int is_allow = pe_is(decision.bytes, decision.length, "allow") || pe_is(decision.bytes, decision.length, "shadow");
    int allows = status == 200 && is_allow;
    int refuses = (status == 401 || status == 403) && pe_is(decision.bytes, decision.length, "refuse");
    if (code.length == 0 || code.length >= sizeof(filter->code) || (!allows && !refuses)) return 0;
    char name[sizeof(filter->code)] = {0};
    memcpy(name, code.bytes, code.length);
    pe_refuse(filter, name, stated > 0 ? stated : status);
    if (trace.length == sizeof(filter->trace) - 1) memcpy(filter->trace, trace.bytes, trace.length);
    if (refuses) return 1;
    filter->outcome = PLAYGATE_ALLOW;
    if (field_of(fields, count, "cta-common-access-token").length > 0) filter->flags = PLAYGATE_ANSWER_GRANT_HEADER;
    pe_take_grant(filter, field_of(fields, count, "x-playgate-grant"), field_of(fields, count, "x-playgate-set-cookie"));
    pe_name_mvpd(host, field_of(fields, count, "x-playgate-mvpd"), 1);
    return 1;
}
