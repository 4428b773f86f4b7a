// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// What the decision about a request says, for VCL.

#include "vmod_playgate.h"

/// The status of a refusal, as the service states it.
static int status_of(int32_t status, const char *code) {
    static const struct { const char *code; int status; } known[] = {
        {"unknown_media", 404}, {"invalid_path", 404}, {"internal_failure", 503}, {"replay_store_full", 503},
        {"replay_store_unavailable", 503}, {"gate_overloaded", 503},
    };
    for (size_t place = 0; place < sizeof(known) / sizeof(known[0]); place++)
        if (strcmp(code, known[place].code) == 0) return known[place].status;
    return status == 401 || status == 404 || status == 503 ? status : 403;
}

/// Copies a text, terminated. Null for an empty one, and for one without memory, of which `failed` is told.
static const char *copied(VRT_CTX, playgate_slice text, int *failed) {
    if (text.length == 0) return NULL;
    char *copy = WS_Alloc(ctx->ws, (unsigned)text.length + 1);
    if (copy == NULL) {
        *failed = 1;
        return NULL;
    }
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    return copy;
}

static int is_harmless(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9')
        || (byte != '\0' && strchr("-._~:/@+=", byte) != NULL);
}

/// Percent-encodes a text as the service does in its header fields, so that it can be logged and sent to an origin.
static const char *encoded(VRT_CTX, playgate_slice text, int *failed) {
    static const char digits[] = "0123456789ABCDEF";
    char bytes[3 * PG_TEXT_LIMIT], *end = bytes;
    if (text.length > PG_TEXT_LIMIT) return NULL;
    for (size_t place = 0; place < text.length; place++) {
        unsigned char byte = (unsigned char)text.bytes[place];
        if (is_harmless((char)byte)) {
            *end++ = (char)byte;
            continue;
        }
        *end++ = '%';
        *end++ = digits[byte >> 4];
        *end++ = digits[byte & 15];
    }
    return copied(ctx, (playgate_slice){bytes, (size_t)(end - bytes)}, failed);
}

/// A text that can be a header field's value: the library and the service write no others.
static const char *field_text(VRT_CTX, playgate_slice text, int *failed) {
    for (size_t place = 0; place < text.length; place++)
        if (text.bytes[place] < 0x20 || text.bytes[place] > 0x7E) return NULL;
    return copied(ctx, text, failed);
}

int pg_take_answer(VRT_CTX, pg_task *task, const playgate_answer *answer) {
    const char *name = playgate_code_name(answer->code);
    int failed = 0;
    task->code = name == NULL ? "internal_failure" : name;
    task->is_allowed = 0;
    task->status = 503;
    task->expires = answer->expires;
    task->trace = field_text(ctx, answer->trace, &failed);
    task->session = field_text(ctx, answer->session, &failed);
    task->mvpd = encoded(ctx, answer->mvpd, &failed);
    task->resource = encoded(ctx, answer->resource, &failed);
    task->set_cookie = task->grant = NULL;
    if (failed || name == NULL) return -1;
    if (answer->outcome == PLAYGATE_REFUSE) task->status = status_of(answer->status, name);
    if (answer->outcome != PLAYGATE_ALLOW) return 0;
    task->set_cookie = field_text(ctx, answer->set_cookie, &failed);
    if (answer->flags & PLAYGATE_ANSWER_GRANT_HEADER) task->grant = field_text(ctx, answer->grant, &failed);
    if (failed) return -1;
    task->is_allowed = 1;
    task->status = 200;
    return 0;
}

// MARK: Methods

/// What was decided about the request of a client, for any of its subroutines; null if nothing was.
static const pg_task *task_of(VRT_CTX, const struct vmod_playgate_policy *gate) {
    const struct vmod_priv *private = ctx->req == NULL ? NULL : VRT_priv_task_get(ctx, gate);
    const pg_task *task = private == NULL ? NULL : private->priv;
    return task != NULL && task->magic == PG_TASK_MAGIC ? task : NULL;
}

/// A method that returns a text of the decision.
#define TEXT(member) \
    VCL_STRING vmod_policy_##member(VRT_CTX, struct vmod_playgate_policy *gate) { \
        const pg_task *task = task_of(ctx, gate); \
        return task == NULL ? NULL : task->member; \
    }

TEXT(code)
TEXT(trace)
TEXT(session)
TEXT(mvpd)
TEXT(resource)
TEXT(set_cookie)

VCL_STRING vmod_policy_grant_header(VRT_CTX, struct vmod_playgate_policy *gate) {
    const pg_task *task = task_of(ctx, gate);
    return task == NULL ? NULL : task->grant;
}

VCL_INT vmod_policy_status(VRT_CTX, struct vmod_playgate_policy *gate) {
    const pg_task *task = task_of(ctx, gate);
    return task == NULL ? 503 : task->status;
}

VCL_TIME vmod_policy_expires(VRT_CTX, struct vmod_playgate_policy *gate) {
    const pg_task *task = task_of(ctx, gate);
    return task == NULL ? 0 : (VCL_TIME)task->expires / 1000;
}
