// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The decision about a request.

#include "vmod_playgate.h"

static uint64_t number_of(const struct vmod_playgate_policy *gate, const pg_place *place) {
    return place == NULL ? 0 : (uint64_t)(place - gate->places) + 1;
}

/// Decides by the policy.
static void decide(struct vmod_playgate_policy *gate, const pg_place *place, const playgate_request *request,
                   playgate_answer *answer) {
    playgate_engine *engine = playgate_follower_engine(gate->follower);
    uint64_t number = number_of(gate, place);
    if (engine == NULL) {
        edge_refuse(answer, PLAYGATE_ASK, "ask_policy_stale", 503);
        return;
    }
    if (gate->memo != NULL && pg_memo_find(gate->memo, number, playgate_engine_generation(engine), request, answer)) return;
    int32_t result = playgate_check(engine, place == NULL ? NULL : place->place, request, answer);
    if (result == PLAYGATE_OK && gate->memo != NULL) pg_memo_keep(gate->memo, number, request, answer);
}

/// Asks the service, with the target as the client has sent it. What the policy has allowed stays allowed without an answer, and
/// all else stays closed.
static void ask(struct vmod_playgate_policy *gate, playgate_request *request, playgate_slice target, playgate_answer *answer) {
    char *buffer = malloc(PLAYGATE_BUFFER_SIZE);
    playgate_answer asked = {.size = sizeof(asked), .buffer = buffer, .capacity = buffer == NULL ? 0 : PLAYGATE_BUFFER_SIZE};
    PG_COUNT(gate, asked);
    request->target = target;
    if (buffer != NULL && playgate_ask(gate->asker, request, &asked) == PLAYGATE_OK) {
        free(answer->buffer);
        *answer = asked;
        return;
    }
    PG_COUNT(gate, ask_failed);
    free(buffer);
}

/// Cuts the tokens out of `req.url`. Returns 0, or -1 for a target that cannot be read, or without memory.
static int cut_target(VRT_CTX, const struct vmod_playgate_policy *gate, playgate_slice target, playgate_cut *cut) {
    if (target.length == 0 || target.length > EDGE_TARGET_LIMIT) return -1;
    char *buffer = WS_Alloc(ctx->ws, (unsigned)target.length + 1);
    if (buffer == NULL || edge_cut(&gate->target, target, buffer, target.length, cut) != 0) return -1;
    if (cut->found_count == 0) return 0;
    memmove(buffer, cut->target.bytes, cut->target.length);
    buffer[cut->target.length] = '\0';
    cut->target.bytes = buffer;
    VRT_l_req_url(ctx, buffer, vrt_null_strands);
    return 0;
}

static void answer_request(VRT_CTX, struct vmod_playgate_policy *gate, const pg_place *place, const char *scheme,
                           playgate_answer *answer) {
    pg_facts facts;
    playgate_slice target = edge_slice(ctx->http_req->hd[HTTP_HDR_URL].b);
    if (cut_target(ctx, gate, target, &facts.cut) != 0) {
        edge_refuse(answer, PLAYGATE_REFUSE, "edge_request_invalid", 403);
        return;
    }
    edge_find_values(&gate->tokens, &gate->target, &facts.cut, pg_field_values, ctx->http_req, &facts.tokens);
    edge_find_values(&gate->grants, &gate->target, &facts.cut, pg_field_values, ctx->http_req, &facts.grants);
    if (facts.tokens.overflow) {
        edge_refuse(answer, PLAYGATE_REFUSE, "token_conflict", 403);
        return;
    }
    pg_fill_request(ctx, scheme, &facts);
    if (gate->memo == NULL) facts.request.flags |= PLAYGATE_REQUEST_NOT_KEPT;
    decide(gate, place, &facts.request, answer);
    playgate_slice code = edge_slice(playgate_code_name(answer->code));
    if (gate->asker != NULL && edge_is_asked(answer->outcome, answer->flags, code, place != NULL)) ask(gate, &facts.request, target, answer);
}

// MARK: The method

static const pg_place *find_place(const struct vmod_playgate_policy *gate, const char *name) {
    for (size_t place = 0; place < gate->place_count; place++)
        if (strcmp(gate->places[place].name, name) == 0) return &gate->places[place];
    return NULL;
}

/// What is known about the request of this client; made if there is nothing. Null without memory.
static pg_task *make_task(VRT_CTX, const struct vmod_playgate_policy *gate) {
    struct vmod_priv *private = VRT_priv_task(ctx, gate);
    if (private == NULL) return NULL;
    if (private->priv == NULL && (private->priv = WS_Alloc(ctx->ws, sizeof(pg_task))) != NULL)
        memset(private->priv, 0, sizeof(pg_task));
    return private->priv;
}

/// True if the request was decided before, such as before VCL has restarted it: its token may have been consumed then, and is not
/// there any more. VCL may have removed the query.
static int is_decided(VRT_CTX, const pg_task *task, const pg_place *place, unsigned is_https) {
    const char *url = ctx->http_req->hd[HTTP_HDR_URL].b;
    if (task->magic != PG_TASK_MAGIC || task->place != place || task->is_https != is_https) return 0;
    if (url == NULL || task->target == NULL) return 0;
    size_t length = strlen(url);
    return strncmp(task->target, url, length) == 0
        && (task->target[length] == '\0' || (task->target[length] == '?' && strchr(url, '?') == NULL));
}

static void check(VRT_CTX, struct vmod_playgate_policy *gate, const pg_place *place, const char *scheme, pg_task *task) {
    playgate_answer answer = {.buffer = malloc(PLAYGATE_BUFFER_SIZE), .capacity = PLAYGATE_BUFFER_SIZE};
    edge_refuse(&answer, PLAYGATE_REFUSE, "internal_failure", 503);
    if (answer.buffer != NULL) answer_request(ctx, gate, place, scheme, &answer);
    task->magic = PG_TASK_MAGIC;
    if (pg_take_answer(ctx, task, &answer) != 0) {
        task->code = "internal_failure";
        VRT_fail(ctx, "playgate: the workspace is too small");
    }
    task->place = place;
    task->is_https = scheme == VENUM(https);
    task->target = ctx->http_req->hd[HTTP_HDR_URL].b;
    free(answer.buffer);
}

VCL_BOOL vmod_policy_check(VRT_CTX, struct vmod_playgate_policy *gate, VCL_STRING name, VCL_ENUM scheme) {
    const pg_place *place = NULL;
    if (ctx->method != VCL_MET_RECV || !gate->is_warm) {
        VRT_fail(ctx, "playgate: check() is for vcl_recv");
        return 0;
    }
    if (name != NULL && *name != '\0' && (place = find_place(gate, name)) == NULL) {
        VRT_fail(ctx, "playgate: check() names no place: %s", name);
        return 0;
    }
    pg_task *task = make_task(ctx, gate);
    if (task == NULL) {
        VRT_fail(ctx, "playgate: the workspace is too small");
        return 0;
    }
    pg_remove_own_fields(ctx->http_req);
    if (!is_decided(ctx, task, place, scheme == VENUM(https))) check(ctx, gate, place, scheme, task);
    if (task->is_allowed) PG_COUNT(gate, allowed);
    else PG_COUNT(gate, refused);
    return task->is_allowed;
}
