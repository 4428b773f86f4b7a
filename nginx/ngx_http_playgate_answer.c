// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

// MARK: Contexts

/// Does nothing: it marks a context in the cleanups of the request's pool, which an internal redirect does not clear.
static void keep_ctx(void *data) {}

pg_ctx *pg_find_ctx(ngx_http_request_t *r) {
    pg_ctx *ctx = ngx_http_get_module_ctx(r, ngx_http_playgate_module);
    if (ctx != NULL || !(r->internal || r->filter_finalize)) return ctx;
    for (ngx_pool_cleanup_t *cleanup = r->pool->cleanup; cleanup != NULL; cleanup = cleanup->next) {
        ctx = cleanup->data;
        if (cleanup->handler == keep_ctx && ctx->request == r) return ctx;
    }
    return NULL;
}

pg_ctx *pg_allocate_ctx(ngx_http_request_t *r) {
    ngx_pool_cleanup_t *cleanup = ngx_pool_cleanup_add(r->pool, sizeof(pg_ctx));
    if (cleanup == NULL) return NULL;
    pg_ctx *ctx = cleanup->data;
    ngx_memzero(ctx, sizeof(*ctx));
    cleanup->handler = keep_ctx;
    return ctx;
}

pg_ctx *pg_create_ctx(ngx_http_request_t *r) {
    pg_ctx *ctx = pg_allocate_ctx(r);
    if (ctx == NULL) return NULL;
    ctx->request = r;
    ngx_http_set_ctx(r, ctx, ngx_http_playgate_module);
    return ctx;
}

// MARK: Answers

void pg_refuse(pg_ctx *ctx, const char *code, ngx_uint_t status) {
    ctx->outcome = PLAYGATE_REFUSE;
    ctx->status = status;
    ctx->flags = 0;
    ctx->code.data = (u_char *) code;
    ctx->code.len = ngx_strlen(code);
    ctx->number = 0;
    ctx->decided = 1;
}

/// A text of an answer that variables show; empty if it is too long for them.
static ngx_str_t shown(ngx_http_request_t *r, playgate_slice text, ngx_int_t *failed) {
    ngx_str_t none = ngx_null_string;
    return text.length > PG_TEXT_LIMIT ? none : pg_copy(r->pool, pg_string(text), failed);
}

/// Copies what the answer says. Without memory the request is refused.
ngx_int_t pg_take_answer(ngx_http_request_t *r, pg_ctx *ctx, const playgate_answer *answer) {
    const char *name = playgate_code_name(answer->code);
    ngx_int_t failed = name == NULL;
    ngx_str_t none = ngx_null_string;
    pg_refuse(ctx, failed ? "internal_failure" : name, NGX_HTTP_SERVICE_UNAVAILABLE);
    ctx->encoded = 0;
    ctx->expires = answer->expires;
    ctx->trace = shown(r, answer->trace, &failed);
    ctx->session = shown(r, answer->session, &failed);
    ctx->mvpd = shown(r, answer->mvpd, &failed);
    ctx->resource = shown(r, answer->resource, &failed);
    ctx->grant = pg_copy(r->pool, pg_string(answer->grant), &failed);
    ctx->set_cookie = pg_copy(r->pool, pg_string(answer->set_cookie), &failed);
    if (failed) {
        ctx->grant = ctx->set_cookie = none;
        return NGX_ERROR;
    }
    ctx->outcome = answer->outcome;
    ctx->number = answer->code;
    ctx->flags = answer->flags;
    if (answer->outcome == PLAYGATE_REFUSE) ctx->status = (ngx_uint_t) edge_status(answer->status, name);
    return NGX_OK;
}

// MARK: Responses

static ngx_int_t add_header(ngx_http_request_t *r, const char *name, ngx_str_t value) {
    ngx_table_elt_t *header = ngx_list_push(&r->headers_out.headers);
    if (header == NULL) return NGX_ERROR;
    ngx_memzero(header, sizeof(*header));
    header->key.data = (u_char *) name;
    header->key.len = ngx_strlen(name);
    header->value = value;
    header->hash = 1;
    return NGX_OK;
}

/// Hands a new grant to the player. It is lost if the response of a sub-request's main request has begun.
static ngx_int_t deliver(ngx_http_request_t *r, const pg_ctx *ctx) {
    if (edge_is_field_text(pg_slice(ctx->set_cookie)) && add_header(r->main, "Set-Cookie", ctx->set_cookie) != NGX_OK) return NGX_ERROR;
    if (!(ctx->flags & PLAYGATE_ANSWER_GRANT_HEADER) || !edge_is_field_text(pg_slice(ctx->grant))) return NGX_OK;
    if (add_header(r->main, "CTA-Common-Access-Token", ctx->grant) != NGX_OK) return NGX_ERROR;
    return add_header(r->main, "Common-Access-Token", ctx->grant);
}

static ngx_int_t refuse(ngx_http_request_t *r, const pg_ctx *ctx, ngx_int_t is_new) {
    static ngx_str_t scheme = ngx_string("MediaToken");
    ngx_uint_t status = ctx->status;
    if (status != NGX_HTTP_UNAUTHORIZED && status != NGX_HTTP_NOT_FOUND && status != NGX_HTTP_SERVICE_UNAVAILABLE)
        status = NGX_HTTP_FORBIDDEN;
    if (status == NGX_HTTP_UNAUTHORIZED && is_new && r == r->main && add_header(r, "WWW-Authenticate", scheme) != NGX_OK)
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    return (ngx_int_t) status;
}

/// Notes what was decided: once for a request that is redirected.
static void report(ngx_http_request_t *r, pg_loc_conf *conf, pg_ctx *ctx) {
    pg_count_answer(ngx_http_get_module_main_conf(r, ngx_http_playgate_module), ctx, conf->mode);
    if (ctx->outcome == PLAYGATE_ALLOW) return;
    ngx_int_t passes = conf->mode == PG_SHADOW && !ctx->unreadable;
    ngx_uint_t level = passes ? NGX_LOG_WARN : NGX_LOG_INFO;
    ngx_log_error(level, r->connection->log, 0, "playgate: %s by %V", passes ? "would be refused" : "refused", &ctx->code);
}

/// Returns NGX_DECLINED to go on: the handlers after this one decide too, in the access phase and in the one before it.
ngx_int_t pg_finish(ngx_http_request_t *r, pg_loc_conf *conf, pg_ctx *ctx) {
    ngx_int_t is_new = !ctx->finished, is_lost = 0;
    ctx->finished = 1;
    if (is_new) report(r, conf, ctx);
    if (is_new && ctx->outcome == PLAYGATE_ALLOW && conf->set_cookie) is_lost = deliver(r, ctx) != NGX_OK;
    // Nobody knows what the origin would read, and which tokens are in it: this is closed in shadow mode too.
    if (conf->mode == PG_SHADOW && !ctx->unreadable) return NGX_DECLINED;
    if (ctx->outcome != PLAYGATE_ALLOW) return refuse(r, ctx, is_new);
    return is_lost ? NGX_HTTP_SERVICE_UNAVAILABLE : NGX_DECLINED;
}
