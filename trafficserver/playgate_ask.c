// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The question to the service, on a thread that may wait.

#include "playgate_plugin.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/// The most header fields that a question has: more than the service would take.
#define FIELDS_LIMIT 32

/// A copy of a request: the transaction's own has lost its tokens when the service is asked.
struct pg_question {
    TSHttpTxn transaction;
    pg_ctx *ctx;
    /// The thread of the transaction, and its continuation there.
    TSEventThread thread;
    TSCont end;
    playgate_request request;
    playgate_header fields[FIELDS_LIMIT];
    /// The time at which the answer is late, in milliseconds of the monotonic clock.
    int64_t deadline;
    size_t used;
    size_t size;
    char bytes[];
};

/// The fields that the service reads: see playgate_ask().
static const char *const passed[] = {
    "Authorization", "Cookie", "CTA-Common-Access-Token", "Range", "User-Agent", "X-Media-Token",
};

static int64_t clock_of_waiting(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// MARK: Copies

/// The header fields of a request that go to the service. Returns how many there are, or SIZE_MAX for too many.
static size_t find_fields(const playgate_request *request, playgate_header *fields) {
    size_t count = 0;
    for (size_t name = 0; name < sizeof(passed) / sizeof(passed[0]); name++) {
        playgate_slice values[FIELDS_LIMIT];
        size_t found = request->header_values(request->header_context, edge_slice(passed[name]), values, FIELDS_LIMIT);
        if (found > FIELDS_LIMIT - count) return SIZE_MAX;
        for (size_t place = 0; place < found; place++)
            fields[count++] = (playgate_header){.name = edge_slice(passed[name]), .value = values[place]};
    }
    return count;
}

/// Copies a text into the memory of a question, which has room for it.
static playgate_slice copied(pg_question *question, playgate_slice text) {
    if (text.length == 0 || text.length > question->size - question->used) return edge_slice(NULL);
    playgate_slice copy = {question->bytes + question->used, text.length};
    memcpy(question->bytes + question->used, text.bytes, text.length);
    question->used += text.length;
    return copy;
}

pg_question *pg_make_question(TSHttpTxn transaction, const playgate_request *request, playgate_slice target) {
    playgate_header fields[FIELDS_LIMIT];
    size_t count = find_fields(request, fields);
    if (count == SIZE_MAX) return NULL;
    size_t size = target.length + request->method.length + request->host.length + request->client.length + request->traceparent.length;
    for (size_t place = 0; place < count; place++) size += fields[place].value.length;
    pg_question *question = calloc(1, sizeof(*question) + size);
    if (question == NULL) return NULL;
    question->transaction = transaction;
    question->size = size;
    question->request = (playgate_request){.size = sizeof(*request), .flags = request->flags, .now = request->now};
    question->request.scheme = request->scheme;
    question->request.target = copied(question, target);
    question->request.method = copied(question, request->method);
    question->request.host = copied(question, request->host);
    question->request.client = copied(question, request->client);
    question->request.traceparent = copied(question, request->traceparent);
    question->request.headers = question->fields;
    question->request.header_count = count;
    for (size_t place = 0; place < count; place++)
        question->fields[place] = (playgate_header){.name = fields[place].name, .value = copied(question, fields[place].value)};
    return question;
}

void pg_free_question(pg_question *question) {
    if (question == NULL) return;
    explicit_bzero(question->bytes, question->size);
    free(question);
}

// MARK: Asking

/// Asks. What the policy has allowed stays allowed without an answer, and all else stays closed. What has waited for a thread until
/// its answer is late is not asked: else a service that hangs would keep the threads busy with players that have gone.
static void ask(pg_ctx *ctx, const pg_question *question) {
    char buffer[PLAYGATE_BUFFER_SIZE];
    playgate_answer answer = {.size = sizeof(answer), .buffer = buffer, .capacity = sizeof(buffer)};
    int is_late = clock_of_waiting() > question->deadline;
    pg_count(PG_ASKED);
    if (!is_late && playgate_ask(ctx->rule->asker, &question->request, &answer) == PLAYGATE_OK) pg_take_answer(ctx, &answer);
    else pg_count(PG_ASK_FAILED);
}

/// The end of a question, on the thread and under the lock of its transaction: Traffic Server may else continue it on any thread, apart from
/// its connections.
static int on_return(TSCont continuation, TSEvent event, void *data) {
    (void)event;
    (void)data;
    pg_question *question = TSContDataGet(continuation);
    pg_ctx *ctx = question->ctx;
    TSHttpTxn transaction = question->transaction;
    pg_free_question(question);
    TSContDestroy(continuation);
    pg_apply(transaction, ctx);
    // From here on, the transaction and its context may have gone.
    TSHttpTxnReenable(transaction, pg_passes(ctx) ? TS_EVENT_HTTP_CONTINUE : TS_EVENT_HTTP_ERROR);
    return 0;
}

static int on_thread(TSCont continuation, TSEvent event, void *data) {
    (void)event;
    (void)data;
    pg_question *question = TSContDataGet(continuation);
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

void pg_await_task_threads(void) {
    // A configuration that is read again is read on such a thread, and the first one on the main thread.
    if (gettid() != getpid()) atomic_store(&has_task_threads, 1);
    else TSLifecycleHookAdd(TS_LIFECYCLE_TASK_THREADS_READY_HOOK, TSContCreate(on_ready, NULL));
}

static void hand_over(pg_question *question);

static int on_early(TSCont continuation, TSEvent event, void *data) {
    (void)event;
    (void)data;
    pg_question *question = TSContDataGet(continuation);
    TSContDestroy(continuation);
    hand_over(question);
    return 0;
}

/// Gives a question to a thread for tasks; without one, until the answer would be late, to the transaction's own thread.
static void hand_over(pg_question *question) {
    int is_ready = atomic_load(&has_task_threads);
    if (!is_ready && clock_of_waiting() > question->deadline) {
        ask(question->ctx, question);
        TSContScheduleOnThread(question->end, 0, question->thread);
        return;
    }
    TSCont continuation = TSContCreate(is_ready ? on_thread : on_early, TSMutexCreate());
    TSContDataSet(continuation, question);
    if (is_ready) TSContScheduleOnPool(continuation, 0, TS_THREAD_POOL_TASK);
    else TSContScheduleOnThread(continuation, early_pause, question->thread);
}

void pg_ask(pg_ctx *ctx) {
    pg_question *question = ctx->question;
    ctx->question = NULL;
    question->ctx = ctx;
    question->deadline = clock_of_waiting() + ctx->rule->ask_timeout;
    question->thread = TSEventThreadSelf();
    // A transaction is a continuation, and its lock is that of its client's connection.
    question->end = TSContCreate(on_return, TSContMutexGet((TSCont)question->transaction));
    TSContDataSet(question->end, question);
    hand_over(question);
}
