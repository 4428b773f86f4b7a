// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The facts of a request, as the library takes them.

#include "vmod_playgate.h"

#include <arpa/inet.h>
#include <vsa.h>

/// Cuts a field into name and value. Returns 0 if it is none.
static int read_field(const struct http *http, unsigned place, playgate_slice *name, playgate_slice *value) {
    const char *start = http->hd[place].b, *end = http->hd[place].e;
    const char *mark = start == NULL ? NULL : memchr(start, ':', (size_t)(end - start));
    if (mark == NULL) return 0;
    *name = (playgate_slice){start, (size_t)(mark - start)};
    *value = edge_trimmed((playgate_slice){mark + 1, (size_t)(end - mark) - 1});
    return 1;
}

size_t pg_field_values(void *context, playgate_slice wanted, playgate_slice *values, size_t capacity) {
    const struct http *http = context;
    playgate_slice name, value;
    size_t count = 0;
    for (unsigned place = HTTP_HDR_FIRST; place < http->nhd; place++) {
        if (!read_field(http, place, &name, &value) || !edge_same_name(name, wanted)) continue;
        if (count < capacity) values[count] = value;
        count++;
    }
    return count;
}

/// The client's address, with that of the PROXY protocol if there is one. A unix socket has none: Varnish says 0.0.0.0.
static playgate_slice client_of(VRT_CTX, char *text, size_t size) {
    static const unsigned char nobody[4];
    const unsigned char *bytes = NULL;
    VCL_IP address = VRT_r_client_ip(ctx);
    int family = address == NULL ? 0 : VSA_GetPtr(address, &bytes);
    if ((family != AF_INET && family != AF_INET6) || (family == AF_INET && memcmp(bytes, nobody, 4) == 0)) return edge_slice(NULL);
    return edge_slice(inet_ntop(family, bytes, text, (socklen_t)size));
}

void pg_fill_request(VRT_CTX, const char *scheme, pg_facts *facts) {
    struct http *http = ctx->http_req;
    playgate_request *request = &facts->request;
    memset(request, 0, sizeof(*request));
    request->size = sizeof(*request);
    // Varnish forwards paths as they are.
    request->flags = facts->cut.flags | PLAYGATE_REQUEST_AS_IS | (edge_is_partial(pg_field_values, http) ? PLAYGATE_REQUEST_PARTIAL : 0);
    request->now = (int64_t)(ctx->now * 1000);
    request->method = edge_slice(http->hd[HTTP_HDR_METHOD].b);
    request->target = facts->cut.target;
    request->scheme = edge_slice(scheme);
    request->host = edge_first_value(pg_field_values, http, "host");
    request->client = client_of(ctx, facts->client, sizeof(facts->client));
    request->header_values = pg_field_values;
    request->header_context = http;
    request->traceparent = edge_first_value(pg_field_values, http, "traceparent");
    request->tokens = facts->tokens.values;
    request->token_count = facts->tokens.count;
    request->grants = facts->grants.values;
    request->grant_count = facts->grants.count;
}

// MARK: Fields of the gate

static int is_own(const struct http *http, unsigned place) {
    playgate_slice name, value;
    return read_field(http, place, &name, &value) && edge_is_own_name(name);
}

void pg_remove_own_fields(struct http *http) {
    unsigned kept = HTTP_HDR_FIRST;
    for (unsigned place = HTTP_HDR_FIRST; place < http->nhd; place++) {
        if (is_own(http, place)) {
            VSLbt(http->vsl, SLT_ReqUnset, http->hd[place]);
            continue;
        }
        http->hd[kept] = http->hd[place];
        http->hdf[kept] = http->hdf[place];
        kept++;
    }
    http->nhd = (uint16_t)kept;
}
