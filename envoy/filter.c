// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "playgate_envoy.h"

#include <stdlib.h>

/// The filter of a request for which there is no memory: it refuses.
static pe_filter broken = {.status = 503, .code = "internal_failure"};

const void *envoy_dynamic_module_on_http_filter_new(const void *config, void *host) {
    pe_worker *worker = pe_find_worker(config, host);
    pe_filter *filter = worker == NULL ? NULL : calloc(1, sizeof(*filter));
    if (filter == NULL) return &broken;
    filter->config = config;
    filter->worker = worker;
    return filter;
}

void envoy_dynamic_module_on_http_filter_destroy(const void *data) {
    pe_filter *filter = (pe_filter *) data;
    if (filter == &broken) return;
    pe_take_grant(filter, (playgate_slice) {NULL, 0}, (playgate_slice) {NULL, 0});
    free(filter);
}

// MARK: Decision

/// Decides by the policy of the configuration.
static void decide(pe_filter *filter, const playgate_request *request, playgate_answer *answer) {
    const pe_config *config = filter->config;
    playgate_engine *engine = playgate_follower_engine(config->follower);
    playgate_memo *memo = filter->worker->memo;
    if (engine == NULL) {
        pe_refuse(filter, "ask_policy_stale", 503);
        filter->outcome = PLAYGATE_ASK;
        return;
    }
    if (memo == NULL || !playgate_memo_find(memo, 0, playgate_engine_generation(engine), request, answer)) {
        if (playgate_check(engine, config->place, request, answer) == PLAYGATE_OK && memo != NULL)
            playgate_memo_keep(memo, 0, request, answer);
    }
    pe_take_answer(filter, answer);
}

static void check(pe_filter *filter, playgate_request *request, const playgate_cut *cut, playgate_answer *answer) {
    const pe_config *config = filter->config;
    edge_values tokens, grants;
    edge_find_values(&config->tokens, &config->target, cut, pe_field_values, filter->worker, &tokens);
    edge_find_values(&config->grants, &config->target, cut, pe_field_values, filter->worker, &grants);
    if (tokens.overflow) {
        pe_refuse(filter, "token_conflict", 403);
        return;
    }
    request->tokens = tokens.values;
    request->token_count = tokens.count;
    request->grants = grants.values;
    request->grant_count = grants.count;
    if (filter->worker->memo == NULL) request->flags |= PLAYGATE_REQUEST_NOT_KEPT;
    decide(filter, request, answer);
    request->tokens = request->grants = NULL;
    request->token_count = request->grant_count = 0;
}

/// True if the service is to be asked.
static int is_asked(const pe_filter *filter) {
    return filter->config->ask.length > 0
        && edge_is_asked(filter->outcome, filter->flags, edge_slice(filter->code), filter->config->place != NULL);
}

static void report(const pe_filter *filter) {
    if (filter->outcome == PLAYGATE_ALLOW) return;
    int is_shadow = filter->config->is_shadow, level = is_shadow ? ENVOY_LOG_WARN : ENVOY_LOG_INFO;
    if (envoy_dynamic_module_callback_log_enabled(level)) pe_log(level, "%s by %s", is_shadow ? "would be refused" : "refused", filter->code);
}

static int is_open(const pe_filter *filter) { return filter->outcome == PLAYGATE_ALLOW || filter->config->is_shadow; }

/// Checks the request, and changes it for the origin or refuses it.
static int begin(pe_filter *filter, void *host) {
    pe_worker *worker = filter->worker;
    playgate_answer answer = {.size = sizeof(answer), .buffer = worker->texts, .capacity = sizeof(worker->texts)};
    playgate_cut cut;
    playgate_request request;
    int is_readable = pe_read_fields(worker, host) == 0 && pe_cut_target(filter->config, worker, &cut) == 0;
    if (is_readable) {
        pe_fill_request(worker, host, &request, &cut);
        check(filter, &request, &cut, &answer);
        filter->is_asking = is_asked(filter) && pe_ask(filter, host, &request) == 0;
    } else {
        pe_refuse(filter, "edge_request_invalid", 403);
    }
    // The filters after this one, the origin and the log get no token, whatever was decided.
    if (pe_clean_request(filter, host, is_readable ? &cut : NULL) != 0) {
        filter->is_asking = 0;
        return ENVOY_STOP;
    }
    if (!filter->is_asking) report(filter);
    // Nobody knows what the origin would read, and which tokens are in it: this is closed in shadow mode too.
    if (!filter->is_asking && (!is_readable || !is_open(filter))) {
        pe_send_refusal(filter, host);
        return ENVOY_STOP;
    }
    if (filter->outcome == PLAYGATE_ALLOW) pe_name_mvpd(host, answer.mvpd, 0);
    filter->is_open = 1;
    return filter->is_asking ? ENVOY_HOLD_ALL : ENVOY_GO_ON;
}

// MARK: Hooks

int envoy_dynamic_module_on_http_filter_request_headers(void *host, const void *data, bool is_last) {
    (void) is_last;
    pe_filter *filter = (pe_filter *) data;
    if (filter != &broken) return begin(filter, host);
    pe_send_refusal(filter, host);
    return ENVOY_STOP;
}

void envoy_dynamic_module_on_http_filter_http_callout_done(void *host, const void *data, uint64_t call, int result,
                                                           envoy_field *fields, size_t count, envoy_text *body, size_t pieces) {
    (void) call, (void) body, (void) pieces;
    pe_filter *filter = (pe_filter *) data;
    if (!filter->is_asking) return;
    filter->is_asking = 0;
    if (result != ENVOY_CALL_ANSWERED || !pe_take_asked(filter, host, fields, count)) {
        // What the library has allowed stays allowed, and all else is closed.
        if (filter->outcome != PLAYGATE_ALLOW) pe_log(ENVOY_LOG_ERROR, "the service has not answered (%s)", filter->code);
    }
    report(filter);
    if (is_open(filter)) {
        envoy_dynamic_module_callback_http_filter_continue_decoding(host);
    } else {
        filter->is_open = 0;
        pe_send_refusal(filter, host);
    }
}

int envoy_dynamic_module_on_http_filter_response_headers(void *host, const void *data, bool is_last) {
    (void) is_last;
    pe_filter *filter = (pe_filter *) data;
    if (filter->is_open) pe_clean_response(filter, host);
    return ENVOY_GO_ON;
}
