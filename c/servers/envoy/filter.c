// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// A request from its header to its response.

#include "playgate_envoy.h"

#include <stdlib.h>

/// The filter of a request for which there is no memory: it refuses.
static pge_filter broken = {.outcome = {.status = 503, .code = "internal_failure"}};

const void *envoy_dynamic_module_on_http_filter_new(const void *config, void *host) {
    pge_worker *worker = pge_find_worker(config, host);
    pge_filter *filter = worker == NULL ? NULL : calloc(1, sizeof(*filter));
    if (filter == NULL) return &broken;
    filter->config = config;
    filter->worker = worker;
    return filter;
}

void envoy_dynamic_module_on_http_filter_destroy(const void *data) {
    pge_filter *filter = (pge_filter *)data;
    if (filter == &broken) return;
    free(filter->more_texts);
    free(filter);
}

static int passes(const pge_filter *filter) { return edge_passes(&filter->outcome, filter->config->rule.settings.mode); }

static void report(const pge_filter *filter) {
    if (filter->outcome.outcome == PLAYGATE_ALLOW) return;
    int level = passes(filter) ? ENVOY_LOG_WARN : ENVOY_LOG_INFO;
    if (envoy_dynamic_module_callback_log_enabled(level))
        pge_log(level, "%s by %s", passes(filter) ? "would be refused" : "refused", filter->outcome.code);
}

/// Checks the request, and changes it for the origin. The filters after this one, the origin and the log get no token, whatever was decided.
static void check_request(pge_filter *filter, const pge_hook *hook) {
    pge_worker *worker = filter->worker;
    edge_check check = {.server = &pge_server, .context = (void *)(uintptr_t)hook, .rule = &filter->config->rule};
    check.location = check.rule->location;
    check.location_number = check.rule->location_number;
    check.answer.buffer = worker->texts;
    check.answer.capacity = sizeof(worker->texts);
    int has_fields = pge_read_fields(worker, hook->host) == 0;
    check.target = pge_field(hook, ":path");
    // A sub-request to the service takes as much again.
    edge_check_run(&check, worker->target, has_fields ? sizeof(worker->target) / 2 : 0);
    edge_check_take(&check, &filter->outcome);
    filter->is_asking = check.is_asked && pge_ask(&check) == 0;
    if (pge_clean_request(&check) == 0) return;
    filter->is_asking = 0;
    filter->outcome.is_unreadable = 1;
    edge_refuse(&filter->outcome, "edge_request_invalid", 403);
}

// MARK: Hooks

int envoy_dynamic_module_on_http_filter_request_headers(void *host, const void *data, bool is_last) {
    (void)is_last;
    pge_filter *filter = (pge_filter *)data;
    pge_hook hook = {filter, host};
    if (filter == &broken) {
        pge_send_refusal(&hook);
        return ENVOY_STOP;
    }
    check_request(filter, &hook);
    if (!filter->is_asking) report(filter);
    if (!filter->is_asking && !passes(filter)) {
        pge_send_refusal(&hook);
        return ENVOY_STOP;
    }
    pge_name_mvpd(&hook);
    filter->is_open = 1;
    return filter->is_asking ? ENVOY_HOLD_ALL : ENVOY_GO_ON;
}

void envoy_dynamic_module_on_http_filter_http_callout_done(void *host, const void *data, uint64_t call, int result,
                                                           envoy_field *fields, size_t count, envoy_text *body, size_t pieces) {
    (void)call, (void)body, (void)pieces;
    pge_filter *filter = (pge_filter *)data;
    pge_hook hook = {filter, host};
    if (!filter->is_asking) return;
    filter->is_asking = 0;
    if (result != ENVOY_CALL_ANSWERED || pge_take_asked(&hook, fields, count) != 0) {
        // What the library has allowed stays allowed, and all else is closed.
        if (filter->outcome.outcome != PLAYGATE_ALLOW) pge_log(ENVOY_LOG_ERROR, "the service has not answered (%s)", filter->outcome.code);
    }
    report(filter);
    pge_name_mvpd(&hook);
    if (passes(filter)) {
        envoy_dynamic_module_callback_http_filter_continue_decoding(host);
    } else {
        filter->is_open = 0;
        pge_send_refusal(&hook);
    }
}

int envoy_dynamic_module_on_http_filter_response_headers(void *host, const void *data, bool is_last) {
    (void)is_last;
    pge_hook hook = {(pge_filter *)data, host};
    if (hook.filter->is_open) pge_mark_response(&hook);
    return ENVOY_GO_ON;
}
