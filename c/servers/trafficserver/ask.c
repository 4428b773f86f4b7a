// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The question to the service, on a thread that may wait.

#include "playgate_trafficserver.h"

#include <clock.h>
#include <wipe.h>
#include <slice.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/// A copy of a question: the transaction has lost its tokens when the service is asked.
struct pgt_question {
    TSHttpTxn transaction;
    pgt_ctx *ctx;
    /// The thread of the transaction, and its continuation there.
    TSEventThread thread;
    TSCont end;
    playgate_question question;
    /// The time at which the answer is late, by the steady clock.
    int64_t deadline;
    size_t used;
    size_t size;
    char bytes[];
};

// MARK: Copies

/// Copies a text into the memory of a question, which has room for it.
static playgate_slice copied(pgt_question *question, playgate_slice text) {
    if (text.length == 0 || text.length > question->size - question->used) return slice_of(NULL);
    playgate_slice copy = {question->bytes + question->used, text.length};
    memcpy(question->bytes + question->used, text.bytes, text.length);
    question->used += text.length;
    return copy;
}

pgt_question *pgt_make_question(TSHttpTxn transaction, const edge_check *check) {
    playgate_question made = {.size = sizeof(made)};
    if (edge_check_question(check, &made) != 0) return NULL;
    size_t size = made.target.length;
    for (uint32_t place = 0; place < made.field_count; place++) size += made.fields[place].value.length;
    pgt_question *question = calloc(1, sizeof(*question) + size);
    if (question == NULL) return NULL;
    question->transaction = transaction;
    question->size = size;
    question->question = made;
    question->question.target = copied(question, made.target);
    // Their names are constant, or of the settings.
    for (uint32_t place = 0; place < made.field_count; place++)
        question->question.fields[place].value = copied(question, made.fields[place].value);
    return question;
}

void pgt_free_question(pgt_question *question) {
    if (question == NULL) return;
    memory_wipe(question->bytes, question->size);
    free(question);
}

// MARK: Asking

/// Asks. What the policy has allowed stays allowed without an answer, and all else stays closed. What has waited for a thread until
/// its answer is late is not asked: else a service that hangs would keep the threads busy with players that have gone.
static void ask(pgt_ctx *ctx, const pgt_question *question) {
    char buffer[PLAYGATE_BUFFER_SIZE];
    playgate_answer answer = {.size = sizeof(answer), .buffer = buffer, .capacity = sizeof(buffer)};
    int is_late = clock_steady() > question->deadline;
    pgt_count(EDGE_ASKED);
    if (!is_late && playgate_ask_question(ctx->line->asker, &question->question, &answer) == PLAYGATE_OK)
        edge_take(&ctx->outcome, &answer, pgt_allocate, ctx);
    else
        pgt_count(EDGE_ASK_FAILED);
}

/// The end of a question, on the thread and under the lock of its transaction: Traffic Server may else continue it on any thread, apart from
/// its connections.
static int on_return(TSCont continuation, TSEvent event, void *data) {
    (void)event;
    (void)data;
    pgt_question *question = TSContDataGet(continuation);
    pgt_ctx *ctx = question->ctx;
    TSHttpTxn transaction = question->transaction;
    pgt_free_question(question);
    TSContDestroy(continuation);
    pgt_apply(transaction, ctx);
    // From here on, the transaction and its context may have gone.
    TSHttpTxnReenable(transaction, pgt_passes(ctx) ? TS_EVENT_HTTP_CONTINUE : TS_EVENT_HTTP_ERROR);
    return 0;
}

static int on_thread(TSCont continuation, TSEvent event, void *data) {
    (void)event;
    (void)data;
    pgt_question *question = TSContDataGet(continuation);
    TSContDestroy(continuation);
    ask(question->ctx, question);
    TSContScheduleOnThread(question->end, 0, question->thread);
    return 0;
}

// MARK: Threads for tasks

/// The time until a question that has come too early is looked at again, in milliseconds.
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

static void hand_over(pgt_question *question);

static int on_early(TSCont continuation, TSEvent event, void *data) {
    (void)event;
    (void)data;
    pgt_question *question = TSContDataGet(continuation);
    TSContDestroy(continuation);
    hand_over(question);
    return 0;
}

/// Gives a question to a thread for tasks; without one, until the answer would be late, to the transaction's own thread.
static void hand_over(pgt_question *question) {
    int is_ready = atomic_load(&has_task_threads);
    if (!is_ready && clock_steady() > question->deadline) {
        ask(question->ctx, question);
        TSContScheduleOnThread(question->end, 0, question->thread);
        return;
    }
    TSCont continuation = TSContCreate(is_ready ? on_thread : on_early, TSMutexCreate());
    TSContDataSet(continuation, question);
    if (is_ready) TSContScheduleOnPool(continuation, 0, TS_THREAD_POOL_TASK);
    else TSContScheduleOnThread(continuation, early_pause, question->thread);
}

void pgt_ask(pgt_ctx *ctx) {
    pgt_question *question = ctx->question;
    ctx->question = NULL;
    question->ctx = ctx;
    question->deadline = clock_steady() + ctx->line->rule.settings.ask_timeout;
    question->thread = TSEventThreadSelf();
    // A transaction is a continuation, and its lock is that of its client's connection.
    question->end = TSContCreate(on_return, TSContMutexGet((TSCont)question->transaction));
    TSContDataSet(question->end, question);
    hand_over(question);
}
