// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

// MARK: Contexts

/// Does nothing: it marks a context in the cleanups of the request's pool, which an internal redirect does not clear.
static void keep_ctx(void *data) {}

pgn_ctx *pgn_find_ctx(ngx_http_request_t *r) {
    pgn_ctx *ctx = ngx_http_get_module_ctx(r, ngx_http_playgate_module);
    if (ctx != NULL || !(r->internal || r->filter_finalize)) return ctx;
    for (ngx_pool_cleanup_t *cleanup = r->pool->cleanup; cleanup != NULL; cleanup = cleanup->next) {
        ctx = cleanup->data;
        if (cleanup->handler == keep_ctx && ctx->request == r) return ctx;
    }
    return NULL;
}

pgn_ctx *pgn_allocate_ctx(ngx_http_request_t *r) {
    ngx_pool_cleanup_t *cleanup = ngx_pool_cleanup_add(r->pool, sizeof(pgn_ctx));
    if (cleanup == NULL) return NULL;
    pgn_ctx *ctx = cleanup->data;
    ngx_memzero(ctx, sizeof(*ctx));
    cleanup->handler = keep_ctx;
    return ctx;
}

pgn_ctx *pgn_create_ctx(ngx_http_request_t *r) {
    pgn_ctx *ctx = pgn_allocate_ctx(r);
    if (ctx == NULL) return NULL;
    ctx->request = r;
    ngx_http_set_ctx(r, ctx, ngx_http_playgate_module);
    return ctx;
}

// MARK: Responses

static int add_field(void *context, const char *name, const char *value) {
    ngx_http_request_t *r = context;
    ngx_table_elt_t *header = ngx_list_push(&r->headers_out.headers);
    if (header == NULL) return -1;
    ngx_memzero(header, sizeof(*header));
    header->key = (ngx_str_t) {ngx_strlen(name), (u_char *) name};
    header->value = (ngx_str_t) {ngx_strlen(value), (u_char *) value};
    header->hash = 1;
    return 0;
}

static ngx_int_t refuse(ngx_http_request_t *r, const pgn_ctx *ctx, int is_new) {
    int status = ctx->outcome.status;
    if (status == NGX_HTTP_UNAUTHORIZED && is_new && r == r->main && add_field(r, "WWW-Authenticate", "MediaToken") != 0)
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    return status;
}

/// Notes what was decided: once for a request that is redirected.
static void report(ngx_http_request_t *r, int mode, const edge_outcome *outcome) {
    pgn_count_answer(ngx_http_get_module_main_conf(r, ngx_http_playgate_module), outcome, mode);
    if (outcome->outcome == PLAYGATE_ALLOW) return;
    int passes = edge_passes(outcome, mode);
    ngx_uint_t level = passes ? NGX_LOG_WARN : NGX_LOG_INFO;
    ngx_log_error(level, r->connection->log, 0, "playgate: %s by %s", passes ? "would be refused" : "refused", outcome->code);
}

/// Returns NGX_DECLINED to go on: the handlers after this one decide too, in the access phase and in the one before it. A new grant is lost if
/// the response of a sub-request's main request has begun.
ngx_int_t pgn_finish(ngx_http_request_t *r, const pgn_loc_conf *conf, pgn_ctx *ctx) {
    const edge_settings *settings = &conf->rule.settings;
    int is_new = !ctx->finished, is_lost = 0;
    ctx->finished = 1;
    if (is_new) report(r, settings->mode, &ctx->outcome);
    if (is_new && settings->sets_cookie) is_lost = edge_deliver(&ctx->outcome, add_field, r->main) != 0;
    if (!edge_passes(&ctx->outcome, settings->mode)) return refuse(r, ctx, is_new);
    return is_lost && settings->mode != EDGE_SHADOW ? NGX_HTTP_SERVICE_UNAVAILABLE : NGX_DECLINED;
}
