// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_TRAFFICSERVER_H
#define PLAYGATE_TRAFFICSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ts/ts.h>

#include <check.h>

/// A remap plugin of Traffic Server: a request is decided before the cache is looked at. The decision is in edge/; this adapts it.
///
///     plugin    what Traffic Server calls: load, remap lines, requests
///     line      the parameters of a remap line
///     policy    the policies, which all remap lines share
///     target    the URL of a request
///     request   the facts of a request, and the check
///     ask       the sub-request to the service, on a thread that may wait
///     response  what the client sees

#pragma GCC visibility push(hidden)

/// The longest name of a host with its port.
#define PGT_HOST_LIMIT 300

/// The header of a request or response.
typedef struct {
    TSMBuffer buffer;
    TSMLoc header;
} pgt_header;

// MARK: Remap lines

/// A policy, and the remap lines with it.
typedef struct pgt_policy pgt_policy;

/// Opens the policy of some settings, or takes that of another remap line with the same. Null with the fault in `error`.
pgt_policy *pgt_open_policy(const edge_settings *settings, playgate_error *error);
/// Closes a policy; ignores null. The last remap line's ends it.
void pgt_close_policy(pgt_policy *policy);
edge_policy *pgt_followed(pgt_policy *policy);

typedef struct {
    edge_rule rule;
    pgt_policy *policy;
    /// Null if the service is not to be asked.
    playgate_asker *asker;
    /// Copies of the parameters, into which the settings point.
    char **words;
    int word_count;
} pgt_line;

/// Reads the parameters of a remap line. Returns null, with the fault in `text`.
pgt_line *pgt_make_line(int count, char *const *words, char *text, size_t size);
void pgt_free_line(pgt_line *line);

// MARK: Requests

/// A URL of a request: the client's, or that of the remap line.
typedef struct {
    TSMBuffer buffer;
    TSMLoc url;
} pgt_url;

/// Writes a URL's target, as Traffic Server writes it to an origin, into EDGE_TARGET_LIMIT bytes; empty if it is too long.
playgate_slice pgt_target(const pgt_url *url, char *text);
/// Gives a URL a target without tokens.
void pgt_set_target(const pgt_url *url, playgate_slice target);

typedef struct pgt_question pgt_question;

/// What was decided about a request, from its remap to its end.
typedef struct {
    const pgt_line *line;
    /// The sub-request to the service; null if there is none.
    pgt_question *subrequest;
    edge_outcome outcome;
    /// The texts of the outcome.
    void *texts;
    /// 1 if OPTIONS is answered.
    unsigned is_preflight : 1;
} pgt_ctx;

extern const edge_server pgt_server;

/// Decides about a request, and removes its tokens from `url`, which goes to cache and origin, from its header, and from the URL for
/// logs. The outcome is in `ctx`, and a sub-request if the service is to be asked.
void pgt_check(TSHttpTxn transaction, const pgt_header *fields, const pgt_url *url, pgt_ctx *ctx);
/// The values of a header field of a request or response: `header` is a pgt_header.
size_t pgt_values(void *header, playgate_slice name, playgate_slice *values, size_t capacity);
void pgt_remove_field(const pgt_header *fields, playgate_slice name);
/// Removes X-Playgate fields, in every spelling that an origin may accept.
void pgt_remove_own_fields(const pgt_header *fields);
/// Memory for the texts of an outcome, in the place of those before. For `context`, a pgt_ctx.
void *pgt_allocate(void *context, size_t size);

/// Copies the sub-request about a request, which loses its tokens. Null without memory.
pgt_question *pgt_make_question(TSHttpTxn transaction, const edge_check *check);
void pgt_free_question(pgt_question *subrequest);
/// Learns when sub-requests can be asked. For the load of the plugin.
void pgt_await_task_threads(void);
/// Has a thread that may wait ask the service, and continue the transaction, which is in a hook.
void pgt_ask(pgt_ctx *ctx);

/// True if the request goes on.
static inline int pgt_passes(const pgt_ctx *ctx) {
    return !ctx->is_preflight && edge_passes(&ctx->outcome, ctx->line->rule.settings.mode);
}

/// Tells Traffic Server to refuse the request, if that was decided.
void pgt_apply(TSHttpTxn transaction, const pgt_ctx *ctx);
/// Refuses a request in place of what was decided.
void pgt_revoke(TSHttpTxn transaction, pgt_ctx *ctx);
/// Does to the response what the decision says. Returns -1 if it must not be sent.
int pgt_mark_response(TSHttpTxn transaction, const pgt_ctx *ctx);
void pgt_free_ctx(pgt_ctx *ctx);

/// Counts, on a thread of Traffic Server.
void pgt_count(edge_event event);

#pragma GCC visibility pop

#endif
