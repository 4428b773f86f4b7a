// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The sub-request to the service, on a thread that may wait.

#include "playgate_trafficserver.h"

#include <clock.h>
#include <wipe.h>
#include <slice.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/// A copy of a sub-request: the transaction has lost its tokens when the service is asked.
struct pgt_question {
    TSHttpTxn transaction;
    pgt_ctx *ctx;
    /// The thread of the transaction, and its continuation there.
    TSEventThread thread;
    TSCont end;
    playgate_subrequest subrequest;
    /// The time at which the answer is late, by the steady clock.
    int64_t deadline;
    size_t used;
    size_t size;
    char bytes[];
};

// MARK: Copies

/// Copies a text into the memory of a sub-request, which has room for it.
static playgate_slice copied(pgt_question *subrequest, playgate_slice text) {
    if (text.length == 0 || text.length > subrequest->size - subrequest->used) return slice_of(NULL);
    playgate_slice copy = {subrequest->bytes + subrequest->used, text.length};
    memcpy(subrequest->bytes + subrequest->used, text.bytes, text.length);
    subrequest->used += text.length;
    return copy;
}

pgt_question *pgt_make_question(TSHttpTxn transaction, const edge_check *check) {
    playgate_subrequest made = {.size = sizeof(made)};
    if (edge_check_subrequest(check, &made) != 0) return NULL;
    size_t size = made.target.length;
    for (uint32_t at = 0; at < made.field_count; at++) size += made.fields[at].value.length;
    pgt_question *subrequest = calloc(1, sizeof(*subrequest) + size);
    if (subrequest == NULL) return NULL;
    subrequest->transaction = transaction;
    subrequest->size = size;
    subrequest->subrequest = made;
    subrequest->subrequest.target = copied(subrequest, made.target);
    // Their names are constant, or of the settings.
    for (uint32_t at = 0; at < made.field_count; at++)
        subrequest->subrequest.fields[at].value = copied(subrequest, made.fields[at].value);
    return subrequest;
}

void pgt_free_question(pgt_question *subrequest) {
    if (subrequest == NULL) return;
    memory_wipe(subrequest->bytes, subrequest->size);
    free(subrequest);
}

// MARK: Asking

/// Asks. What the policy has allowed stays allowed without an answer, and all else stays closed. What has waited for a thread until
/// its answer is late is not asked: else a service that hangs would keep the threads busy with players that have gone.
static void ask(pgt_ctx *ctx, const pgt_question *subrequest) {
    char buffer[PLAYGATE_BUFFER_SIZE];
    playgate_answer answer = {.size = sizeof(answer), .buffer = buffer, .capacity = sizeof(buffer)};
    int is_late = clock_steady() > subrequest->deadline;
    pgt_count(EDGE_ASKED);
    if (!is_late && playgate_ask_subrequest(ctx->line->asker, &subrequest->subrequest, &answer) == PLAYGATE_OK)
        edge_take(&ctx->outcome, &answer, pgt_allocate, ctx);
    else
        pgt_count(EDGE_ASK_FAILED);
}

/// The end of a sub-request, on the thread and under the lock of its transaction: Traffic Server may else continue it on any thread, apart from
/// its connections.
static int on_return(TSCont continuation, TSEvent event, void *data) {
    (void)event;
    (void)data;
    pgt_question *subrequest = TSContDataGet(continuation);
    pgt_ctx *ctx = subrequest->ctx;
    TSHttpTxn transaction = subrequest->transaction;
    pgt_free_question(subrequest);
    TSContDestroy(continuation);
    pgt_apply(transaction, ctx);
    // From here on, the transaction and its context may have gone.
    TSHttpTxnReenable(transaction, pgt_passes(ctx) ? TS_EVENT_HTTP_CONTINUE : TS_EVENT_HTTP_ERROR);
    return 0;
}

static int on_thread(TSCont continuation, TSEvent event, void *data) {
    (void)event;
    (void)data;
    pgt_question *subrequest = TSContDataGet(continuation);
    TSContDestroy(continuation);
    ask(subrequest->ctx, subrequest);
    TSContScheduleOnThread(subrequest->end, 0, subrequest->thread);
    return 0;
}

// MARK: Threads for tasks

/// The time until a sub-request that has come too early is looked at again, in milliseconds.
enum { early_pause = 10 };

/// 1 if Traffic Server has its threads for tasks. It serves requests before that, and ends if a task is given to no thread.
static atomic_int has_task_threads;

static int on_ready(TSCont continuation, TSEvent event, void *data) {
    (void)continuation;
    (void)event;
    (void)data;
    atomic_store(&has_task_threads, 1);
    return 0;
}

void pgt_await_task_threads(void) {
    // A configuration that is read again is read on such a thread, and the first one on the main thread.
    if (gettid() != getpid()) atomic_store(&has_task_threads, 1);
    else TSLifecycleHookAdd(TS_LIFECYCLE_TASK_THREADS_READY_HOOK, TSContCreate(on_ready, NULL));
}

static void hand_over(pgt_question *subrequest);

static int on_early(TSCont continuation, TSEvent event, void *data) {
    (void)event;
    (void)data;
    pgt_question *subrequest = TSContDataGet(continuation);
    TSContDestroy(continuation);
    hand_over(subrequest);
    return 0;
}

/// Gives a sub-request to a thread for tasks; without one, until the answer would be late, to the transaction's own thread.
static void hand_over(pgt_question *subrequest) {
    int is_ready = atomic_load(&has_task_threads);
    if (!is_ready && clock_steady() > subrequest->deadline) {
        ask(subrequest->ctx, subrequest);
        TSContScheduleOnThread(subrequest->end, 0, subrequest->thread);
        return;
    }
    TSCont continuation = TSContCreate(is_ready ? on_thread : on_early, TSMutexCreate());
    TSContDataSet(continuation, subrequest);
    if (is_ready) TSContScheduleOnPool(continuation, 0, TS_THREAD_POOL_TASK);
    else TSContScheduleOnThread(continuation, early_pause, subrequest->thread);
}

void pgt_ask(pgt_ctx *ctx) {
    pgt_question *subrequest = ctx->subrequest;
    ctx->subrequest = NULL;
    subrequest->ctx = ctx;
    subrequest->deadline = clock_steady() + ctx->line->rule.settings.ask_timeout;
    subrequest->thread = TSEventThreadSelf();
    // A transaction is a continuation, and its lock is that of its client's connection.
    subrequest->end = TSContCreate(on_return, TSContMutexGet((TSCont)subrequest->transaction));
    TSContDataSet(subrequest->end, subrequest);
    hand_over(subrequest);
}
