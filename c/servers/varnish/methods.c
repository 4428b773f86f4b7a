// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// What was decided, for VCL.

#include "vmod_playgate.h"

/// What was decided about the request of a client, for any of its subroutines; null if nothing was.
static const edge_outcome *outcome_of(VRT_CTX, const struct vmod_playgate_policy *gate) {
    const struct vmod_priv *private = ctx->req == NULL ? NULL : VRT_priv_task_get(ctx, gate);
    const pgv_task *task = private == NULL ? NULL : private->priv;
    return task != NULL && task->magic == PGV_TASK_MAGIC ? &task->outcome : NULL;
}

/// A method that returns a text of the decision.
#define TEXT(member) \
    VCL_STRING vmod_policy_##member(VRT_CTX, struct vmod_playgate_policy *gate) { \
        const edge_outcome *outcome = outcome_of(ctx, gate); \
        return outcome == NULL ? NULL : outcome->member; \
    }

TEXT(code)
TEXT(trace)
TEXT(session)
TEXT(mvpd)
TEXT(resource)
TEXT(set_cookie)

VCL_STRING vmod_policy_grant_header(VRT_CTX, struct vmod_playgate_policy *gate) {
    const edge_outcome *outcome = outcome_of(ctx, gate);
    return outcome != NULL && (outcome->flags & PLAYGATE_ANSWER_GRANT_HEADER) ? outcome->grant : NULL;
}

VCL_INT vmod_policy_status(VRT_CTX, struct vmod_playgate_policy *gate) {
    const edge_outcome *outcome = outcome_of(ctx, gate);
    return outcome == NULL ? 503 : outcome->status;
}

VCL_TIME vmod_policy_expires(VRT_CTX, struct vmod_playgate_policy *gate) {
    const edge_outcome *outcome = outcome_of(ctx, gate);
    return outcome == NULL ? 0 : (VCL_TIME)outcome->expires / 1000;
}
