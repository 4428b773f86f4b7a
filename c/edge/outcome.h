// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_EDGE_OUTCOME_H
#define PLAYGATE_EDGE_OUTCOME_H

#include "settings.h"

/// What was decided about a request, in terms of HTTP.

#pragma GCC visibility push(hidden)

/// The longest text of a header field, in bytes, before it is percent-encoded: as in the service's. Longer ones are left out.
#define EDGE_TEXT_LIMIT 1024

/// What was decided, and the texts for header fields, logs and the operator's own variables. All texts are terminated; null for none.
typedef struct edge_outcome {
    /// PLAYGATE_REFUSE, _ALLOW or _ASK.
    int32_t outcome;
    /// The number of the code.
    int32_t number;
    /// PLAYGATE_ANSWER_….
    uint32_t flags;
    /// For the client, if the request is refused: 401, 403, 404 or 503. Else 200.
    int status;
    /// The expiry of the token or grant, in Unix milliseconds; 0 if there is none.
    int64_t expires;
    /// The name of the code, of the library.
    const char *code;
    const char *trace;
    const char *session;
    /// Percent-encoded, as the service does it.
    const char *mvpd;
    const char *resource;
    /// The grant and the cookie that hand it over.
    const char *set_cookie;
    const char *grant;
    /// 1 if the target could not be read: nobody knows what the origin would read, and which tokens are in it.
    unsigned is_unreadable : 1;
} edge_outcome;

/// Memory that lives as long as an outcome; null without any.
typedef void *(*edge_allocate)(void *context, size_t size);
/// Adds a header field of a response, or replaces all of its name; a null value removes them. Texts are terminated. Returns 0, or -1.
typedef int (*edge_add_field)(void *context, const char *name, const char *value);

/// Makes an outcome a refusal by a code of the library.
void edge_refuse(edge_outcome *outcome, const char *code, int status);
/// Keeps what an answer says. Without memory it refuses, and returns -1.
int edge_take(edge_outcome *outcome, const playgate_answer *answer, edge_allocate allocate, void *context);
/// True if the request goes on. What could not be read is closed in shadow mode too.
static inline int edge_passes(const edge_outcome *outcome, int mode) {
    return outcome->outcome == PLAYGATE_ALLOW || (mode == EDGE_SHADOW && !outcome->is_unreadable);
}

// MARK: Responses

/// Adds the fields that hand a new grant to the player. Returns 0, or -1.
int edge_deliver(const edge_outcome *outcome, edge_add_field add, void *context);
/// The fields of a refusal: code, trace, `Cache-Control`, `WWW-Authenticate`. Returns 0, or -1.
int edge_mark_refusal(const edge_outcome *outcome, edge_add_field set, void *context);
/// The fields of a response that passes: code and trace; who may keep it, if it is private. Returns 0, or -1.
///
/// status, values, count: The origin's status, and its fields of `Cache-Control`, as for edge_cache_control().
int edge_mark_response(const edge_outcome *outcome, const edge_settings *settings, int status, const playgate_slice *values, size_t count,
                       edge_add_field set, void *context);

/// The longest value that edge_cache_control() writes, with its end.
#define EDGE_CACHE_CONTROL_SIZE 128
/// Writes `Cache-Control` for what is protected: a player may keep it as the origin says, but no shared cache, and no one an error.
///
/// values, count: The origin's fields. All must be there: `count` above EDGE_FIELDS_LIMIT forbids to keep the response.
void edge_cache_control(int status, const playgate_slice *values, size_t count, char text[EDGE_CACHE_CONTROL_SIZE]);

#pragma GCC visibility pop

#endif
