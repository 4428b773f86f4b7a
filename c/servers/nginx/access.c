// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

// A request is decided by the client's target. If nginx serves another path, by a rewrite or an internal redirect, that must be allowed too.

/// Memory for the texts of an answer, which are copied. A worker has one thread.
static char buffer[PLAYGATE_BUFFER_SIZE];

// MARK: The client's target

/// Notes what is checked, before tokens are cut out of it.
static ngx_int_t note_target(ngx_http_request_t *r, pgn_ctx *ctx) {
    if (r != r->main) return pgn_own_target(r, &ctx->target);
    if (ctx->target.len == 0) ctx->target = r->unparsed_uri;
    return NGX_OK;
}

static edge_check check_of(pgn_checked *checked) {
    edge_check check = {.server = &pgn_server, .context = checked, .rule = &checked->conf->rule};
    check.location = check.rule->location;
    check.location_number = check.rule->location_number;
    check.answer.buffer = buffer;
    check.answer.capacity = sizeof(buffer);
    return check;
}

/// Refuses what cannot be read, or has no memory: nobody knows what the origin would read.
static ngx_int_t refuse_unreadable(pgn_ctx *ctx, ngx_int_t result) {
    ctx->outcome.is_unreadable = 1;
    if (result == NGX_DECLINED) edge_refuse(&ctx->outcome, "edge_request_invalid", NGX_HTTP_FORBIDDEN);
    else edge_refuse(&ctx->outcome, "internal_failure", NGX_HTTP_SERVICE_UNAVAILABLE);
    return 0;
}

/// Decides by the client's target. Returns 1 if the service is to be asked.
static int check_target(ngx_http_request_t *r, const pgn_loc_conf *conf, pgn_ctx *ctx) {
    pgn_checked checked = {r, conf};
    edge_check check = check_of(&checked);
    // Another location may have had it issued, for the same request.
    check.issued = ctx->outcome.outcome == PLAYGATE_ALLOW ? ctx->outcome.grant : NULL;
    // A part of a page or of a slice is no request of a player's, and an internal redirect is the same one once more.
    check.is_repeated = r != r->main || ctx->outcome.code != NULL;
    ngx_memzero(&ctx->outcome, sizeof(ctx->outcome));
    if (note_target(r, ctx) != NGX_OK) return refuse_unreadable(ctx, NGX_ERROR);
    ngx_int_t result = pgn_cut_request(r, conf, ctx, &check.cut);
    if (result != NGX_OK) return refuse_unreadable(ctx, result);
    check.target = pgn_slice(ctx->target);
    edge_check_decide(&check);
    ctx->observed = check.request.observer.length > 0;
    // Without memory it is refused.
    return edge_check_take(&check, &ctx->outcome) == 0 && check.is_asked;
}

// MARK: What is served

/// True if nginx serves another path than the client's, and nobody has looked at that.
static int is_elsewhere(ngx_http_request_t *r, const pgn_ctx *ctx) {
    if (r != r->main || (ctx->path.len > 0 && pgn_match_spelling(r, ctx->path) == NGX_OK)) return 0;
    return ctx->served.len == 0 || !pgn_same(ctx->served, r->uri);
}

/// Decides by the path that is served, with what the client has shown, and the grant that was issued for it just now. A token that is
/// used once has been used by then, and the service is not asked again. Returns NGX_OK, or how it cannot be read.
static ngx_int_t check_served(ngx_http_request_t *r, const pgn_loc_conf *conf, pgn_ctx *ctx, const playgate_cut *served) {
    pgn_checked checked = {r, conf};
    edge_check check = check_of(&checked);
    edge_outcome outcome;
    if (pgn_cut(&conf->rule.cut, ctx->target, &check.cut) != NGX_OK) return NGX_DECLINED;
    check.cut.target = check.target = served->target;
    check.cut.flags = served->flags;
    check.issued = ctx->outcome.grant;
    check.is_repeated = 1;
    edge_check_decide(&check);
    ngx_memzero(&outcome, sizeof(outcome));
    edge_check_take(&check, &outcome);
    if (outcome.outcome == PLAYGATE_ALLOW) return NGX_OK;
    ctx->outcome = outcome;
    // It was told that the request is allowed.
    ctx->finished = 0;
    return NGX_OK;
}

/// Looks at the path that is served: no token may go on in it, and what is open for the client must be open there. A location that names
/// its resource says what it serves.
static void look_elsewhere(ngx_http_request_t *r, const pgn_loc_conf *conf, pgn_ctx *ctx) {
    const playgate_location_rules *demands = &conf->rule.settings.demands;
    int is_named = demands->media.length > 0 || demands->resource.length > 0;
    playgate_cut served;
    ngx_int_t failed = 0, result = pgn_cut_served(r, conf, &served);
    if (result == NGX_OK && ctx->outcome.outcome == PLAYGATE_ALLOW && !is_named) result = check_served(r, conf, ctx, &served);
    if (result != NGX_OK) {
        ctx->finished = 0;
        refuse_unreadable(ctx, result);
        return;
    }
    // Without memory for the note, it is looked at again.
    ctx->served = pgn_copy(r->pool, r->uri, &failed);
}

// MARK: Phases

/// True if this request was decided by the same demands and facts, before an internal redirect.
static int is_decided(ngx_http_request_t *r, const pgn_loc_conf *conf, const pgn_ctx *ctx) {
    return ctx->decided && r == r->main && edge_rule_is_same(&ctx->conf->rule, &conf->rule)
        && ngx_memcmp(ctx->conf->facts, conf->facts, sizeof(conf->facts)) == 0;
}

static ngx_int_t end(ngx_http_request_t *r, const pgn_loc_conf *conf, pgn_ctx *ctx) {
    ctx->decided = 1;
    if (edge_passes(&ctx->outcome, conf->rule.settings.mode) && is_elsewhere(r, ctx)) look_elsewhere(r, conf, ctx);
    return pgn_finish(r, conf, ctx);
}

static ngx_int_t begin(ngx_http_request_t *r, const pgn_loc_conf *conf, pgn_ctx *ctx) {
    ctx->decided = ctx->finished = 0;
    ctx->conf = conf;
    ctx->served.len = 0;
    // A sub-request of a background request would never end.
    int is_asked = check_target(r, conf, ctx) && !r->background;
    return is_asked && pgn_ask(r, conf, ctx) == NGX_OK ? NGX_AGAIN : end(r, conf, ctx);
}

static ngx_int_t guard(ngx_http_request_t *r) {
    const pgn_loc_conf *conf = ngx_http_get_module_loc_conf(r, ngx_http_playgate_module);
    if (conf->rule.settings.mode == EDGE_OFF) return NGX_DECLINED;
    pgn_ctx *ctx = pgn_find_ctx(r);
    if (ctx == NULL && r == r->main && r->internal) {
        // Such as the page of an error, for a request that nginx has refused before its first phase.
        pgn_hide(r);
        ctx = pgn_find_ctx(r);
    }
    if (ctx == NULL) ctx = pgn_create_ctx(r);
    // Without memory no token can be cut out, so that this is closed in shadow mode too.
    if (ctx == NULL) return NGX_HTTP_SERVICE_UNAVAILABLE;
    if (ctx->is_ask) return NGX_DECLINED;
    if (!ctx->asking) return is_decided(r, conf, ctx) ? end(r, conf, ctx) : begin(r, conf, ctx);
    if (!ctx->answered) return NGX_AGAIN;
    ctx->asking = 0;
    pgn_take_asked(r, ctx);
    return end(r, conf, ctx);
}

ngx_int_t pgn_access(ngx_http_request_t *r) { return guard(r); }

/// The phase before the access phase, which sub-requests do not have.
ngx_int_t pgn_preaccess(ngx_http_request_t *r) { return r == r->main ? NGX_DECLINED : guard(r); }
