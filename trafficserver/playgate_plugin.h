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

#include <playgate.h>
#include <playgate_ask.h>
#include <playgate_follow.h>
#include <playgate_memo.h>
#include <playgate_target.h>

/// A remap plugin of Traffic Server: the thread of a request decides by libplaygate, before the cache is looked at.
///
///     plugin    what Traffic Server calls: load, remap lines, requests
///     settings  the parameters of a remap line
///     sources   the places of tokens and grants, and the values in them
///     policy    the policies, which all remap lines share, and what threads remember
///     target    the URL of a request, and the tokens in it
///     request   the facts of a request, as the library takes them
///     check     the decision about a request
///     ask       the question to the service, on a thread that may wait
///     answer    what the decision says, and what is done to the response

#pragma GCC visibility push(hidden)

/// The longest target, in bytes: more than the service's, which refuses what is longer.
#define PG_TARGET_LIMIT 32768
/// The most different tokens, and grants, that are taken from a request, and the most places for each.
#define PG_VALUES_LIMIT 16
/// The longest name of a host with its port.
#define PG_HOST_LIMIT 300

// MARK: Sources

typedef enum { PG_HEADER, PG_COOKIE, PG_QUERY, PG_SEGMENT, PG_PACKAGE } pg_kind;

/// A place in which a client may show its token.
typedef struct {
    pg_kind kind;
    playgate_slice name;
    /// The scheme before the token in a header field; empty for none.
    playgate_slice scheme;
    /// The number by which the library reports values of targets.
    uint32_t rule;
    /// The memory of the names.
    char *text;
} pg_source;

typedef struct {
    pg_source items[PG_VALUES_LIMIT];
    size_t count;
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

/// The header of a request or response.
typedef struct {
    TSMBuffer buffer;
    TSMLoc header;
} pg_header;

/// Adds a place such as `header=Authorization:Bearer`. Returns null, or the fault.
const char *pg_add_source(const char *text, int are_grants, pg_sources *sources);
void pg_free_sources(pg_sources *sources);
/// Makes the rules for targets, and numbers the sources by them. Returns null, or the fault.
const char *pg_make_rules(pg_target_rules *target, pg_sources *tokens, pg_sources *grants);
/// Finds the values of a request in `sources`.
void pg_find_values(const pg_header *fields, const pg_sources *sources, const playgate_cut *cut, pg_values *values);
/// Removes the header fields in which `sources` has places.
void pg_remove_sources(const pg_header *fields, const pg_sources *sources);

// MARK: Policies

typedef struct pg_policy pg_policy;

/// Opens a policy, or takes that of another remap line with the same settings. Null with the fault in `error`.
///
/// memo: The answers that each thread remembers; 0 for none.
pg_policy *pg_open_policy(const char *source, const char *key, size_t memo, playgate_error *error);
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
    pg_sources tokens;
    pg_sources grants;
    pg_target_rules target;
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
    char text[PG_TARGET_LIMIT];
    char rest[PG_TARGET_LIMIT];
} pg_target;

/// Reads a URL's target, and cuts the tokens out of it. Returns 0, or -1 for a target that no request may have.
int pg_read_target(const pg_rule *rule, const pg_url *url, pg_target *target);
/// Gives a URL a target without tokens.
void pg_set_target(const pg_url *url, playgate_slice target);

/// The library's form of a request, with what it refers to.
typedef struct {
    playgate_request request;
    pg_header fields;
    pg_values tokens;
    pg_values grants;
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
/// Refuses by a code of the library.
void pg_refuse(playgate_answer *answer, int32_t outcome, const char *code, int32_t status);

/// Copies a request for the service. Null without memory.
pg_question *pg_make_question(TSHttpTxn transaction, const playgate_request *request, playgate_slice target);
void pg_free_question(pg_question *question);
/// Learns when questions can be asked. For the load of the plugin.
void pg_await_task_threads(void);
/// Has a thread that may wait ask the service, and continue the transaction, which is in a hook.
void pg_ask(pg_ctx *ctx);
/// True if the answer to a check may be asked for.
int pg_is_asked(const pg_rule *rule, const playgate_answer *answer);

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
