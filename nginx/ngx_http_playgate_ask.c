// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

static ngx_int_t note_answer(ngx_http_request_t *r, void *data, ngx_int_t result) {
    pg_ctx *ctx = data;
    ctx->answered = 1;
    return result;
}

/// Variables for a sub-request alone: what was evaluated for another target must not reach the service.
static ngx_http_variable_value_t *separate_variables(ngx_http_request_t *r) {
    ngx_http_core_main_conf_t *core = ngx_http_get_module_main_conf(r, ngx_http_core_module);
    pg_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_playgate_module);
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
ngx_int_t pg_ask(ngx_http_request_t *r, pg_loc_conf *conf, pg_ctx *ctx) {
    ngx_http_request_t *asked = NULL;
    ngx_http_post_subrequest_t *post = ngx_palloc(r->pool, sizeof(*post));
    ngx_http_request_body_t *body = ngx_pcalloc(r->pool, sizeof(*body));
    // All that it needs is there before it starts: a sub-request that has started runs, and would be checked as a client's.
    ngx_http_variable_value_t *variables = separate_variables(r);
    pg_ctx *mark = pg_allocate_ctx(r);
    if (post == NULL || body == NULL || variables == NULL || mark == NULL) return NGX_ERROR;
    post->handler = note_answer;
    post->data = ctx;
    ctx->answered = 0;
    if (ngx_http_subrequest(r, &conf->ask, NULL, &asked, post, NGX_HTTP_SUBREQUEST_WAITED) != NGX_OK) return NGX_ERROR;
    asked->header_only = 1;
    asked->request_body = body;
    asked->unparsed_uri = ctx->target;
    asked->variables = variables;
    mark->request = asked;
    mark->is_ask = 1;
    ngx_http_set_ctx(asked, mark, ngx_http_playgate_module);
    ctx->asked = asked;
    ctx->asking = 1;
    return NGX_OK;
}

/// A header field of the service's answer; empty if there is none, or more than one.
static ngx_str_t field_of(ngx_http_upstream_t *upstream, const char *name) {
    ngx_str_t value = ngx_null_string;
    size_t length = ngx_strlen(name), count = 0;
    for (ngx_list_part_t *part = &upstream->headers_in.headers.part; part != NULL; part = part->next) {
        ngx_table_elt_t *fields = part->elts;
        for (ngx_uint_t place = 0; place < part->nelts; place++) {
            ngx_table_elt_t *field = &fields[place];
            if (field->key.len != length || ngx_strncasecmp(field->key.data, (u_char *) name, length) != 0) continue;
            value = field->value;
            count++;
        }
    }
    if (count != 1) value.len = 0;
    return value;
}

static int is(ngx_str_t text, const char *word) {
    return text.len == ngx_strlen(word) && ngx_memcmp(text.data, word, text.len) == 0;
}

static void take_texts(pg_ctx *ctx, ngx_http_upstream_t *upstream) {
    ngx_str_t expires = field_of(upstream, "X-Playgate-Expires");
    off_t time = ngx_atoof(expires.data, expires.len);
    ctx->encoded = 1;
    ctx->expires = time == NGX_ERROR ? 0 : time;
    ctx->mvpd = field_of(upstream, "X-Playgate-MVPD");
    ctx->resource = field_of(upstream, "X-Playgate-Resource");
    ctx->session = field_of(upstream, "X-Playgate-Session");
    ctx->trace = field_of(upstream, "X-Playgate-Trace");
    ctx->set_cookie = field_of(upstream, "X-Playgate-Set-Cookie");
    ctx->grant = field_of(upstream, "X-Playgate-Grant");
    ctx->flags = field_of(upstream, "CTA-Common-Access-Token").len > 0 ? PLAYGATE_ANSWER_GRANT_HEADER : 0;
}

/// Ends a check that the service has not decided: what the library has allowed stays allowed, and all else is closed.
static ngx_int_t no_answer(ngx_http_request_t *r, pg_ctx *ctx) {
    pg_count_event(ngx_http_get_module_main_conf(r, ngx_http_playgate_module), PG_ASK_FAILED);
    if (ctx->outcome == PLAYGATE_ALLOW) return NGX_OK;
    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0, "playgate: the service has not answered (%V)", &ctx->code);
    ctx->status = NGX_HTTP_SERVICE_UNAVAILABLE;
    ctx->decided = 1;
    return NGX_OK;
}

ngx_int_t pg_take_asked(ngx_http_request_t *r, pg_ctx *ctx) {
    pg_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_playgate_module);
    ngx_http_request_t *asked = ctx->asked;
    ctx->asked = NULL;
    if (asked == NULL || asked->upstream == NULL) return no_answer(r, ctx);
    ngx_http_upstream_t *upstream = asked->upstream;
    ngx_uint_t status = asked->headers_out.status;
    ngx_str_t decision = field_of(upstream, "X-Playgate-Decision"), code = field_of(upstream, "X-Playgate-Code");
    int allows = status == NGX_HTTP_OK && (is(decision, "allow") || is(decision, "shadow"));
    int refuses = (status == NGX_HTTP_UNAUTHORIZED || status == NGX_HTTP_FORBIDDEN) && is(decision, "refuse");
    if (code.len == 0 || (!allows && !refuses)) return no_answer(r, ctx);
    take_texts(ctx, upstream);
    ctx->code = code;
    ctx->number = 0;
    ctx->outcome = allows ? PLAYGATE_ALLOW : PLAYGATE_REFUSE;
    ngx_str_t stated = field_of(upstream, "X-Playgate-Status");
    ngx_int_t number = ngx_atoi(stated.data, stated.len);
    ctx->status = number > 0 ? (ngx_uint_t) number : status;
    ctx->decided = 1;
    pg_count_event(conf, allows ? PG_ASK_ALLOWED : PG_ASK_REFUSED);
    return NGX_OK;
}
