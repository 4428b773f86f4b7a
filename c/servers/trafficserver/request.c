// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The facts of a request, and the check.

#include "playgate_trafficserver.h"

#include <slice.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

/// A request that is checked: the context of its check.
typedef struct {
    TSHttpTxn transaction;
    pgt_ctx *ctx;
    pgt_header fields;
    pgt_url client_url;
    char host[PGT_HOST_LIMIT];
    char client[64];
} checked;

// MARK: Fields

size_t pgt_values(void *header, playgate_slice name, playgate_slice *values, size_t capacity) {
    const pgt_header *fields = header;
    size_t count = 0;
    TSMLoc field = TSMimeHdrFieldFind(fields->buffer, fields->header, name.bytes, (int)name.length);
    while (field != TS_NULL_MLOC) {
        int length = 0;
        const char *bytes = TSMimeHdrFieldValueStringGet(fields->buffer, fields->header, field, -1, &length);
        if (count < capacity) values[count] = slice_trimmed((playgate_slice){bytes, bytes == NULL || length < 0 ? 0 : (size_t)length});
        count++;
        TSMLoc next = TSMimeHdrFieldNextDup(fields->buffer, fields->header, field);
        TSHandleMLocRelease(fields->buffer, fields->header, field);
        field = next;
    }
    return count;
}

void pgt_remove_field(const pgt_header *fields, playgate_slice name) {
    TSMLoc field;
    while ((field = TSMimeHdrFieldFind(fields->buffer, fields->header, name.bytes, (int)name.length)) != TS_NULL_MLOC) {
        TSReturnCode result = TSMimeHdrFieldDestroy(fields->buffer, fields->header, field);
        TSHandleMLocRelease(fields->buffer, fields->header, field);
        if (result != TS_SUCCESS) return;
    }
}

void pgt_remove_own_fields(const pgt_header *fields) {
    TSMLoc field = TSMimeHdrFieldGet(fields->buffer, fields->header, 0);
    while (field != TS_NULL_MLOC) {
        TSMLoc next = TSMimeHdrFieldNext(fields->buffer, fields->header, field);
        int length = 0;
        const char *name = TSMimeHdrFieldNameGet(fields->buffer, fields->header, field, &length);
        if (name != NULL && length > 0 && edge_is_own_name((playgate_slice){name, (size_t)length}))
            TSMimeHdrFieldDestroy(fields->buffer, fields->header, field);
        TSHandleMLocRelease(fields->buffer, fields->header, field);
        field = next;
    }
}

// MARK: Facts

/// The host that Traffic Server has chosen the remap line by: that of the URL, or else of `Host`. Empty if it is too long.
static playgate_slice host_of(const pgt_url *url, char *text, size_t size) {
    int length = 0, port = TSUrlRawPortGet(url->buffer, url->url);
    const char *host = TSUrlHostGet(url->buffer, url->url, &length);
    if (host == NULL || length <= 0) return slice_of(NULL);
    // Of an IPv6 address, versions of Traffic Server give both brackets, none, or the second alone.
    if (host[0] == '[') host++, length--;
    if (length > 0 && host[length - 1] == ']') length--;
    int is_address = memchr(host, ':', (size_t)length) != NULL;
    int written = snprintf(text, size, "%s%.*s%s", is_address ? "[" : "", length, host, is_address ? "]" : "");
    if (written > 0 && (size_t)written < size && port > 0) written += snprintf(text + written, size - (size_t)written, ":%d", port);
    return (playgate_slice){text, written > 0 && (size_t)written < size ? (size_t)written : 0};
}

/// The client's address; a unix socket has none.
static playgate_slice client_of(TSHttpTxn transaction, char *text, size_t size) {
    const struct sockaddr *address = TSHttpTxnClientAddrGet(transaction);
    if (address == NULL) return slice_of(NULL);
    if (address->sa_family == AF_INET)
        return slice_of(inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, text, (socklen_t)size));
    if (address->sa_family != AF_INET6) return slice_of(NULL);
    return slice_of(inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, text, (socklen_t)size));
}

static int state(void *context, playgate_request *facts) {
    checked *request = context;
    const char *scheme = request->ctx->line->rule.settings.scheme;
    int length = 0;
    const char *method = TSHttpHdrMethodGet(request->fields.buffer, request->fields.header, &length);
    facts->method = (playgate_slice){method, method == NULL || length < 0 ? 0 : (size_t)length};
    // A URL may name any scheme, and the connection says what it is.
    if (scheme == NULL) scheme = TSHttpTxnClientProtocolStackContains(request->transaction, "tls") != NULL ? "https" : "http";
    facts->scheme = slice_of(scheme);
    facts->host = host_of(&request->client_url, request->host, sizeof(request->host));
    facts->client = client_of(request->transaction, request->client, sizeof(request->client));
    return 0;
}

// MARK: The server

static size_t values(void *context, playgate_slice name, playgate_slice *found, size_t capacity) {
    return pgt_values(&((checked *)context)->fields, name, found, capacity);
}

static void *allocate(void *context, size_t size) { return pgt_allocate(((checked *)context)->ctx, size); }

static void remove_field(void *context, playgate_slice name) { pgt_remove_field(&((checked *)context)->fields, name); }

static void count_event(void *context, edge_event event) {
    (void)context;
    pgt_count(event);
}

const edge_server pgt_server = {
    // Traffic Server forwards paths as they are.
    .flags = PLAYGATE_REQUEST_AS_IS,
    .dialect = PLAYGATE_FORWARD,
    .values = values,
    .state = state,
    .allocate = allocate,
    .remove_field = remove_field,
    .count = count_event,
};

// MARK: The check

/// Removes tokens from the header and from both URLs, of which the remap line has changed one: that one has the same tokens.
/// Returns 0, or -1 if it has not. The memory is that of the check's target, which is used up.
static int strip(const edge_check *check, const pgt_url *url, char *text, char *rest) {
    const checked *request = check->context;
    uint32_t count = check->cut.found_count;
    playgate_cut cut;
    edge_check_remove_fields(check, 1);
    if (count == 0) return 0;
    pgt_set_target(&request->client_url, check->cut.target);
    playgate_slice whole = pgt_target(url, text);
    if (edge_cut(&check->rule->cut, whole, rest, EDGE_TARGET_LIMIT, &cut) != 0 || cut.found_count != count) return -1;
    pgt_set_target(url, cut.target);
    return 0;
}

/// Refuses what cannot be told: no origin, cache or log gets its target.
static void close_request(edge_check *check, const pgt_url *client, const pgt_url *url) {
    pgt_ctx *ctx = ((checked *)check->context)->ctx;
    check->is_unreadable = 1;
    if (client != NULL) pgt_set_target(client, slice_of("/"));
    pgt_set_target(url, slice_of("/"));
    pgt_free_question(ctx->subrequest);
    ctx->subrequest = NULL;
}

void pgt_check(TSHttpTxn transaction, const pgt_header *fields, const pgt_url *url, pgt_ctx *ctx) {
    char texts[PLAYGATE_BUFFER_SIZE], text[EDGE_TARGET_LIMIT], rest[EDGE_TARGET_LIMIT];
    checked request = {.transaction = transaction, .ctx = ctx, .fields = *fields};
    edge_check check = {.server = &pgt_server, .context = &request, .rule = &ctx->line->rule};
    check.location = check.rule->location;
    check.location_number = check.rule->location_number;
    check.answer.buffer = texts;
    check.answer.capacity = sizeof(texts);
    if (TSHttpTxnPristineUrlGet(transaction, &request.client_url.buffer, &request.client_url.url) != TS_SUCCESS) {
        close_request(&check, NULL, url);
        edge_refuse(&ctx->outcome, "internal_failure", 503);
        ctx->outcome.is_unreadable = 1;
        return;
    }
    check.target = pgt_target(&request.client_url, text);
    edge_check_run(&check, rest, sizeof(rest));
    if (check.is_asked) ctx->subrequest = pgt_make_question(transaction, &check);
    edge_check_take(&check, &ctx->outcome);
    if (check.is_unreadable) {
        close_request(&check, &request.client_url, url);
    } else if (strip(&check, url, text, rest) != 0) {
        close_request(&check, &request.client_url, url);
        edge_refuse(&ctx->outcome, "internal_failure", 503);
        ctx->outcome.is_unreadable = 1;
    }
}
