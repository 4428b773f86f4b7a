// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_PLUGIN_H
#define PLAYGATE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <ts/ts.h>

#include <edge.h>
#include <playgate.h>
#include <playgate_ask.h>
#include <playgate_follow.h>
#include <playgate_memo.h>
#include <playgate_target.h>

/// A remap plugin of Traffic Server: the thread of a request decides by libplaygate, before the cache is looked at.
///
///     plugin    what Traffic Server calls: load, remap lines, requests
///     settings  the parameters of a remap line
///     policy    the policies, which all remap lines share, and what threads remember
///     target    the URL of a request, and the tokens in it
///     request   the facts of a request, as the library takes them
///     check     the decision about a request
///     ask       the question to the service, on a thread that may wait
///     answer    what the decision says, and what is done to the response
///
/// Places of tokens, and decisions in terms of HTTP, are in edge/.

#pragma GCC visibility push(hidden)

/// The longest name of a host with its port.
#define PG_HOST_LIMIT 300

/// The header of a request or response.
typedef struct {
    TSMBuffer buffer;
    TSMLoc header;
} pg_header;

// MARK: Policies

typedef struct pg_policy pg_policy;

/// Opens a policy, or takes that of another remap line with the same settings. Null with the fault in `error`.
///
/// memo: The answers that each thread remembers; 0 for none.
pg_policy *pg_open_policy(const char *source, const char *key, const char *trust, size_t memo, playgate_error *error);
/// Closes a policy; ignores null. The last remap line's ends it.
void pg_close_policy(pg_policy *policy);
/// Null if the service has not answered yet.
playgate_engine *pg_engine(const pg_policy *policy);
/// What this thread remembers; null for nothing.
playgate_memo *pg_memo(pg_policy *policy);

// MARK: Remap lines

/// The settings of a remap line.
typedef struct {
    pg_policy *policy;
    /// Null if the service is not to be asked.
    playgate_asker *asker;
    /// The time for which an answer is waited, in milliseconds.
    uint32_t ask_timeout;
    edge_sources tokens;
    edge_sources grants;
    /// Copies of the words that name them.
    char *words[2 * EDGE_SOURCES_LIMIT];
    size_t word_count;
    edge_rules target;
    /// Null if paths decide.
    playgate_place *place;
    uint64_t place_number;
    /// The scheme of the client's request; empty for that of its connection.
    playgate_slice scheme;
    /// 1 if refusals are only told.
    unsigned is_shadow;
    /// 1 if new grants go to the player.
    unsigned sets_cookie;
    /// 1 if no shared cache may keep responses.
    unsigned is_private;
    /// 1 if OPTIONS is answered without a check.
    unsigned answers_options;
} pg_rule;

/// Reads the parameters of a remap line. Returns null, with the fault in `text`.
pg_rule *pg_make_rule(int count, char *const *words, char *text, size_t size);
void pg_free_rule(pg_rule *rule);

// MARK: Requests

/// A URL of a request: the client's, or that of the remap line.
typedef struct {
    TSMBuffer buffer;
    TSMLoc url;
} pg_url;

/// A target with its tokens, without them, and the memory for both.
typedef struct {
    playgate_slice whole;
    playgate_cut cut;
    char text[EDGE_TARGET_LIMIT];
    char rest[EDGE_TARGET_LIMIT];
} pg_target;

/// Reads a URL's target, and cuts the tokens out of it. Returns 0, or -1 for a target that no request may have.
int pg_read_target(const pg_rule *rule, const pg_url *url, pg_target *target);
/// Gives a URL a target without tokens.
void pg_set_target(const pg_url *url, playgate_slice target);

/// The library's form of a request, with what it refers to.
typedef struct {
    playgate_request request;
    pg_header fields;
    edge_values tokens;
    edge_values grants;
    char host[PG_HOST_LIMIT];
    char client[64];
} pg_facts;

/// Fills the facts about a request, with the target without tokens.
void pg_fill_request(TSHttpTxn transaction, const pg_rule *rule, const pg_url *url, const pg_target *target, pg_facts *facts);
/// Copies the first values of a header field, and returns how many there are: the library's access to a request.
size_t pg_field_values(void *context, playgate_slice name, playgate_slice *values, size_t capacity);
/// Removes X-Playgate fields, in every spelling that an origin may accept.
void pg_remove_own_fields(const pg_header *fields);
void pg_remove_field(const pg_header *fields, playgate_slice name);

typedef struct pg_question pg_question;

/// What was decided about a request, from its remap to its end.
typedef struct {
    const pg_rule *rule;
    /// The question to the service; null if there is none.
    pg_question *question;
    unsigned is_allowed;
    /// 1 if the request goes on without being allowed.
    unsigned is_shadow;
    /// 1 if OPTIONS is answered.
    unsigned is_preflight;
    int status;
    /// The name of the code, of the library.
    const char *code;
    /// Terminated texts; null for none. `grant` is null if it goes into no header field.
    char *trace;
    char *set_cookie;
    char *grant;
} pg_ctx;

/// Decides about a request, and removes its tokens from `url`, which goes to cache and origin, from its header, and from the URL for
/// logs. The answer is in `ctx`, and a question if the service is to be asked.
void pg_check(TSHttpTxn transaction, const pg_header *fields, const pg_url *url, pg_ctx *ctx);

/// Copies a request for the service. Null without memory.
pg_question *pg_make_question(TSHttpTxn transaction, const playgate_request *request, playgate_slice target);
void pg_free_question(pg_question *question);
/// Learns when questions can be asked. For the load of the plugin.
void pg_await_task_threads(void);
/// Has a thread that may wait ask the service, and continue the transaction, which is in a hook.
void pg_ask(pg_ctx *ctx);

/// Keeps what an answer says. Without memory it refuses.
void pg_take_answer(pg_ctx *ctx, const playgate_answer *answer);
/// True if the request goes on.
static inline int pg_passes(const pg_ctx *ctx) { return ctx->is_allowed || ctx->is_shadow; }

/// Tells Traffic Server to refuse the request, if that was decided.
void pg_apply(TSHttpTxn transaction, const pg_ctx *ctx);
/// Refuses a request in place of what was decided.
void pg_revoke(TSHttpTxn transaction, pg_ctx *ctx);
/// Does to the response what the decision says. Returns -1 if it must not be sent.
int pg_mark_response(TSHttpTxn transaction, const pg_ctx *ctx);
void pg_free_ctx(pg_ctx *ctx);

// MARK: Counters

typedef enum { PG_ALLOWED, PG_REFUSED, PG_ASKED, PG_ASK_FAILED, PG_MEMO_HITS, PG_MEMO_MISSES, PG_COUNTERS } pg_counter;

/// Adds to a counter, on a thread of Traffic Server.
void pg_count(pg_counter counter);

#pragma GCC visibility pop

#endif
