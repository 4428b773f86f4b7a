// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The facts of a request.

#include "vmod_playgate.h"

#include <slice.h>

#include <arpa/inet.h>
#include <vsa.h>

/// Cuts a field into name and value. Returns 0 if it is none.
static int read_field(const struct http *http, unsigned number, playgate_slice *name, playgate_slice *value) {
    const char *start = http->hd[number].b, *end = http->hd[number].e;
    const char *mark = start == NULL ? NULL : memchr(start, ':', (size_t)(end - start));
    if (mark == NULL) return 0;
    *name = (playgate_slice){start, (size_t)(mark - start)};
    *value = slice_trimmed((playgate_slice){mark + 1, (size_t)(end - mark) - 1});
    return 1;
}

static size_t values(void *context, playgate_slice wanted, playgate_slice *found, size_t capacity) {
    const struct http *http = ((const pgv_request *)context)->ctx->http_req;
    playgate_slice name, value;
    size_t count = 0;
    for (unsigned at = HTTP_HDR_FIRST; at < http->nhd; at++) {
        if (!read_field(http, at, &name, &value) || !slice_is_name(name, wanted)) continue;
        if (count < capacity) found[count] = value;
        count++;
    }
    return count;
}

/// The client's address, with that of the PROXY protocol if there is one. A unix socket has none: Varnish says 0.0.0.0.
static playgate_slice client_of(const struct vrt_ctx *ctx, char *text, size_t size) {
    static const unsigned char nobody[4];
    const unsigned char *bytes = NULL;
    VCL_IP address = VRT_r_client_ip(ctx);
    int family = address == NULL ? 0 : VSA_GetPtr(address, &bytes);
    if ((family != AF_INET && family != AF_INET6) || (family == AF_INET && memcmp(bytes, nobody, 4) == 0)) return slice_of(NULL);
    return slice_of(inet_ntop(family, bytes, text, (socklen_t)size));
}

static int state(void *context, playgate_request *facts) {
    pgv_request *request = context;
    facts->now = (int64_t)(request->ctx->now * 1000);
    facts->method = slice_of(request->ctx->http_req->hd[HTTP_HDR_METHOD].b);
    facts->scheme = slice_of(request->scheme);
    facts->host = edge_first_value(values, request, "host");
    facts->client = client_of(request->ctx, request->client, sizeof(request->client));
    return 0;
}

static void *allocate(void *context, size_t size) { return WS_Alloc(((pgv_request *)context)->ctx->ws, (unsigned)size); }

/// Answers that are remembered are counted by their memory.
static void count_event(void *context, edge_event event) {
    const struct vmod_playgate_policy *gate = ((const pgv_request *)context)->gate;
    if (event == EDGE_ASKED) PGV_COUNT(gate, asked);
    if (event == EDGE_ASK_FAILED) PGV_COUNT(gate, ask_failed);
}

const edge_server pgv_server = {
    // Varnish forwards paths as they are.
    .flags = PLAYGATE_REQUEST_AS_IS,
    .dialect = PLAYGATE_FORWARD,
    .values = values,
    .state = state,
    .allocate = allocate,
    .count = count_event,
};

// MARK: Fields of the gate

static int is_own(const struct http *http, unsigned number) {
    playgate_slice name, value;
    return read_field(http, number, &name, &value) && edge_is_own_name(name);
}

void pgv_remove_own_fields(struct http *http) {
    unsigned kept = HTTP_HDR_FIRST;
    for (unsigned at = HTTP_HDR_FIRST; at < http->nhd; at++) {
        if (is_own(http, at)) {
            VSLbt(http->vsl, SLT_ReqUnset, http->hd[at]);
            continue;
        }
        http->hd[kept] = http->hd[at];
        http->hdf[kept] = http->hdf[at];
        kept++;
    }
    http->nhd = (uint16_t)kept;
}
