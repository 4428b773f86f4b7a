// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// What the client sees.

#include "playgate_trafficserver.h"

#include <slice.h>

#include <stdio.h>
#include <stdlib.h>

void *pgt_allocate(void *context, size_t size) {
    pgt_ctx *ctx = context;
    free(ctx->texts);
    return ctx->texts = malloc(size);
}

void pgt_free_ctx(pgt_ctx *ctx) {
    if (ctx == NULL) return;
    pgt_free_question(ctx->subrequest);
    free(ctx->texts);
    free(ctx);
}

void pgt_apply(TSHttpTxn transaction, const pgt_ctx *ctx) {
    const edge_outcome *outcome = &ctx->outcome;
    if (!ctx->is_preflight) pgt_count(outcome->outcome == PLAYGATE_ALLOW ? EDGE_ALLOWED : EDGE_REFUSED);
    if (pgt_passes(ctx)) return;
    char text[128];
    int length = snprintf(text, sizeof(text), "%s\n", ctx->is_preflight ? "" : outcome->code);
    if (ctx->is_preflight || length < 0 || (size_t)length >= sizeof(text)) length = 0;
    TSHttpTxnStatusSet(transaction, ctx->is_preflight ? TS_HTTP_STATUS_NO_CONTENT : (TSHttpStatus)outcome->status);
    // Both are freed by Traffic Server.
    TSHttpTxnErrorBodySet(transaction, TSstrndup(text, (size_t)length), (size_t)length, TSstrdup("text/plain"));
}

void pgt_revoke(TSHttpTxn transaction, pgt_ctx *ctx) {
    pgt_free_question(ctx->subrequest);
    ctx->subrequest = NULL;
    ctx->is_preflight = 0;
    edge_refuse(&ctx->outcome, "internal_failure", 503);
    // In shadow mode too.
    ctx->outcome.is_unreadable = 1;
    pgt_apply(transaction, ctx);
}

// MARK: Responses

/// Adds a field.
static int add_field(void *context, const char *name, const char *value) {
    const pgt_header *fields = context;
    TSMLoc field;
    if (TSMimeHdrFieldCreateNamed(fields->buffer, fields->header, name, (int)strlen(name), &field) != TS_SUCCESS) return -1;
    int failed = TSMimeHdrFieldValueStringSet(fields->buffer, fields->header, field, -1, value, (int)strlen(value)) != TS_SUCCESS
        || TSMimeHdrFieldAppend(fields->buffer, fields->header, field) != TS_SUCCESS;
    TSHandleMLocRelease(fields->buffer, fields->header, field);
    return failed ? -1 : 0;
}

/// Puts a field in the place of those of an origin.
static int set_field(void *context, const char *name, const char *value) {
    pgt_remove_field(context, slice_of(name));
    return value == NULL ? 0 : add_field(context, name, value);
}

/// A new grant is in the place of the origin's, beside the cookies that it may set.
static int hand_over(void *context, const char *name, const char *value) {
    return strcmp(name, "Set-Cookie") == 0 ? add_field(context, name, value) : set_field(context, name, value);
}

static int mark(pgt_header *fields, const pgt_ctx *ctx) {
    const edge_settings *settings = &ctx->line->rule.settings;
    TSHttpStatus status = TSHttpHdrStatusGet(fields->buffer, fields->header);
    playgate_slice values[EDGE_FIELDS_LIMIT];
    if (ctx->is_preflight) return 0;
    // A refusal that was decided, and an answer that was not, may not be a success.
    if (!pgt_passes(ctx) && status < TS_HTTP_STATUS_BAD_REQUEST) return -1;
    pgt_remove_own_fields(fields);
    if (!pgt_passes(ctx)) return edge_mark_refusal(&ctx->outcome, set_field, fields);
    // They are good until a field is changed.
    size_t count = settings->is_private ? pgt_values(fields, slice_of("Cache-Control"), values, EDGE_FIELDS_LIMIT) : 0;
    if (edge_mark_response(&ctx->outcome, settings, (int)status, values, count, set_field, fields) != 0) return -1;
    return settings->sets_cookie ? edge_deliver(&ctx->outcome, hand_over, fields) : 0;
}

int pgt_mark_response(TSHttpTxn transaction, const pgt_ctx *ctx) {
    pgt_header fields;
    if (TSHttpTxnClientRespGet(transaction, &fields.buffer, &fields.header) != TS_SUCCESS) return -1;
    int result = mark(&fields, ctx);
    TSHandleMLocRelease(fields.buffer, TS_NULL_MLOC, fields.header);
    return result;
}
