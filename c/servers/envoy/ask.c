// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The request to the service: a call of Envoy's.

#include "playgate_envoy.h"

#include <slice.h>

static envoy_field field(playgate_slice name, playgate_slice value) {
    return (envoy_field){name.bytes, name.length, value.bytes, value.length};
}

int pge_ask(const edge_check *check) {
    const pge_hook *hook = check->context;
    pge_worker *worker = hook->filter->worker;
    playgate_subrequest subrequest = {.size = sizeof(subrequest)};
    envoy_field fields[PLAYGATE_SUBREQUEST_FIELDS + 3];
    size_t count = 0, length;
    if (edge_check_subrequest(check, &subrequest) != 0) return -1;
    length = subrequest.path.length + subrequest.target.length;
    if (length > sizeof(worker->asked)) return -1;
    memcpy(worker->asked, subrequest.path.bytes, subrequest.path.length);
    memcpy(worker->asked + subrequest.path.length, subrequest.target.bytes, subrequest.target.length);
    fields[count++] = field(slice_of(":method"), check->request.method);
    fields[count++] = field(slice_of(":path"), (playgate_slice){worker->asked, length});
    fields[count++] = field(slice_of("host"), check->request.host.length > 0 ? check->request.host : slice_of("gate"));
    for (uint32_t at = 0; at < subrequest.field_count; at++)
        fields[count++] = field(subrequest.fields[at].name, subrequest.fields[at].value);
    const edge_settings *settings = &check->rule->settings;
    uint64_t call = 0;
    int started = envoy_dynamic_module_callback_http_filter_http_callout(hook->host, &call, pge_text(slice_of(settings->ask)), fields, count,
                                                                         (envoy_text){NULL, 0}, settings->ask_timeout);
    if (started == ENVOY_CALL_STARTED) return 0;
    pge_log(ENVOY_LOG_ERROR, "the service cannot be asked (%d)", started);
    return -1;
}

// MARK: The answer

typedef struct {
    const envoy_field *fields;
    size_t count;
} response;

static size_t values(void *context, playgate_slice name, playgate_slice *found, size_t capacity) {
    const response *response = context;
    return pge_values(response->fields, response->count, name, found, capacity);
}

int pge_take_asked(const pge_hook *hook, const envoy_field *fields, size_t count) {
    pge_filter *filter = hook->filter;
    response from = {fields, count};
    playgate_answer answer = {.size = sizeof(answer), .buffer = filter->worker->texts, .capacity = sizeof(filter->worker->texts)};
    int64_t status = slice_number(edge_first_value(values, &from, ":status"), 599);
    if (playgate_subrequest_read((int32_t)status, values, &from, &answer) != PLAYGATE_OK) return -1;
    edge_take(&filter->outcome, &answer, pge_server.allocate, (void *)(uintptr_t)hook);
    return 0;
}
