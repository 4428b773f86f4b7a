// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

// MARK: The sub-request

static ngx_int_t note_answer(ngx_http_request_t *r, void *data, ngx_int_t result) {
    pgn_ctx *ctx = data;
    ctx->answered = 1;
    return result;
}

/// Variables for a sub-request alone: what was evaluated for another target must not reach the service.
static ngx_http_variable_value_t *separate_variables(ngx_http_request_t *r) {
    ngx_http_core_main_conf_t *core = ngx_http_get_module_main_conf(r, ngx_http_core_module);
    pgn_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_playgate_module);
    size_t count = core->variables.nelts;
    ngx_http_variable_value_t *variables = ngx_pcalloc(r->pool, count * sizeof(ngx_http_variable_value_t));
    // Those of a main request are about the same target, but for the line that was cut.
    if (variables == NULL || r != r->main) return variables;
    ngx_memcpy(variables, r->variables, count * sizeof(ngx_http_variable_value_t));
    variables[conf->request_uri_index].valid = 0;
    variables[conf->request_uri_index].not_found = 0;
    return variables;
}

/// Starts the sub-request to the service. The location states the request as for `auth_request`: its `$request_uri` is the target
/// that is checked, with its tokens.
ngx_int_t pgn_ask(ngx_http_request_t *r, const pgn_loc_conf *conf, pgn_ctx *ctx) {
    ngx_http_request_t *asked = NULL;
    ngx_str_t location = conf->ask;
    ngx_http_post_subrequest_t *post = ngx_palloc(r->pool, sizeof(*post));
    ngx_http_request_body_t *body = ngx_pcalloc(r->pool, sizeof(*body));
    // All that it needs is there before it starts: a sub-request that has started runs, and would be checked as a client's.
    ngx_http_variable_value_t *variables = separate_variables(r);
    pgn_ctx *mark = pgn_allocate_ctx(r);
    if (post == NULL || body == NULL || variables == NULL || mark == NULL) return NGX_ERROR;
    post->handler = note_answer;
    post->data = ctx;
    ctx->answered = 0;
    if (ngx_http_subrequest(r, &location, NULL, &asked, post, NGX_HTTP_SUBREQUEST_WAITED) != NGX_OK) return NGX_ERROR;
    asked->header_only = 1;
    asked->request_body = body;
    asked->unparsed_uri = ctx->target;
    asked->variables = variables;
    mark->request = asked;
    mark->is_ask = 1;
    mark->conf = conf;
    mark->observed = ctx->observed;
    ngx_http_set_ctx(asked, mark, ngx_http_playgate_module);
    ctx->asked = asked;
    ctx->asking = 1;
    return NGX_OK;
}

// MARK: The answer

/// Memory for the texts of an answer, which are copied. A worker has one thread.
static char buffer[PLAYGATE_BUFFER_SIZE];

/// The values of a header field of the service's response. `context` is a ngx_http_upstream_t.
static size_t values(void *context, playgate_slice name, playgate_slice *found, size_t capacity) {
    return pgn_values(&((const ngx_http_upstream_t *) context)->headers_in.headers, name, found, capacity);
}

/// Takes what the service has said. Without an answer, what the library has allowed stays allowed, and all else is closed.
void pgn_take_asked(ngx_http_request_t *r, pgn_ctx *ctx) {
    const pgn_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_playgate_module);
    playgate_answer answer = {.size = sizeof(answer), .buffer = buffer, .capacity = sizeof(buffer)};
    ngx_http_request_t *asked = ctx->asked;
    pgn_checked checked = {r, ctx->conf};
    ctx->asked = NULL;
    if (asked != NULL && asked->upstream != NULL
        && playgate_subrequest_read((int32_t) asked->headers_out.status, values, asked->upstream, &answer) == PLAYGATE_OK) {
        pgn_count_event(conf, answer.outcome == PLAYGATE_ALLOW ? PGN_ASK_ALLOWED : PGN_ASK_REFUSED);
        edge_take(&ctx->outcome, &answer, pgn_server.allocate, &checked);
        return;
    }
    pgn_count_event(conf, PGN_ASK_FAILED);
    if (ctx->outcome.outcome != PLAYGATE_ALLOW)
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0, "playgate: the service has not answered (%s)", ctx->outcome.code);
}
