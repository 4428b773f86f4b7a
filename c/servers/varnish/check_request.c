// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The method that decides.

#include "vmod_playgate.h"

#include <slice.h>

#include <stdlib.h>

static const pgv_location *find_location(const struct vmod_playgate_policy *gate, const char *name) {
    for (size_t at = 0; at < gate->location_count; at++)
        if (strcmp(gate->locations[at].name, name) == 0) return &gate->locations[at];
    return NULL;
}

// MARK: The task

/// What is known about the request of this client; made if there is nothing. Null without memory.
static pgv_task *make_task(VRT_CTX, const struct vmod_playgate_policy *gate) {
    struct vmod_priv *private = VRT_priv_task(ctx, gate);
    if (private == NULL) return NULL;
    if (private->priv == NULL && (private->priv = WS_Alloc(ctx->ws, sizeof(pgv_task))) != NULL)
        memset(private->priv, 0, sizeof(pgv_task));
    return private->priv;
}

static int is_text(const char *one, const char *other) { return one != NULL && other != NULL && strcmp(one, other) == 0; }

static const char *host_of(VRT_CTX) {
    const char *host = NULL;
    return http_GetHdr(ctx->http_req, H_Host, &host) ? host : "";
}

/// True if the request was decided before, such as before VCL has restarted it: its token may have been consumed then, and is not
/// there any more. VCL may have removed the query.
static int is_decided(VRT_CTX, const pgv_task *task, const pgv_location *location, unsigned is_https) {
    const char *url = ctx->http_req->hd[HTTP_HDR_URL].b;
    if (task->magic != PGV_TASK_MAGIC || task->location != location || task->is_https != is_https) return 0;
    if (url == NULL || task->target == NULL) return 0;
    if (!is_text(task->method, ctx->http_req->hd[HTTP_HDR_METHOD].b) || !is_text(task->host, host_of(ctx))) return 0;
    size_t length = strlen(url);
    return strncmp(task->target, url, length) == 0
        && (task->target[length] == '\0' || (task->target[length] == '?' && strchr(url, '?') == NULL));
}

static void note_facts(VRT_CTX, pgv_task *task, const pgv_location *location, unsigned is_https) {
    task->magic = PGV_TASK_MAGIC;
    task->location = location;
    task->is_https = is_https;
    task->target = ctx->http_req->hd[HTTP_HDR_URL].b;
    task->method = ctx->http_req->hd[HTTP_HDR_METHOD].b;
    task->host = host_of(ctx);
}

// MARK: The check

/// Gives the request the target without tokens, in the workspace; none of it if that cannot be read, though VCL should ignore the refusal.
static void set_target(VRT_CTX, const edge_check *check, char *memory) {
    if (check->is_unreadable) VRT_l_req_url(ctx, "/", vrt_null_strands);
    if (check->is_unreadable || check->cut.found_count == 0) return;
    memory[check->cut.target.length] = '\0';
    VRT_l_req_url(ctx, memory, vrt_null_strands);
}

static void check_request(VRT_CTX, struct vmod_playgate_policy *gate, const pgv_location *location, const char *scheme, pgv_task *task) {
    char *texts = malloc(2 * PLAYGATE_BUFFER_SIZE);
    pgv_request request = {.ctx = ctx, .gate = gate, .scheme = scheme};
    edge_check check = {.server = &pgv_server, .context = &request, .rule = &gate->rule};
    check.location = location == NULL ? NULL : location->location;
    check.location_number = location == NULL ? 0 : (uint64_t)(location - gate->locations) + 1;
    check.target = slice_of(ctx->http_req->hd[HTTP_HDR_URL].b);
    check.answer.buffer = texts;
    check.answer.capacity = texts == NULL ? 0 : PLAYGATE_BUFFER_SIZE;
    char *memory = check.target.length > EDGE_TARGET_LIMIT ? NULL : WS_Alloc(ctx->ws, (unsigned)check.target.length + 1);
    edge_check_run(&check, memory, memory == NULL ? 0 : check.target.length);
    if (check.is_asked) edge_check_ask(&check, gate->asker, texts == NULL ? NULL : texts + PLAYGATE_BUFFER_SIZE);
    set_target(ctx, &check, memory);
    if (edge_check_take(&check, &task->outcome) != 0) VRT_fail(ctx, "playgate: the workspace is too small");
    note_facts(ctx, task, location, scheme == VENUM(https));
    free(texts);
}

VCL_BOOL vmod_policy_check(VRT_CTX, struct vmod_playgate_policy *gate, VCL_STRING name, VCL_ENUM scheme) {
    const pgv_location *location = NULL;
    if (ctx->method != VCL_MET_RECV || !gate->is_warm) {
        VRT_fail(ctx, "playgate: check() is for vcl_recv");
        return 0;
    }
    if (name != NULL && *name != '\0' && (location = find_location(gate, name)) == NULL) {
        VRT_fail(ctx, "playgate: check() names no location: %s", name);
        return 0;
    }
    pgv_task *task = make_task(ctx, gate);
    if (task == NULL) {
        VRT_fail(ctx, "playgate: the workspace is too small");
        return 0;
    }
    pgv_remove_own_fields(ctx->http_req);
    if (!is_decided(ctx, task, location, scheme == VENUM(https))) check_request(ctx, gate, location, scheme, task);
    int is_allowed = task->outcome.outcome == PLAYGATE_ALLOW;
    if (is_allowed) PGV_COUNT(gate, allowed);
    else PGV_COUNT(gate, refused);
    return is_allowed;
}
