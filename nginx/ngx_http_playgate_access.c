// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

/// Memory for the texts of an answer, which are copied. A worker has one thread.
static char buffer[PLAYGATE_BUFFER_SIZE];

/// Decides by the policy of the location.
static ngx_int_t decide(ngx_http_request_t *r, pg_loc_conf *conf, pg_ctx *ctx, const playgate_request *request) {
    playgate_engine *engine = conf->policy->engine;
    playgate_memo *memo = conf->policy->memo;
    playgate_answer answer = {.size = sizeof(answer), .buffer = buffer, .capacity = sizeof(buffer)};
    if (engine == NULL) {
        pg_refuse(ctx, "ask_policy_stale", NGX_HTTP_SERVICE_UNAVAILABLE);
        ctx->outcome = PLAYGATE_ASK;
        return NGX_OK;
    }
    if (memo != NULL) {
        uint64_t generation = playgate_engine_generation(engine);
        if (playgate_memo_find(memo, conf->place_number, generation, request, &answer)) return pg_take_answer(r, ctx, &answer);
    }
    if (playgate_check(engine, conf->place, request, &answer) == PLAYGATE_OK && memo != NULL)
        playgate_memo_keep(memo, conf->place_number, request, &answer);
    return pg_take_answer(r, ctx, &answer);
}

static ngx_int_t check(ngx_http_request_t *r, pg_loc_conf *conf, pg_ctx *ctx) {
    playgate_cut cut;
    playgate_request request;
    edge_values tokens, grants;
    ngx_int_t result = pg_cut_request(r, conf->sources, ctx, &cut);
    if (result == NGX_OK) {
        pg_fill_request(r, &request, &cut);
        result = pg_fill_facts(r, conf, &request);
    }
    if (result != NGX_OK) ctx->unreadable = 1;
    if (result == NGX_DECLINED) {
        pg_refuse(ctx, "edge_request_invalid", NGX_HTTP_FORBIDDEN);
        return NGX_OK;
    }
    if (result != NGX_OK) return NGX_ERROR;
    edge_find_values(conf->sources->tokens, &conf->sources->target, &cut, pg_field_values, r, &tokens);
    edge_find_values(conf->sources->grants, &conf->sources->target, &cut, pg_field_values, r, &grants);
    if (tokens.overflow) {
        pg_refuse(ctx, "token_conflict", NGX_HTTP_FORBIDDEN);
        return NGX_OK;
    }
    request.tokens = tokens.values;
    request.token_count = tokens.count;
    request.grants = grants.values;
    request.grant_count = grants.count;
    if (conf->policy->memo == NULL) request.flags |= PLAYGATE_REQUEST_NOT_KEPT;
    return decide(r, conf, ctx, &request);
}

/// Notes what is checked, before tokens are cut out of it.
static ngx_int_t note_target(ngx_http_request_t *r, pg_ctx *ctx) {
    if (r != r->main) return pg_own_target(r, &ctx->target);
    if (ctx->target.len == 0) ctx->target = r->unparsed_uri;
    return NGX_OK;
}

/// True if this request was decided by the same settings, before an internal redirect.
static int is_decided(ngx_http_request_t *r, const pg_loc_conf *conf, const pg_ctx *ctx) {
    return ctx->decided && r == r->main && ctx->policy == conf->policy && ctx->sources == conf->sources && ctx->place == conf->place;
}

static ngx_int_t begin(ngx_http_request_t *r, pg_loc_conf *conf, pg_ctx *ctx) {
    ctx->decided = ctx->finished = ctx->unreadable = 0;
    ctx->policy = conf->policy;
    ctx->sources = conf->sources;
    ctx->place = conf->place;
    if (note_target(r, ctx) != NGX_OK || check(r, conf, ctx) != NGX_OK) pg_refuse(ctx, "internal_failure", NGX_HTTP_SERVICE_UNAVAILABLE);
    // A sub-request of a background request would never end.
    int may_ask = conf->ask.len > 0 && !r->background;
    if (!may_ask || !edge_is_asked(ctx->outcome, ctx->flags, pg_slice(ctx->code), conf->place != NULL)) return pg_finish(r, conf, ctx);
    if (pg_ask(r, conf, ctx) == NGX_OK) return NGX_AGAIN;
    return pg_finish(r, conf, ctx);
}

static ngx_int_t guard(ngx_http_request_t *r) {
    pg_loc_conf *conf = ngx_http_get_module_loc_conf(r, ngx_http_playgate_module);
    if (conf->mode == PG_OFF) return NGX_DECLINED;
    pg_ctx *ctx = pg_find_ctx(r);
    if (ctx == NULL) ctx = pg_create_ctx(r);
    // Without memory no token can be cut out, so that this is closed in shadow mode too.
    if (ctx == NULL) return NGX_HTTP_SERVICE_UNAVAILABLE;
    if (ctx->is_ask) return NGX_DECLINED;
    if (ctx->asking) {
        if (!ctx->answered) return NGX_AGAIN;
        ctx->asking = 0;
        pg_take_asked(r, ctx);
        return pg_finish(r, conf, ctx);
    }
    return is_decided(r, conf, ctx) ? pg_finish(r, conf, ctx) : begin(r, conf, ctx);
}

ngx_int_t pg_access(ngx_http_request_t *r) { return guard(r); }

/// The phase before the access phase, which sub-requests do not have.
ngx_int_t pg_preaccess(ngx_http_request_t *r) { return r == r->main ? NGX_DECLINED : guard(r); }
