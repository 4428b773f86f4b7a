// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

#if (NGX_HTTP_SSL)
#include <openssl/x509.h>
#endif

// MARK: Fields

size_t pgn_values(const ngx_list_t *list, playgate_slice name, playgate_slice *values, size_t capacity) {
    size_t count = 0;
    for (const ngx_list_part_t *part = &list->part; part != NULL; part = part->next) {
        const ngx_table_elt_t *fields = part->elts;
        for (ngx_uint_t index = 0; index < part->nelts; index++) {
            if (!slice_is_name(pgn_slice(fields[index].key), name)) continue;
            if (count < capacity) values[count] = pgn_slice(fields[index].value);
            count++;
        }
    }
    return count;
}

static size_t values(void *context, playgate_slice name, playgate_slice *found, size_t capacity) {
    return pgn_values(&((const pgn_checked *) context)->r->headers_in.headers, name, found, capacity);
}

static playgate_slice host_of(ngx_http_request_t *r) {
    if (r->headers_in.server.len > 0) return pgn_slice(r->headers_in.server);
    ngx_http_core_srv_conf_t *server = ngx_http_get_module_srv_conf(r, ngx_http_core_module);
    return pgn_slice(server->server_name);
}

static const char *scheme_of(ngx_http_request_t *r) {
#if (NGX_HTTP_SSL)
    if (r->connection->ssl != NULL) return "https";
#endif
    return "http";
}

/// The facts that the page's sub-request states, by the same names: `$request_method`, `$host`, `$scheme`, `$remote_addr`.
static int state(void *context, playgate_request *facts) {
    const pgn_checked *checked = context;
    ngx_http_request_t *r = checked->r;
    ngx_http_core_srv_conf_t *server = ngx_http_get_module_srv_conf(r, ngx_http_core_module);
    ngx_time_t *now = ngx_timeofday();
    // nginx resolves paths, but forwards empty segments as they are if it does not merge slashes.
    if (!server->merge_slashes) facts->flags |= PLAYGATE_REQUEST_AS_IS;
    facts->now = (int64_t) now->sec * 1000 + (int64_t) now->msec;
    facts->method = pgn_slice(r->main->method_name);
    facts->scheme = slice_of(scheme_of(r));
    facts->host = host_of(r);
    // A unix socket has no address.
    if (r->connection->sockaddr->sa_family != AF_UNIX) facts->client = pgn_slice(r->connection->addr_text);
    return pgn_state_connection(checked, facts) == NGX_OK ? 0 : -1;
}

static void *allocate(void *context, size_t size) { return ngx_pnalloc(((const pgn_checked *) context)->r->pool, size); }

const edge_server pgn_server = {
    .dialect = PLAYGATE_RESOLVED,
    .values = values,
    .state = state,
    .allocate = allocate,
};

// MARK: Place and connection

static const char *const names[PGN_FACTS] = {"country=", "asn=", "position="};

static ngx_int_t compile(ngx_conf_t *cf, ngx_str_t text, ngx_http_complex_value_t **value) {
    ngx_http_compile_complex_value_t compiler;
    *value = ngx_pcalloc(cf->pool, sizeof(**value));
    if (*value == NULL) return NGX_ERROR;
    ngx_memzero(&compiler, sizeof(compiler));
    compiler.cf = cf;
    compiler.value = &text;
    compiler.complex_value = *value;
    return ngx_http_compile_complex_value(&compiler);
}

char *pgn_set_facts(ngx_conf_t *cf, ngx_command_t *command, void *data) {
    pgn_loc_conf *conf = data;
    ngx_str_t *words = cf->args->elts;
    for (ngx_uint_t at = 1; at < cf->args->nelts; at++) {
        ngx_uint_t fact = 0;
        while (fact < PGN_FACTS && ngx_strncmp(words[at].data, names[fact], ngx_strlen(names[fact])) != 0) fact++;
        if (fact == PGN_FACTS) return "takes country=VALUE, asn=VALUE and position=VALUE";
        if (conf->facts[fact] != NULL) return "is duplicate";
        size_t length = ngx_strlen(names[fact]);
        ngx_str_t text = {words[at].len - length, words[at].data + length};
        if (compile(cf, text, &conf->facts[fact]) != NGX_OK) return NGX_CONF_ERROR;
    }
    return NGX_CONF_OK;
}

/// The DER of the key for which the client has shown a certificate: the handshake has proved that it has the private one. Empty
/// if it has shown none.
static ngx_int_t client_key(ngx_http_request_t *r, ngx_str_t *key) {
    ngx_str_null(key);
#if (NGX_HTTP_SSL)
    X509 *certificate = r->connection->ssl != NULL ? SSL_get_peer_certificate(r->connection->ssl->connection) : NULL;
    if (certificate == NULL) return NGX_OK;
    X509_PUBKEY *info = X509_get_X509_PUBKEY(certificate);
    int length = info != NULL ? i2d_X509_PUBKEY(info, NULL) : 0;
    u_char *end = key->data = length > 0 ? ngx_pnalloc(r->pool, (size_t) length) : NULL;
    if (end != NULL && i2d_X509_PUBKEY(info, &end) == length) key->len = (size_t) length;
    X509_free(certificate);
    return key->len > 0 ? NGX_OK : NGX_ERROR;
#else
    return NGX_OK;
#endif
}

static ngx_int_t state_connection(ngx_http_request_t *r, playgate_request *facts) {
#if (NGX_HTTP_SSL)
    const u_char *protocol = NULL;
    unsigned int length = 0;
    ngx_str_t key;
    // Without TLS here, it may have ended before: nothing is known of it.
    if (r->connection->ssl == NULL) return NGX_OK;
    if (client_key(r, &key) != NGX_OK) return NGX_ERROR;
#ifdef TLSEXT_TYPE_application_layer_protocol_negotiation
    SSL_get0_alpn_selected(r->connection->ssl->connection, &protocol, &length);
#endif
    facts->alpn = (playgate_slice) {(const char *) protocol, length};
    facts->client_key = pgn_slice(key);
    facts->flags |= PLAYGATE_REQUEST_TLS_KNOWN;
#endif
    return NGX_OK;
}

ngx_int_t pgn_state_connection(const pgn_checked *checked, playgate_request *facts) {
    ngx_str_t texts[PGN_FACTS];
    ngx_memzero(texts, sizeof(texts));
    for (ngx_uint_t fact = 0; fact < PGN_FACTS; fact++) {
        ngx_http_complex_value_t *value = checked->conf->facts[fact];
        if (value != NULL && ngx_http_complex_value(checked->r, value, &texts[fact]) != NGX_OK) return NGX_ERROR;
    }
    facts->countries = pgn_slice(texts[PGN_COUNTRY]);
    facts->position = pgn_slice(texts[PGN_POSITION]);
    // A number that cannot be read is not known, nor is one with more digits than any has.
    int64_t number = texts[PGN_ASN].len > 10 ? -1 : slice_number(pgn_slice(texts[PGN_ASN]), UINT32_MAX);
    facts->client_asn = number < 0 ? 0 : (uint32_t) number;
    return state_connection(checked->r, facts);
}

ngx_int_t pgn_client_key(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t unused) {
    ngx_str_t key, text;
    if (client_key(r, &key) != NGX_OK) return NGX_ERROR;
    value->not_found = key.len == 0;
    if (key.len == 0) return NGX_OK;
    text.data = ngx_pnalloc(r->pool, ngx_base64_encoded_length(key.len));
    if (text.data == NULL) return NGX_ERROR;
    ngx_encode_base64(&text, &key);
    value->valid = 1;
    value->no_cacheable = 0;
    value->data = text.data;
    value->len = (unsigned) text.len;
    return NGX_OK;
}
