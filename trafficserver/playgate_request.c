// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The facts of a request, as the library takes them.

#include "playgate_plugin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <time.h>

// MARK: Fields

size_t pg_field_values(void *context, playgate_slice name, playgate_slice *values, size_t capacity) {
    const pg_header *fields = context;
    size_t count = 0;
    TSMLoc field = TSMimeHdrFieldFind(fields->buffer, fields->header, name.bytes, (int)name.length);
    while (field != TS_NULL_MLOC) {
        int length = 0;
        const char *bytes = TSMimeHdrFieldValueStringGet(fields->buffer, fields->header, field, -1, &length);
        if (count < capacity)
            values[count] = edge_trimmed((playgate_slice){bytes, bytes == NULL || length < 0 ? 0 : (size_t)length});
        count++;
        TSMLoc next = TSMimeHdrFieldNextDup(fields->buffer, fields->header, field);
        TSHandleMLocRelease(fields->buffer, fields->header, field);
        field = next;
    }
    return count;
}

void pg_remove_field(const pg_header *fields, playgate_slice name) {
    TSMLoc field;
    while ((field = TSMimeHdrFieldFind(fields->buffer, fields->header, name.bytes, (int)name.length)) != TS_NULL_MLOC) {
        TSReturnCode result = TSMimeHdrFieldDestroy(fields->buffer, fields->header, field);
        TSHandleMLocRelease(fields->buffer, fields->header, field);
        if (result != TS_SUCCESS) return;
    }
}

void pg_remove_own_fields(const pg_header *fields) {
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
static playgate_slice host_of(const pg_url *url, char *text, size_t size) {
    int length = 0, port = TSUrlRawPortGet(url->buffer, url->url);
    const char *host = TSUrlHostGet(url->buffer, url->url, &length);
    if (host == NULL || length <= 0) return edge_slice(NULL);
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
    if (address == NULL) return edge_slice(NULL);
    if (address->sa_family == AF_INET)
        return edge_slice(inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, text, (socklen_t)size));
    if (address->sa_family != AF_INET6) return edge_slice(NULL);
    return edge_slice(inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, text, (socklen_t)size));
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void pg_fill_request(TSHttpTxn transaction, const pg_rule *rule, const pg_url *url, const pg_target *target, pg_facts *facts) {
    pg_header *fields = &facts->fields;
    playgate_request *request = &facts->request;
    int length = 0;
    const char *method = TSHttpHdrMethodGet(fields->buffer, fields->header, &length);
    memset(request, 0, sizeof(*request));
    request->size = sizeof(*request);
    // Traffic Server forwards paths as they are.
    request->flags = target->cut.flags | PLAYGATE_REQUEST_AS_IS | (edge_is_partial(pg_field_values, fields) ? PLAYGATE_REQUEST_PARTIAL : 0);
    request->now = now();
    request->method = (playgate_slice){method, method == NULL || length < 0 ? 0 : (size_t)length};
    request->target = target->cut.target;
    // A URL may name any scheme, and the connection says what it is.
    request->scheme = edge_slice(TSHttpTxnClientProtocolStackContains(transaction, "tls") != NULL ? "https" : "http");
    if (rule->scheme.length > 0) request->scheme = rule->scheme;
    request->host = host_of(url, facts->host, sizeof(facts->host));
    request->client = client_of(transaction, facts->client, sizeof(facts->client));
    request->header_values = pg_field_values;
    request->header_context = fields;
    request->traceparent = edge_first_value(pg_field_values, fields, "traceparent");
    request->tokens = facts->tokens.values;
    request->token_count = facts->tokens.count;
    request->grants = facts->grants.values;
    request->grant_count = facts->grants.count;
}
