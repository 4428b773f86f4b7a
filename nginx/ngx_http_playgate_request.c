// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

int64_t pg_now(void) {
    ngx_time_t *now = ngx_timeofday();
    return (int64_t) now->sec * 1000 + (int64_t) now->msec;
}

static int is_field(const ngx_table_elt_t *field, const char *name, size_t length) {
    return field->key.len == length && ngx_strncasecmp(field->key.data, (u_char *) name, length) == 0;
}

size_t pg_field_values(void *context, playgate_slice name, playgate_slice *values, size_t capacity) {
    ngx_http_request_t *r = context;
    size_t count = 0;
    for (ngx_list_part_t *part = &r->headers_in.headers.part; part != NULL; part = part->next) {
        ngx_table_elt_t *fields = part->elts;
        for (ngx_uint_t place = 0; place < part->nelts; place++) {
            if (!is_field(&fields[place], name.bytes, name.length)) continue;
            if (count < capacity) values[count] = pg_slice(fields[place].value);
            count++;
        }
    }
    return count;
}

static playgate_slice host_of(ngx_http_request_t *r) {
    if (r->headers_in.server.len > 0) return pg_slice(r->headers_in.server);
    ngx_http_core_srv_conf_t *server = ngx_http_get_module_srv_conf(r, ngx_http_core_module);
    return pg_slice(server->server_name);
}

static playgate_slice scheme_of(ngx_http_request_t *r) {
#if (NGX_HTTP_SSL)
    if (r->connection->ssl != NULL) return (playgate_slice) {"https", 5};
#endif
    return (playgate_slice) {"http", 4};
}

/// The facts that the page's sub-request states, by the same names: `$request_method`, `$host`, `$scheme`, `$remote_addr`.
void pg_fill_request(ngx_http_request_t *r, playgate_request *request, const playgate_cut *cut) {
    ngx_http_core_srv_conf_t *server = ngx_http_get_module_srv_conf(r, ngx_http_core_module);
    ngx_memzero(request, sizeof(*request));
    request->size = sizeof(*request);
    int is_partial = r->headers_in.range != NULL && edge_is_partial(pg_field_values, r);
    request->flags = cut->flags | (is_partial ? PLAYGATE_REQUEST_PARTIAL : 0);
    // nginx then forwards empty segments as they are.
    if (!server->merge_slashes) request->flags |= PLAYGATE_REQUEST_AS_IS;
    request->now = pg_now();
    request->method = pg_slice(r->main->method_name);
    request->target = cut->target;
    request->scheme = scheme_of(r);
    request->host = host_of(r);
    // A unix socket has no address.
    if (r->connection->sockaddr->sa_family != AF_UNIX) request->client = pg_slice(r->connection->addr_text);
    request->header_values = pg_field_values;
    request->header_context = r;
    request->traceparent = edge_first_value(pg_field_values, r, "traceparent");
}
