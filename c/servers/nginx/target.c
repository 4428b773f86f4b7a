// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

/// Memory for cut targets. A worker has one thread, and none is kept.
static char buffer[EDGE_TARGET_LIMIT];

ngx_int_t pgn_cut(const edge_rules *rules, ngx_str_t text, playgate_cut *cut) {
    return edge_cut(rules, pgn_slice(text), buffer, sizeof(buffer), cut) == 0 ? NGX_OK : NGX_DECLINED;
}

ngx_str_t pgn_path_of(ngx_str_t target) {
    u_char *mark = ngx_strlchr(target.data, target.data + target.len, '?');
    if (mark != NULL) target.len = (size_t) (mark - target.data);
    return target;
}

ngx_str_t pgn_query_of(ngx_str_t target) {
    ngx_str_t path = pgn_path_of(target), query = ngx_null_string;
    if (path.len + 1 >= target.len) return query;
    query.data = target.data + path.len + 1;
    query.len = target.len - path.len - 1;
    return query;
}

void pgn_forget_variable(ngx_http_request_t *r, ngx_int_t index) {
    r->variables[index].valid = 0;
    r->variables[index].not_found = 0;
}

// MARK: Paths

/// Decodes a path as nginx does. Its data is null without memory.
static ngx_str_t decoded(ngx_http_request_t *r, ngx_str_t path) {
    u_char *start = ngx_pnalloc(r->pool, path.len + 1), *end = start, *source = path.data;
    if (start != NULL) ngx_unescape_uri(&end, &source, path.len, 0);
    return (ngx_str_t) {(size_t) (end - start), start};
}

ngx_int_t pgn_match_spelling(ngx_http_request_t *r, ngx_str_t path) {
    if (ngx_strlchr(path.data, path.data + path.len, '%') == NULL) return pgn_same(path, r->uri) ? NGX_OK : NGX_DECLINED;
    ngx_str_t known = decoded(r, path);
    if (known.data == NULL) return NGX_ERROR;
    return pgn_same(known, r->uri) ? NGX_OK : NGX_DECLINED;
}

static ngx_int_t set_path(ngx_http_request_t *r, ngx_str_t path) {
    ngx_str_t plain = decoded(r, path);
    if (plain.data == NULL) return NGX_ERROR;
    r->uri = plain;
    r->exten.len = 0;
    r->exten.data = NULL;
    ngx_http_set_exten(r);
    return NGX_OK;
}

/// Replaces the path by the cut one, unless the configuration has rewritten it.
static ngx_int_t cut_path(ngx_http_request_t *r, ngx_str_t before, ngx_str_t after) {
    if (pgn_same(before, after)) return NGX_OK;
    ngx_int_t matched = pgn_match_spelling(r, before);
    if (matched != NGX_OK) return matched == NGX_ERROR ? NGX_ERROR : NGX_OK;
    return set_path(r, after);
}

ngx_int_t pgn_own_target(ngx_http_request_t *r, ngx_str_t *target) {
    uintptr_t escapes = ngx_escape_uri(NULL, r->uri.data, r->uri.len, NGX_ESCAPE_URI);
    u_char *text = ngx_pnalloc(r->pool, r->uri.len + 2 * escapes + 1 + r->args.len);
    if (text == NULL) return NGX_ERROR;
    u_char *end = text;
    if (escapes > 0) end = (u_char *) ngx_escape_uri(end, r->uri.data, r->uri.len, NGX_ESCAPE_URI);
    else end = ngx_cpymem(end, r->uri.data, r->uri.len);
    if (r->args.len > 0) {
        *end++ = '?';
        end = ngx_cpymem(end, r->args.data, r->args.len);
    }
    target->data = text;
    target->len = (size_t) (end - text);
    return NGX_OK;
}

ngx_int_t pgn_cut_served(ngx_http_request_t *r, const pgn_loc_conf *conf, playgate_cut *cut) {
    ngx_str_t target;
    ngx_int_t failed = 0;
    if (pgn_own_target(r, &target) != NGX_OK) return NGX_ERROR;
    if (pgn_cut(&conf->rule.cut, target, cut) != NGX_OK) return NGX_DECLINED;
    if (cut->found_count == 0) return NGX_OK;
    ngx_str_t rest = pgn_copy(r->pool, pgn_string(cut->target), &failed);
    if (failed) return NGX_ERROR;
    cut->target = pgn_slice(rest);
    r->args = pgn_query_of(rest);
    // A rewrite has carried the token along.
    return pgn_same(pgn_path_of(target), pgn_path_of(rest)) ? NGX_OK : set_path(r, pgn_path_of(rest));
}

// MARK: The request

/// True if the cut of the request line is that of the location's rules, as it mostly is.
static int has_early_cut(ngx_http_request_t *r, const pgn_loc_conf *conf, const pgn_ctx *ctx) {
    const pgn_main_conf *main = ngx_http_get_module_main_conf(r, ngx_http_playgate_module);
    return ctx->early != NULL && edge_same_rules(&conf->rule.cut, &main->secret);
}

/// Removes tokens from the arguments, which the configuration may have changed.
static ngx_int_t cut_arguments(ngx_http_request_t *r, const pgn_loc_conf *conf, const pgn_ctx *ctx, int is_early) {
    ngx_int_t failed = 0;
    if (r->args.len == 0) return NGX_OK;
    // Those of the request line itself.
    if (is_early && pgn_same(r->args, pgn_query_of(ctx->target))) {
        r->args = pgn_query_of(pgn_string(ctx->early->target));
        return NGX_OK;
    }
    ngx_str_t target = {r->args.len + 2, NULL};
    playgate_cut cut;
    target.data = ngx_pnalloc(r->pool, target.len);
    if (target.data == NULL) return NGX_ERROR;
    target.data[0] = '/';
    target.data[1] = '?';
    ngx_memcpy(target.data + 2, r->args.data, r->args.len);
    if (pgn_cut(&conf->rule.cut, target, &cut) != NGX_OK) r->args.len = 0;
    else if (cut.found_count > 0) r->args = pgn_copy(r->pool, pgn_query_of(pgn_string(cut.target)), &failed);
    return failed ? NGX_ERROR : NGX_OK;
}

/// Sets what `$request_uri` is: the target that was cut, or, if another location has cut it before, the rest of that.
static ngx_int_t cut_line(ngx_http_request_t *r, const pgn_loc_conf *conf, const pgn_ctx *ctx, ngx_str_t target) {
    const pgn_main_conf *main = ngx_http_get_module_main_conf(r, ngx_http_playgate_module);
    playgate_cut cut;
    ngx_int_t failed = 0;
    if (r->unparsed_uri.data != ctx->target.data) {
        if (pgn_cut(&conf->rule.cut, r->unparsed_uri, &cut) != NGX_OK) return NGX_ERROR;
        target = pgn_copy(r->pool, pgn_string(cut.target), &failed);
    }
    if (failed) return NGX_ERROR;
    r->unparsed_uri = target;
    pgn_forget_variable(r, main->request_uri_index);
    pgn_forget_variable(r, main->request_index);
    return NGX_OK;
}

/// Cuts the target of the context, or takes the cut of the request line.
static ngx_int_t cut_checked(ngx_http_request_t *r, const pgn_loc_conf *conf, const pgn_ctx *ctx, int is_early, playgate_cut *cut) {
    ngx_int_t failed = 0;
    if (is_early) {
        *cut = *ctx->early;
        return NGX_OK;
    }
    if (pgn_cut(&conf->rule.cut, ctx->target, cut) != NGX_OK) return NGX_DECLINED;
    if (cut->found_count == 0) return NGX_OK;
    // The buffer is used again, by the next target at the latest.
    cut->target = pgn_slice(pgn_copy(r->pool, pgn_string(cut->target), &failed));
    return failed ? NGX_ERROR : NGX_OK;
}

ngx_int_t pgn_cut_request(ngx_http_request_t *r, const pgn_loc_conf *conf, pgn_ctx *ctx, playgate_cut *cut) {
    int is_early = has_early_cut(r, conf, ctx);
    if (cut_arguments(r, conf, ctx, is_early) != NGX_OK) return NGX_ERROR;
    // Without `$playgate_path`, the origin gets the path that nginx has resolved and decoded, encoded again.
    r->valid_unparsed_uri = 0;
    ngx_int_t result = cut_checked(r, conf, ctx, is_early, cut);
    if (result == NGX_DECLINED) r->args.len = 0;
    if (result == NGX_OK && cut->found_count == 0) ctx->path = pgn_path_of(ctx->target);
    if (result != NGX_OK || cut->found_count == 0) return result;
    ngx_str_t target = pgn_string(cut->target);
    if (r == r->main && cut_line(r, conf, ctx, target) != NGX_OK) return NGX_ERROR;
    if (cut->flags & PLAYGATE_REQUEST_AMBIGUOUS) return NGX_OK;
    ctx->path = pgn_path_of(target);
    return cut_path(r, pgn_path_of(ctx->target), ctx->path);
}
