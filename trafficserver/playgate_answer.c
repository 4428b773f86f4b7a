// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// What the decision about a request says, and what is done to the response.

#include "playgate_plugin.h"

#include <stdio.h>

/// A copy of a text that can be a header field's value: the library and the service write no others. Null for none, and for one
/// without memory, of which `failed` is told.
static char *field_text(playgate_slice text, int *failed) {
    if (!edge_is_field_text(text)) return NULL;
    char *copy = strndup(text.bytes, text.length);
    if (copy == NULL) *failed = 1;
    return copy;
}

static void forget(pg_ctx *ctx) {
    free(ctx->trace);
    free(ctx->set_cookie);
    free(ctx->grant);
    ctx->trace = ctx->set_cookie = ctx->grant = NULL;
}

void pg_free_ctx(pg_ctx *ctx) {
    if (ctx == NULL) return;
    forget(ctx);
    pg_free_question(ctx->question);
    free(ctx);
}

void pg_take_answer(pg_ctx *ctx, const playgate_answer *answer) {
    const char *name = playgate_code_name(answer->code);
    int failed = name == NULL;
    forget(ctx);
    ctx->is_allowed = 0;
    ctx->status = 503;
    ctx->code = name == NULL ? "internal_failure" : name;
    ctx->trace = field_text(answer->trace, &failed);
    if (!failed && answer->outcome == PLAYGATE_REFUSE) ctx->status = edge_status(answer->status, name);
    if (failed || answer->outcome != PLAYGATE_ALLOW) return;
    if (ctx->rule->sets_cookie) {
        ctx->set_cookie = field_text(answer->set_cookie, &failed);
        if (answer->flags & PLAYGATE_ANSWER_GRANT_HEADER) ctx->grant = field_text(answer->grant, &failed);
    }
    if (failed) return;
    ctx->is_allowed = 1;
    ctx->status = 200;
}

void pg_apply(TSHttpTxn transaction, const pg_ctx *ctx) {
    if (!ctx->is_preflight) pg_count(ctx->is_allowed ? PG_ALLOWED : PG_REFUSED);
    if (pg_passes(ctx)) return;
    char text[128];
    int length = snprintf(text, sizeof(text), "%s\n", ctx->is_preflight ? "" : ctx->code);
    if (ctx->is_preflight || length < 0 || (size_t)length >= sizeof(text)) length = 0;
    TSHttpTxnStatusSet(transaction, (TSHttpStatus)ctx->status);
    // Both are freed by Traffic Server.
    TSHttpTxnErrorBodySet(transaction, TSstrndup(text, (size_t)length), (size_t)length, TSstrdup("text/plain"));
}

void pg_revoke(TSHttpTxn transaction, pg_ctx *ctx) {
    playgate_answer answer = {.size = 0};
    pg_free_question(ctx->question);
    ctx->question = NULL;
    ctx->is_preflight = ctx->is_shadow = 0;
    edge_refuse(&answer, PLAYGATE_REFUSE, "internal_failure", 503);
    pg_take_answer(ctx, &answer);
    pg_apply(transaction, ctx);
}

// MARK: Responses

/// Adds a field. Returns 0, or -1.
static int add_field(const pg_header *fields, const char *name, const char *value) {
    TSMLoc field;
    if (TSMimeHdrFieldCreateNamed(fields->buffer, fields->header, name, (int)strlen(name), &field) != TS_SUCCESS) return -1;
    int failed = TSMimeHdrFieldValueStringSet(fields->buffer, fields->header, field, -1, value, (int)strlen(value)) != TS_SUCCESS
        || TSMimeHdrFieldAppend(fields->buffer, fields->header, field) != TS_SUCCESS;
    TSHandleMLocRelease(fields->buffer, fields->header, field);
    return failed ? -1 : 0;
}

/// Puts a field in the place of those of an origin.
static int set_field(const pg_header *fields, const char *name, const char *value) {
    pg_remove_field(fields, edge_slice(name));
    return value == NULL ? 0 : add_field(fields, name, value);
}

static int keep_private(const pg_header *fields) {
    playgate_slice values[EDGE_FIELDS_LIMIT];
    char text[EDGE_CACHE_CONTROL_SIZE];
    size_t count = pg_field_values((void *)(uintptr_t)fields, edge_slice("Cache-Control"), values, EDGE_FIELDS_LIMIT);
    edge_cache_control((int)TSHttpHdrStatusGet(fields->buffer, fields->header), values, count, text);
    pg_remove_field(fields, edge_slice("Expires"));
    pg_remove_field(fields, edge_slice("Set-Cookie"));
    return set_field(fields, "Cache-Control", text);
}

static int mark(const pg_header *fields, const pg_ctx *ctx) {
    // A refusal that was decided, and an answer that was not, may not be a success.
    TSHttpStatus status = TSHttpHdrStatusGet(fields->buffer, fields->header);
    if (ctx->is_preflight) return 0;
    if (!pg_passes(ctx) && status < TS_HTTP_STATUS_BAD_REQUEST) return -1;
    pg_remove_own_fields(fields);
    int failed = set_field(fields, "X-Playgate-Code", ctx->code) | set_field(fields, "X-Playgate-Trace", ctx->trace);
    if (!pg_passes(ctx)) {
        failed |= set_field(fields, "Cache-Control", "no-store");
        return failed | (ctx->status == 401 ? set_field(fields, "WWW-Authenticate", "MediaToken") : 0);
    }
    if (ctx->rule->is_private) failed |= keep_private(fields);
    if (ctx->set_cookie != NULL) failed |= add_field(fields, "Set-Cookie", ctx->set_cookie);
    if (ctx->grant == NULL) return failed;
    return failed | set_field(fields, "CTA-Common-Access-Token", ctx->grant) | set_field(fields, "Common-Access-Token", ctx->grant);
}

int pg_mark_response(TSHttpTxn transaction, const pg_ctx *ctx) {
    pg_header fields;
    if (TSHttpTxnClientRespGet(transaction, &fields.buffer, &fields.header) != TS_SUCCESS) return -1;
    int result = mark(&fields, ctx);
    TSHandleMLocRelease(fields.buffer, TS_NULL_MLOC, fields.header);
    return result;
}
