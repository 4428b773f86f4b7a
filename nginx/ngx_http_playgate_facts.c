// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

#if (NGX_HTTP_SSL)
#include <openssl/x509.h>
#endif

// Facts that few grants are bound to: the client's TLS connection, and what the operator's variables say of its place.

static const char *const names[PG_FACTS] = {"country=", "asn=", "position="};

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

char *pg_set_facts(ngx_conf_t *cf, ngx_command_t *command, void *data) {
    pg_loc_conf *conf = data;
    ngx_str_t *words = cf->args->elts;
    for (ngx_uint_t place = 1; place < cf->args->nelts; place++) {
        ngx_uint_t fact = 0;
        while (fact < PG_FACTS && ngx_strncmp(words[place].data, names[fact], ngx_strlen(names[fact])) != 0) fact++;
        if (fact == PG_FACTS) return "takes country=VALUE, asn=VALUE and position=VALUE";
        if (conf->facts[fact] != NULL) return "is duplicate";
        size_t length = ngx_strlen(names[fact]);
        ngx_str_t text = {words[place].len - length, words[place].data + length};
        if (compile(cf, text, &conf->facts[fact]) != NGX_OK) return NGX_CONF_ERROR;
    }
    return NGX_CONF_OK;
}

/// The number in a text, 1 to 2^32 - 1; 0 for any other text.
static uint32_t number_of(ngx_str_t text) {
    uint64_t number = 0;
    if (text.len > 10) return 0;
    for (size_t place = 0; place < text.len; place++) {
        if (text.data[place] < '0' || text.data[place] > '9') return 0;
        number = number * 10 + (text.data[place] - '0');
    }
    return number <= UINT32_MAX ? (uint32_t) number : 0;
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

static ngx_int_t fill_connection(ngx_http_request_t *r, playgate_request *request) {
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
    request->alpn = (playgate_slice) {(const char *) protocol, length};
    request->client_key = pg_slice(key);
    request->flags |= PLAYGATE_REQUEST_TLS_KNOWN;
#endif
    return NGX_OK;
}

ngx_int_t pg_fill_facts(ngx_http_request_t *r, const pg_loc_conf *conf, playgate_request *request) {
    ngx_str_t texts[PG_FACTS];
    ngx_memzero(texts, sizeof(texts));
    for (ngx_uint_t fact = 0; fact < PG_FACTS; fact++)
        if (conf->facts[fact] != NULL && ngx_http_complex_value(r, conf->facts[fact], &texts[fact]) != NGX_OK) return NGX_ERROR;
    request->countries = pg_slice(texts[PG_COUNTRY]);
    request->position = pg_slice(texts[PG_POSITION]);
    // A number that cannot be read is not known.
    request->client_asn = number_of(texts[PG_ASN]);
    return fill_connection(r, request);
}

ngx_int_t pg_client_key(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t unused) {
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
