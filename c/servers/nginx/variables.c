// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

/// The context that a variable speaks of: the request's own, or in a sub-request without one that of the main request.
static pgn_ctx *decided_ctx(ngx_http_request_t *r) {
    pgn_ctx *ctx = pgn_find_ctx(r);
    if ((ctx == NULL || !ctx->decided) && r != r->main) ctx = pgn_find_ctx(r->main);
    return ctx != NULL && ctx->decided ? ctx : NULL;
}

static void set_present(ngx_http_variable_value_t *value, ngx_str_t text) {
    value->valid = 1;
    value->no_cacheable = 0;
    value->not_found = 0;
    value->data = text.data;
    value->len = (unsigned) text.len;
}

static ngx_int_t set_absent(ngx_http_variable_value_t *value) {
    value->not_found = 1;
    return NGX_OK;
}

/// A text of the outcome, which is a header field's value as it stands.
static ngx_int_t outcome_text(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t offset) {
    pgn_ctx *ctx = decided_ctx(r);
    const char *text = ctx == NULL ? NULL : *(const char **) ((char *) &ctx->outcome + offset);
    if (text == NULL) return set_absent(value);
    set_present(value, pgn_string(slice_of(text)));
    return NGX_OK;
}

static ngx_int_t expires_text(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t offset) {
    pgn_ctx *ctx = decided_ctx(r);
    if (ctx == NULL || ctx->outcome.expires <= 0) return set_absent(value);
    ngx_str_t text = {0, ngx_pnalloc(r->pool, NGX_INT64_LEN)};
    if (text.data == NULL) return NGX_ERROR;
    text.len = (size_t) (ngx_sprintf(text.data, "%L", ctx->outcome.expires) - text.data);
    set_present(value, text);
    return NGX_OK;
}

/// Of the request itself: a sub-request has a path of its own.
static ngx_int_t path_text(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t offset) {
    pgn_ctx *ctx = pgn_find_ctx(r);
    if (ctx == NULL || ctx->path.len == 0 || pgn_match_spelling(r, ctx->path) != NGX_OK) return set_absent(value);
    set_present(value, ctx->path);
    return NGX_OK;
}

static ngx_http_variable_t variables[] = {
    {ngx_string("playgate_path"), NULL, path_text, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_code"), NULL, outcome_text, offsetof(edge_outcome, code), NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_trace"), NULL, outcome_text, offsetof(edge_outcome, trace), NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_session"), NULL, outcome_text, offsetof(edge_outcome, session), NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_mvpd"), NULL, outcome_text, offsetof(edge_outcome, mvpd), NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_resource"), NULL, outcome_text, offsetof(edge_outcome, resource), NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_client_key"), NULL, pgn_client_key, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_observer"), NULL, pgn_observer_name, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_expires"), NULL, expires_text, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
};

ngx_int_t pgn_add_variables(ngx_conf_t *cf) {
    for (size_t at = 0; at < sizeof(variables) / sizeof(variables[0]); at++) {
        ngx_http_variable_t *variable = ngx_http_add_variable(cf, &variables[at].name, variables[at].flags);
        if (variable == NULL) return NGX_ERROR;
        variable->get_handler = variables[at].get_handler;
        variable->data = variables[at].data;
    }
    return NGX_OK;
}
