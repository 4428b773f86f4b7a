// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

/// The context that a variable speaks of: the request's own, or in a sub-request without one that of the main request.
static pg_ctx *decided_ctx(ngx_http_request_t *r) {
    pg_ctx *ctx = pg_find_ctx(r);
    if ((ctx == NULL || !ctx->decided) && r != r->main) ctx = pg_find_ctx(r->main);
    return ctx != NULL && ctx->decided ? ctx : NULL;
}

static int is_harmless(u_char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9')
        || (byte != '\0' && ngx_strchr("-._~:/@+=", byte) != NULL);
}

/// Percent-encodes a text as the service does in its header fields, so that it can be logged and sent to an origin.
static ngx_int_t set_encoded(ngx_http_request_t *r, ngx_http_variable_value_t *value, ngx_str_t text) {
    static const char digits[] = "0123456789ABCDEF";
    u_char *encoded = ngx_pnalloc(r->pool, 3 * text.len), *end = encoded;
    if (encoded == NULL) return NGX_ERROR;
    for (size_t place = 0; place < text.len; place++) {
        u_char byte = text.data[place];
        if (is_harmless(byte)) {
            *end++ = byte;
        } else {
            *end++ = '%';
            *end++ = (u_char) digits[byte >> 4];
            *end++ = (u_char) digits[byte & 15];
        }
    }
    value->data = encoded;
    value->len = (unsigned) (end - encoded);
    return NGX_OK;
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

/// A text that needs no encoding: made of digits, or for header fields.
static ngx_int_t plain_text(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t offset) {
    pg_ctx *ctx = decided_ctx(r);
    if (ctx == NULL) return set_absent(value);
    ngx_str_t *text = (ngx_str_t *) ((char *) ctx + offset);
    if (text->len == 0) return set_absent(value);
    set_present(value, *text);
    return NGX_OK;
}

static ngx_int_t encoded_text(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t offset) {
    pg_ctx *ctx = decided_ctx(r);
    if (ctx == NULL || ctx->encoded) return plain_text(r, value, offset);
    ngx_str_t *text = (ngx_str_t *) ((char *) ctx + offset);
    if (text->len == 0) return set_absent(value);
    set_present(value, *text);
    return set_encoded(r, value, *text);
}

static ngx_int_t expires_text(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t offset) {
    pg_ctx *ctx = decided_ctx(r);
    if (ctx == NULL || ctx->expires <= 0) return set_absent(value);
    ngx_str_t text = {0, ngx_pnalloc(r->pool, NGX_INT64_LEN)};
    if (text.data == NULL) return NGX_ERROR;
    text.len = (size_t) (ngx_sprintf(text.data, "%L", ctx->expires) - text.data);
    set_present(value, text);
    return NGX_OK;
}

/// Of the request itself: a sub-request has a path of its own.
static ngx_int_t path_text(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t offset) {
    pg_ctx *ctx = pg_find_ctx(r);
    if (ctx == NULL || ctx->path.len == 0 || pg_match_spelling(r, ctx->path) != NGX_OK) return set_absent(value);
    set_present(value, ctx->path);
    return NGX_OK;
}

static ngx_http_variable_t variables[] = {
    {ngx_string("playgate_path"), NULL, path_text, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_code"), NULL, plain_text, offsetof(pg_ctx, code), NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_trace"), NULL, plain_text, offsetof(pg_ctx, trace), NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_session"), NULL, plain_text, offsetof(pg_ctx, session), NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_mvpd"), NULL, encoded_text, offsetof(pg_ctx, mvpd), NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_resource"), NULL, encoded_text, offsetof(pg_ctx, resource), NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_client_key"), NULL, pg_client_key, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("playgate_expires"), NULL, expires_text, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
};

ngx_int_t pg_add_variables(ngx_conf_t *cf) {
    for (size_t place = 0; place < sizeof(variables) / sizeof(variables[0]); place++) {
        ngx_http_variable_t *variable = ngx_http_add_variable(cf, &variables[place].name, variables[place].flags);
        if (variable == NULL) return NGX_ERROR;
        variable->get_handler = variables[place].get_handler;
        variable->data = variables[place].data;
    }
    return NGX_OK;
}
