// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// What the decision about a request says, for VCL.

#include "vmod_playgate.h"

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

/// Percent-encodes a text as the service does in its header fields, so that it can be logged and sent to an origin.
static const char *encoded(VRT_CTX, playgate_slice text, int *failed) {
    char bytes[3 * PG_TEXT_LIMIT];
    if (text.length > PG_TEXT_LIMIT) return NULL;
    return copied(ctx, (playgate_slice){bytes, edge_encode(text, "-._~:/@+=", bytes, sizeof(bytes))}, failed);
}

/// A text that can be a header field's value: the library and the service write no others.
static const char *field_text(VRT_CTX, playgate_slice text, int *failed) {
    return edge_is_field_text(text) ? copied(ctx, text, failed) : NULL;
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
    if (answer->outcome == PLAYGATE_REFUSE) task->status = edge_status(answer->status, name);
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
