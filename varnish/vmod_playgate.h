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
///     sources  the places of tokens and grants, and the values in them
///     request  the facts of a request, as the library takes them
///     check    the decision about a request
///     memo     the answers that all threads remember
///     answer   what the decision says, for VCL
///
/// varnishd compiles VCL in a process of its own, which loads the module to read its interface and calls nothing of it. Only
/// varnishd's child does: it forks no more, and has as many threads as there are requests.

#pragma GCC visibility push(hidden)

/// The longest target, in bytes: more than the service's, which refuses what is longer.
#define PG_TARGET_LIMIT 32768
/// The most different tokens, and grants, that are taken from a request, and the most places for each.
#define PG_VALUES_LIMIT 16
/// The most places that an object names.
#define PG_PLACES_LIMIT 256
/// The longest text that VCL gets, in bytes, as in the service's header fields.
#define PG_TEXT_LIMIT 1024

// MARK: Sources

typedef enum { PG_HEADER, PG_COOKIE, PG_QUERY, PG_SEGMENT, PG_PACKAGE } pg_kind;

/// A place in which a client may show its token. Names are in the memory of the object's texts.
typedef struct {
    pg_kind kind;
    playgate_slice name;
    /// The scheme before the token in a header field; empty for none.
    playgate_slice scheme;
    /// The number by which the library reports values of targets.
    uint32_t rule;
} pg_source;

typedef struct {
    pg_source items[PG_VALUES_LIMIT];
    size_t count;
    /// The text of all names.
    char *text;
} pg_sources;

/// The parts of targets that are cut out, in the library's form.
typedef struct {
    playgate_target_rules rules;
    playgate_slice parameters[2 * PG_VALUES_LIMIT];
    playgate_slice segments[2 * PG_VALUES_LIMIT];
} pg_target_rules;

/// Different values, in the order in which they were found.
typedef struct {
    playgate_slice values[PG_VALUES_LIMIT];
    size_t count;
    /// 1 if there are more.
    unsigned overflow;
} pg_values;

/// Reads places such as `query=token header=Authorization:Bearer`. Returns null, or the fault; nothing is changed then.
const char *pg_parse_sources(const char *text, int are_grants, pg_sources *sources);
void pg_free_sources(pg_sources *sources);
/// Makes the rules for targets, and numbers the sources by them. Returns null, or the fault.
const char *pg_make_rules(pg_target_rules *target, pg_sources *tokens, pg_sources *grants);
/// Finds the values of a request in `sources`.
void pg_find_values(const struct http *http, const pg_sources *sources, const playgate_cut *cut, pg_values *values);

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
    size_t memo_entries;
    pg_sources tokens;
    pg_sources grants;
    pg_target_rules target;
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
    pg_values tokens;
    pg_values grants;
    char client[64];
} pg_facts;

/// Fills the facts about the client's request, with the target of `facts->cut`.
void pg_fill_request(VRT_CTX, const char *scheme, pg_facts *facts);
/// Removes X-Playgate fields of the client, in every spelling that an origin may accept.
void pg_remove_own_fields(struct http *http);
/// Cuts a field into name and value. Returns 0 if it is none.
int pg_field(const struct http *http, unsigned place, playgate_slice *name, playgate_slice *value);

/// Keeps what an answer says. Returns 0, or -1 if there is no memory.
int pg_take_answer(VRT_CTX, pg_task *task, const playgate_answer *answer);

// MARK: Texts

static inline playgate_slice pg_slice(const char *text) {
    playgate_slice slice = {text, text == NULL ? 0 : strlen(text)};
    return slice;
}

static inline int pg_same(playgate_slice one, playgate_slice other) {
    return one.length == other.length && (one.length == 0 || memcmp(one.bytes, other.bytes, one.length) == 0);
}

static inline int pg_same_name(playgate_slice one, playgate_slice other) {
    return one.length == other.length && strncasecmp(one.bytes, other.bytes, one.length) == 0;
}

static inline playgate_slice pg_after(playgate_slice text, size_t length) {
    playgate_slice rest = {text.bytes + length, text.length - length};
    return rest;
}

static inline playgate_slice pg_trimmed(playgate_slice text) {
    while (text.length > 0 && (text.bytes[0] == ' ' || text.bytes[0] == '\t')) text = pg_after(text, 1);
    while (text.length > 0 && (text.bytes[text.length - 1] == ' ' || text.bytes[text.length - 1] == '\t')) text.length--;
    return text;
}

#pragma GCC visibility pop

#endif
