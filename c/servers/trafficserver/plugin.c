// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// What Traffic Server calls: load, remap lines, requests.

#include "playgate_trafficserver.h"

#include <stdio.h>
#include <stdlib.h>
#include <ts/remap.h>

/// The index of pgt_ctx in transactions, the counters, and the continuation of all hooks: it has no state, and so no lock.
static int slot;
static int counters[EDGE_EVENTS];
static TSCont hooks;

void pgt_count(edge_event event) { TSStatIntIncrement(counters[event], 1); }

// MARK: Load

static int make_counters(void) {
    static const char *const names[EDGE_EVENTS] = {
        [EDGE_ALLOWED] = "plugin.playgate.allowed",    [EDGE_REFUSED] = "plugin.playgate.refused",
        [EDGE_ASKED] = "plugin.playgate.asked",        [EDGE_ASK_FAILED] = "plugin.playgate.ask_failed",
        [EDGE_FOUND] = "plugin.playgate.cache_hits",    [EDGE_MISSED] = "plugin.playgate.cache_misses",
    };
    for (int at = 0; at < EDGE_EVENTS; at++) {
        // A plugin of a newer file finds those of the older one.
        if (TSStatFindName(names[at], &counters[at]) == TS_SUCCESS) continue;
        counters[at] = TSStatCreate(names[at], TS_RECORDDATATYPE_INT, TS_STAT_NON_PERSISTENT, TS_STAT_SYNC_SUM);
        if (counters[at] == TS_ERROR) return -1;
    }
    return 0;
}

static int on_hook(TSCont continuation, TSEvent event, void *data) {
    TSHttpTxn transaction = data;
    pgt_ctx *ctx = TSUserArgGet(transaction, slot);
    TSEvent next = TS_EVENT_HTTP_CONTINUE;
    (void)continuation;
    if (event == TS_EVENT_HTTP_TXN_CLOSE) {
        TSUserArgSet(transaction, slot, NULL);
        pgt_free_ctx(ctx);
    } else if (event == TS_EVENT_HTTP_POST_REMAP && ctx != NULL && ctx->subrequest != NULL) {
        // The thread that asks continues.
        pgt_ask(ctx);
        return 0;
    } else if (event == TS_EVENT_HTTP_SEND_RESPONSE_HDR && (ctx == NULL || pgt_mark_response(transaction, ctx) != 0)) {
        next = TS_EVENT_HTTP_ERROR;
    }
    TSHttpTxnReenable(transaction, next);
    return 0;
}

TSReturnCode TSRemapInit(TSRemapInterface *interface, char *text, int size) {
    static const char name[] = "playgate";
    if (interface == NULL || interface->tsremap_version < TSREMAP_VERSION) {
        snprintf(text, (size_t)size, "playgate: this Traffic Server has another interface for remap plugins");
        return TS_ERROR;
    }
    // Traffic Server forks no more.
    if (playgate_abi() != PLAYGATE_ABI || playgate_no_more_forks() != PLAYGATE_OK) {
        snprintf(text, (size_t)size, "playgate: libplaygate is of another version");
        return TS_ERROR;
    }
    if (TSUserArgIndexNameLookup(TS_USER_ARGS_TXN, name, &slot, NULL) != TS_SUCCESS
        && TSUserArgIndexReserve(TS_USER_ARGS_TXN, name, "the decision about a request", &slot) != TS_SUCCESS) {
        snprintf(text, (size_t)size, "playgate: Traffic Server has no room for a decision in its transactions");
        return TS_ERROR;
    }
    if (make_counters() != 0) {
        snprintf(text, (size_t)size, "playgate: Traffic Server has no room for counters");
        return TS_ERROR;
    }
    if (hooks == NULL) {
        hooks = TSContCreate(on_hook, NULL);
        pgt_await_task_threads();
    }
    return TS_SUCCESS;
}

// MARK: Remap lines

TSReturnCode TSRemapNewInstance(int count, char *words[], void **instance, char *text, int size) {
    // The first two are the URLs of the remap line.
    *instance = pgt_make_line(count - 2, words + 2, text, (size_t)size);
    return *instance == NULL ? TS_ERROR : TS_SUCCESS;
}

void TSRemapDeleteInstance(void *instance) { pgt_free_line(instance); }

// MARK: Requests

static int is_options(const TSRemapRequestInfo *info) {
    int length = 0;
    const char *method = TSHttpHdrMethodGet(info->requestBufp, info->requestHdrp, &length);
    return method != NULL && length == 7 && memcmp(method, "OPTIONS", 7) == 0;
}

TSRemapStatus TSRemapDoRemap(void *instance, TSHttpTxn transaction, TSRemapRequestInfo *info) {
    const pgt_line *line = instance;
    pgt_header fields = {info->requestBufp, info->requestHdrp};
    pgt_url url = {info->requestBufp, info->requestUrl};
    pgt_ctx *ctx = TSUserArgGet(transaction, slot);
    if (ctx != NULL) {
        // The first has taken the tokens. Another line, or a second plugin in this one, demands what nobody can check any more.
        if (ctx->line != line) pgt_revoke(transaction, ctx);
        return TSREMAP_NO_REMAP;
    }
    ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL) {
        TSHttpTxnStatusSet(transaction, TS_HTTP_STATUS_SERVICE_UNAVAILABLE);
        return TSREMAP_NO_REMAP;
    }
    ctx->line = line;
    TSUserArgSet(transaction, slot, ctx);
    TSHttpTxnHookAdd(transaction, TS_HTTP_SEND_RESPONSE_HDR_HOOK, hooks);
    TSHttpTxnHookAdd(transaction, TS_HTTP_TXN_CLOSE_HOOK, hooks);
    pgt_remove_own_fields(&fields);
    if (line->rule.settings.answers_options && is_options(info)) {
        ctx->is_preflight = 1;
    } else {
        pgt_check(transaction, &fields, &url, ctx);
    }
    // Traffic Server waits after the remap, before it looks into its cache.
    if (ctx->subrequest != NULL) TSHttpTxnHookAdd(transaction, TS_HTTP_POST_REMAP_HOOK, hooks);
    else pgt_apply(transaction, ctx);
    return TSREMAP_NO_REMAP;
}
