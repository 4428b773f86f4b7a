// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

/// Memory for cut targets. A worker has one thread, and none is kept.
static char buffer[EDGE_TARGET_LIMIT];

static ngx_int_t cut_target(const edge_rules *rules, ngx_str_t text, playgate_cut *cut) {
    return edge_cut(rules, pg_slice(text), buffer, sizeof(buffer), cut) == 0 ? NGX_OK : NGX_ERROR;
}

static ngx_str_t path_of(ngx_str_t target) {
    u_char *mark = ngx_strlchr(target.data, target.data + target.len, '?');
    if (mark != NULL) target.len = (size_t) (mark - target.data);
    return target;
}

/// The text after `?`; empty if there is none.
static ngx_str_t query_of(ngx_str_t target) {
    ngx_str_t path = path_of(target), query = ngx_null_string;
    if (path.len + 1 >= target.len) return query;
    query.data = target.data + path.len + 1;
    query.len = target.len - path.len - 1;
    return query;
}

/// Has nginx evaluate one of its variables anew.
static void forget_variable(ngx_http_request_t *r, ngx_int_t index) {
    r->variables[index].valid = 0;
    r->variables[index].not_found = 0;
}

static void forget_variables(ngx_http_request_t *r) {
    pg_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_playgate_module);
    forget_variable(r, conf->request_uri_index);
    forget_variable(r, conf->request_index);
}

// MARK: Logs

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

/// Keeps a cut for the location, which mostly has the same rules. Without memory it is made again.
static void keep_cut(ngx_http_request_t *r, const playgate_cut *cut) {
    ngx_int_t failed = cut->found_count == 0;
    pg_ctx *ctx = failed ? NULL : pg_create_ctx(r);
    playgate_cut *kept = ctx == NULL ? NULL : ngx_palloc(r->pool, sizeof(*kept));
    if (kept == NULL) return;
    *kept = *cut;
    kept->target = pg_slice(pg_copy(r->pool, pg_string(cut->target), &failed));
    if (!failed) ctx->early = kept;
}

/// The first phase: from here on, `$request` and the error log have the request line without tokens.
ngx_int_t pg_hide_tokens(ngx_http_request_t *r) {
    pg_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_playgate_module);
    playgate_cut cut;
    ngx_str_t target;
    if (r != r->main || r->internal) return NGX_DECLINED;
    if (cut_target(&conf->secret, r->unparsed_uri, &cut) == NGX_OK) {
        if (cut.found_count == 0) return NGX_DECLINED;
        target = pg_string(cut.target);
    } else {
        ngx_str_t unreadable = ngx_string("?");
        target = conf->secret.rules.segment_count > 0 || conf->secret.rules.package.length > 0 ? unreadable : path_of(r->unparsed_uri);
    }
    if (set_request_line(r, target) != NGX_OK) r->request_line.len = 0;
    forget_variable(r, conf->request_index);
    keep_cut(r, &cut);
    return NGX_DECLINED;
}

// MARK: The request

ngx_int_t pg_match_spelling(ngx_http_request_t *r, ngx_str_t path) {
    if (ngx_strlchr(path.data, path.data + path.len, '%') == NULL) return pg_same(path, r->uri) ? NGX_OK : NGX_DECLINED;
    u_char *decoded = ngx_pnalloc(r->pool, path.len), *end = decoded, *source = path.data;
    if (decoded == NULL) return NGX_ERROR;
    ngx_unescape_uri(&end, &source, path.len, 0);
    ngx_str_t known = {(size_t) (end - decoded), decoded};
    return pg_same(known, r->uri) ? NGX_OK : NGX_DECLINED;
}

/// Replaces the path by the cut one, unless the configuration has rewritten it.
static ngx_int_t cut_path(ngx_http_request_t *r, ngx_str_t before, ngx_str_t after) {
    if (pg_same(before, after)) return NGX_OK;
    ngx_int_t matched = pg_match_spelling(r, before);
    if (matched != NGX_OK) return matched == NGX_ERROR ? NGX_ERROR : NGX_OK;
    u_char *path = ngx_pnalloc(r->pool, after.len), *end = path, *source = after.data;
    if (path == NULL) return NGX_ERROR;
    ngx_unescape_uri(&end, &source, after.len, 0);
    r->uri.data = path;
    r->uri.len = (size_t) (end - path);
    r->exten.len = 0;
    r->exten.data = NULL;
    ngx_http_set_exten(r);
    return NGX_OK;
}

/// Removes tokens from the arguments, which the configuration may have changed.
static ngx_int_t cut_arguments(ngx_http_request_t *r, const pg_sources *sources, const pg_ctx *ctx) {
    if (r->args.len == 0) return NGX_OK;
    // Those of the request line itself.
    if (ctx->early != NULL && sources->only == 1 && pg_same(r->args, query_of(ctx->target))) {
        r->args = query_of(pg_string(ctx->early->target));
        return NGX_OK;
    }
    ngx_str_t target = {r->args.len + 2, NULL};
    playgate_cut cut;
    target.data = ngx_pnalloc(r->pool, target.len);
    if (target.data == NULL) return NGX_ERROR;
    target.data[0] = '/';
    target.data[1] = '?';
    ngx_memcpy(target.data + 2, r->args.data, r->args.len);
    ngx_int_t failed = cut_target(&sources->target, target, &cut) != NGX_OK, out_of_memory = 0;
    ngx_str_t none = ngx_null_string;
    if (failed || cut.found_count > 0) r->args = failed ? none : pg_copy(r->pool, query_of(pg_string(cut.target)), &out_of_memory);
    return out_of_memory ? NGX_ERROR : NGX_OK;
}

/// Sets what `$request_uri` is: the target that was cut, or, if another location has cut it before, the rest of that.
static ngx_int_t cut_line(ngx_http_request_t *r, const pg_sources *sources, const pg_ctx *ctx, ngx_str_t target) {
    playgate_cut cut;
    ngx_int_t failed = 0;
    if (r->unparsed_uri.data != ctx->target.data) {
        if (cut_target(&sources->target, r->unparsed_uri, &cut) != NGX_OK) return NGX_ERROR;
        target = pg_copy(r->pool, pg_string(cut.target), &failed);
    }
    if (failed) return NGX_ERROR;
    r->unparsed_uri = target;
    forget_variables(r);
    return NGX_OK;
}

ngx_int_t pg_own_target(ngx_http_request_t *r, ngx_str_t *target) {
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

/// Cuts the target of the context, or takes the cut of the request line.
static ngx_int_t cut_checked(ngx_http_request_t *r, pg_sources *sources, pg_ctx *ctx, playgate_cut *cut) {
    pg_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_playgate_module);
    if (sources->only == 0) sources->only = edge_same_rules(&sources->target, &conf->secret) ? 1 : 2;
    if (ctx->early != NULL && sources->only == 1) {
        *cut = *ctx->early;
        return NGX_OK;
    }
    if (cut_target(&sources->target, ctx->target, cut) != NGX_OK) return NGX_DECLINED;
    if (cut->found_count == 0) return NGX_OK;
    // The buffer is used again, by the next target at the latest.
    ngx_int_t failed = 0;
    cut->target = pg_slice(pg_copy(r->pool, pg_string(cut->target), &failed));
    return failed ? NGX_ERROR : NGX_OK;
}

ngx_int_t pg_cut_request(ngx_http_request_t *r, pg_sources *sources, pg_ctx *ctx, playgate_cut *cut) {
    if (cut_arguments(r, sources, ctx) != NGX_OK) return NGX_ERROR;
    // Without `$playgate_path`, the origin gets the path that nginx has resolved and decoded, encoded again.
    r->valid_unparsed_uri = 0;
    ngx_int_t result = cut_checked(r, sources, ctx, cut);
    if (result == NGX_DECLINED) r->args.len = 0;
    if (result == NGX_OK && cut->found_count == 0) ctx->path = path_of(ctx->target);
    if (result != NGX_OK || cut->found_count == 0) return result;
    ngx_str_t target = pg_string(cut->target);
    if (r == r->main && cut_line(r, sources, ctx, target) != NGX_OK) return NGX_ERROR;
    if (cut->flags & PLAYGATE_REQUEST_AMBIGUOUS) return NGX_OK;
    ctx->path = path_of(target);
    return cut_path(r, path_of(ctx->target), ctx->path);
}
