// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

// Tokens stand in no log: the request line is cut as soon as it is read, and all else at the end of the request.

static pgn_main_conf *main_conf(ngx_http_request_t *r) { return ngx_http_get_module_main_conf(r, ngx_http_playgate_module); }

static ngx_int_t set_request_line(ngx_http_request_t *r, ngx_str_t target) {
    size_t length = r->method_name.len + target.len + r->http_protocol.len + 2;
    u_char *line = ngx_pnalloc(r->pool, length);
    if (line == NULL) return NGX_ERROR;
    u_char *end = ngx_cpymem(line, r->method_name.data, r->method_name.len);
    *end++ = ' ';
    end = ngx_cpymem(end, target.data, target.len);
    *end++ = ' ';
    end = ngx_cpymem(end, r->http_protocol.data, r->http_protocol.len);
    r->request_line.data = line;
    r->request_line.len = (size_t) (end - line);
    return NGX_OK;
}

/// What logs may show of a target that cannot be read: its path, unless tokens may be in that.
static ngx_str_t unreadable(const pgn_main_conf *conf, ngx_str_t target) {
    static const ngx_str_t nothing = ngx_string("?");
    return conf->secret.rules.segment_count > 0 || conf->secret.rules.package.length > 0 ? nothing : pgn_path_of(target);
}

/// Keeps a cut for the location, which mostly has the same rules. Without memory it is made again.
static void keep_cut(ngx_http_request_t *r, pgn_ctx *ctx, const playgate_cut *cut) {
    playgate_cut *kept = ngx_palloc(r->pool, sizeof(*kept));
    if (kept == NULL) return;
    *kept = *cut;
    kept->target = pgn_slice(ctx->shown);
    ctx->early = kept;
}

void pgn_hide(ngx_http_request_t *r) {
    pgn_main_conf *conf = main_conf(r);
    playgate_cut cut;
    ngx_int_t failed = 0, is_readable = pgn_cut(&conf->secret, r->unparsed_uri, &cut) == NGX_OK;
    if (is_readable && cut.found_count == 0) return;
    ngx_str_t shown = is_readable ? pgn_copy(r->pool, pgn_string(cut.target), &failed) : unreadable(conf, r->unparsed_uri);
    if (failed || set_request_line(r, shown) != NGX_OK) r->request_line.len = 0;
    pgn_forget_variable(r, conf->request_index);
    pgn_ctx *ctx = failed ? NULL : pgn_create_ctx(r);
    if (ctx == NULL) return;
    ctx->target = r->unparsed_uri;
    ctx->shown = shown;
    if (is_readable) keep_cut(r, ctx, &cut);
}

/// The first phase: from here on, `$request` and the error log have the request line without tokens.
ngx_int_t pgn_hide_tokens(ngx_http_request_t *r) {
    if (r == r->main && !r->internal) pgn_hide(r);
    return NGX_DECLINED;
}

/// Hides what variables of logs are made of, whatever has become of the request.
static void hide_target(ngx_http_request_t *r, const pgn_ctx *ctx) {
    pgn_main_conf *conf = main_conf(r);
    playgate_cut cut;
    ngx_str_t own;
    ngx_int_t failed = 0;
    r->unparsed_uri = ctx->shown;
    pgn_forget_variable(r, conf->request_uri_index);
    pgn_forget_variable(r, conf->request_index);
    // A rewrite may have carried a token along.
    if (pgn_own_target(r, &own) != NGX_OK || pgn_cut(&conf->secret, own, &cut) != NGX_OK) {
        r->uri = pgn_path_of(ctx->shown);
        r->args.len = 0;
    } else if (cut.found_count > 0) {
        ngx_str_t rest = pgn_copy(r->pool, pgn_string(cut.target), &failed);
        r->uri = pgn_path_of(rest);
        r->args = pgn_query_of(rest);
    }
}

/// Before all other handlers of the phase of logs.
ngx_int_t pgn_hide_in_log(ngx_http_request_t *r) {
    if (r != r->main) return NGX_OK;
    const pgn_ctx *ctx = pgn_find_ctx(r);
    // There was nothing to hide, or nginx has refused the request before its first phase.
    if (ctx == NULL) {
        pgn_hide(r);
        if (r->unparsed_uri.len == 0) r->request_line.len = 0;
        ctx = pgn_find_ctx(r);
    }
    if (ctx != NULL && ctx->shown.data != NULL) hide_target(r, ctx);
    return NGX_OK;
}
