// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef VMOD_PLAYGATE_H
#define VMOD_PLAYGATE_H

#include <cache/cache.h>
#include <vcl.h>
#include <vrt_obj.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <edge.h>
#include <playgate.h>
#include <playgate_ask.h>
#include <playgate_follow.h>
#include <playgate_memo.h>
#include <playgate_target.h>

#include "VSC_playgate.h"
#include "vcc_playgate.h"

/// A module of Varnish: vcl_recv decides by libplaygate, in the worker's thread.
///
///     policy   the object of VCL: its settings, and its life with the VCL
///     request  the facts of a request, as the library takes them
///     check    the decision about a request
///     memo     the answers that all threads remember
///     answer   what the decision says, for VCL
///
/// Places of tokens, and decisions in terms of HTTP, are in edge/.
///
/// varnishd compiles VCL in a process of its own, which loads the module to read its interface and calls nothing of it. Only
/// varnishd's child does: it forks no more, and has as many threads as there are requests.

#pragma GCC visibility push(hidden)

/// The most places that an object names.
#define PG_PLACES_LIMIT 256
/// The longest text that VCL gets, in bytes, as in the service's header fields.
#define PG_TEXT_LIMIT 1024

// MARK: Memo

typedef struct pg_memo pg_memo;

/// Creates a memory of answers; null if there is no memory.
pg_memo *pg_memo_create(size_t entries, playgate_memo_counters *counters);
void pg_memo_free(pg_memo *memo);
/// The functions of playgate_memo.h, from any thread.
int pg_memo_find(pg_memo *memo, uint64_t place, uint64_t generation, const playgate_request *request, playgate_answer *answer);
void pg_memo_keep(pg_memo *memo, uint64_t place, const playgate_request *request, const playgate_answer *answer);

// MARK: The object

/// What requests are for, by the name that VCL checks with.
typedef struct {
    char *name;
    playgate_place *place;
} pg_place;

struct vmod_playgate_policy {
    unsigned magic;
#define PG_POLICY_MAGIC 0x50a7e601
    /// The objects of the same VCL.
    VTAILQ_ENTRY(vmod_playgate_policy) list;
    struct pg_policies *policies;
    /// The names of VCL and object.
    char *name;
    char *source;
    /// The file of the key; null for none.
    char *key;
    /// The file of the keys that sign a policy; null if it is not signed.
    char *trust;
    size_t memo_entries;
    edge_sources tokens;
    edge_sources grants;
    /// The memory of their names; null for those of the default.
    char *token_text;
    char *grant_text;
    edge_rules target;
    pg_place places[PG_PLACES_LIMIT];
    size_t place_count;
    /// Null if the service is not to be asked.
    playgate_asker *asker;
    playgate_follower *follower;
    /// 1 while the VCL is warm: then there are a thread, counters and a memo, unless that is off.
    unsigned is_warm;
    pthread_t thread;
    pg_memo *memo;
    struct vsc_seg *segment;
    struct VSC_playgate *counters;
};

/// Adds to a counter of a warm object.
#define PG_COUNT(gate, counter) __atomic_fetch_add(&(gate)->counters->counter, 1, __ATOMIC_RELAXED)

// MARK: Requests

/// What was decided about a request, in the workspace of its task.
typedef struct {
    unsigned magic;
#define PG_TASK_MAGIC 0x50a7e602
    const pg_place *place;
    unsigned is_https;
    /// The target without tokens, for which this was decided.
    const char *target;
    unsigned is_allowed;
    int status;
    int64_t expires;
    const char *code;
    const char *trace;
    const char *session;
    const char *mvpd;
    const char *resource;
    const char *set_cookie;
    /// Null if the grant goes into no header field of the response.
    const char *grant;
} pg_task;

/// The library's form of a request, with what it refers to.
typedef struct {
    playgate_request request;
    playgate_cut cut;
    edge_values tokens;
    edge_values grants;
    char client[64];
} pg_facts;

/// Fills the facts about the client's request, with the target of `facts->cut`.
void pg_fill_request(VRT_CTX, const char *scheme, pg_facts *facts);
/// Removes X-Playgate fields of the client, in every spelling that an origin may accept.
void pg_remove_own_fields(struct http *http);
/// Copies the first values of a header field, and returns how many there are: the library's access to a request.
size_t pg_field_values(void *context, playgate_slice name, playgate_slice *values, size_t capacity);

/// Keeps what an answer says. Returns 0, or -1 if there is no memory.
int pg_take_answer(VRT_CTX, pg_task *task, const playgate_answer *answer);

#pragma GCC visibility pop

#endif
