// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_EDGE_CHECK_H
#define PLAYGATE_EDGE_CHECK_H

#include "cut.h"
#include "outcome.h"
#include "policy.h"

#include <playgate_ask.h>

/// The check of a request in a server, written once:
///
///     cut       the target without its tokens
///     values    the tokens and grants in target and header fields
///     facts     what the server states of the client's request
///     answers   what is remembered
///     library   the policy
///     ask       the service, for what it alone can tell
///
/// A server gives an edge_server and an edge_rule, and applies the edge_outcome: docs/how-to/write-a-module.md.

#pragma GCC visibility push(hidden)

/// What is counted.
typedef enum { EDGE_FOUND, EDGE_MISSED, EDGE_ASKED, EDGE_ASK_FAILED, EDGE_ALLOWED, EDGE_REFUSED, EDGE_EVENTS } edge_event;

/// What a server does for a check. `context` is the server's own form of a request.
typedef struct edge_server {
    /// PLAYGATE_REQUEST_… of all its requests: whether it forwards paths as they are.
    uint32_t flags;
    /// The way in which the service is asked: PLAYGATE_RESOLVED, _FORWARD or _ENVOY.
    int32_t dialect;
    /// The values of a header field of the request.
    playgate_header_values values;
    /// States method, scheme, host and client, and what else is known; `now`, if the server has a clock of its own. Returns 0, or -1 without
    /// memory.
    int (*state)(void *context, playgate_request *facts);
    /// Memory that lives as long as the outcome.
    edge_allocate allocate;
    /// Removes all header fields of a name from the request; null if the operator does it.
    void (*remove_field)(void *context, playgate_slice name);
    /// Counts; null for nothing.
    void (*count)(void *context, edge_event event);
} edge_server;

/// What is demanded of the requests of a location.
typedef struct edge_rule {
    edge_settings settings;
    edge_policy *policy;
    /// Null if paths decide.
    playgate_location *location;
    /// A number of the location; 0 for none.
    uint64_t location_number;
    edge_rules cut;
    /// The names of header fields with tokens.
    playgate_slice token_fields[2 * EDGE_SOURCES_LIMIT];
    size_t token_field_count;
} edge_rule;

/// Makes a rule of its settings, but for the policy. Returns null, or the fault, which may be in `error`. A location that the rule has stays.
///
/// number: A number of its location, which no other location of the process has.
const char *edge_rule_make(edge_rule *rule, uint64_t number, playgate_error *error);
/// Checks that the policy has what the location names. A service that has not answered yet cannot tell. Returns 0, or -1 with the fault.
int edge_rule_check(const edge_rule *rule, playgate_error *error);
/// Frees the location.
void edge_rule_free(edge_rule *rule);
/// True if both demand the same of a request.
int edge_rule_is_same(const edge_rule *one, const edge_rule *other);

/// A check that is under way.
typedef struct edge_check {
    const edge_server *server;
    void *context;
    const edge_rule *rule;
    /// What the request is for: the rule's location, or another one of the server's. Null if paths decide.
    const playgate_location *location;
    /// A number of that location; 0 for none.
    uint64_t location_number;
    /// The target as the client has sent it.
    playgate_slice target;
    /// A grant that was issued for this request before; null for none.
    const char *issued;
    playgate_cut cut;
    edge_values tokens;
    edge_values grants;
    playgate_request request;
    /// `buffer` is the caller's.
    playgate_answer answer;
    /// 1 if the request was counted before, or is a part of one that is.
    unsigned is_repeated : 1;
    /// 1 if the target could not be read, or there is no memory for it: it goes nowhere.
    unsigned is_unreadable : 1;
    /// 1 if the service is to be asked.
    unsigned is_asked : 1;
} edge_check;

/// Checks a request. All members up to `target` are set, and `answer.buffer`.
///
/// memory, size: For the target without tokens, as much as the target has.
void edge_check_run(edge_check *check, char *memory, size_t size);
/// The same for a request whose target is cut: `cut` is set too.
void edge_check_decide(edge_check *check);
/// Asks the service, and waits. What the policy has allowed stays allowed without an answer, and all else stays closed.
///
/// spare: PLAYGATE_BUFFER_SIZE bytes for the texts of the service's answer; null if there are none, which asks nobody.
void edge_check_ask(edge_check *check, playgate_asker *asker, char *spare);
/// States the request as a sub-request, for servers that ask by means of their own. Returns 0, or -1.
int edge_check_subrequest(const edge_check *check, playgate_subrequest *subrequest);
/// Removes header fields with tokens from the request.
///
/// with_cookies: 1 if `Cookie` goes as well, where tokens may be in it.
void edge_check_remove_fields(const edge_check *check, int with_cookies);
/// Takes the answer as an outcome, in place of what was decided before. Returns 0, or -1 if it refuses for want of memory.
int edge_check_take(const edge_check *check, edge_outcome *outcome);

/// True for the name of a field of the gate, with any of `-`, `_` and `.`, which many origins take for one another.
int edge_is_own_name(playgate_slice name);
/// The first value of a header field; empty if there is none.
playgate_slice edge_first_value(playgate_header_values values, void *context, const char *name);

#pragma GCC visibility pop

#endif
