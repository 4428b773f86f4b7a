// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_SUBREQUEST_H
#define PLAYGATE_SUBREQUEST_H

#include "playgate.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What is asked of the service's edge listener, and how its answer is read, without any input or output: for servers that send
/// requests by means of their own. playgate_ask.h has both with a transport.
///
///     playgate_subrequest_make(PLAYGATE_FORWARD, request, &subrequest)
///     the server sends GET subrequest.path with subrequest.fields
///     playgate_subrequest_read(status, values, context, &answer)

/// The ways to state a request's facts: one of the service's dialects each.
enum {
    /// Like nginx's page: the service resolves empty and dot segments.
    PLAYGATE_RESOLVED = 0,
    /// Like edges that forward paths as they are: the service refuses empty and dot segments.
    PLAYGATE_FORWARD = 1,
    /// Like Envoy's `ext_authz`: as PLAYGATE_FORWARD, and the target follows `path`.
    PLAYGATE_ENVOY = 2
};

/// The most header fields of a sub-request: more than the service would take.
#define PLAYGATE_SUBREQUEST_FIELDS 64

/// A sub-request. All slices are the request's, or constant.
typedef struct playgate_subrequest {
    /// sizeof(playgate_subrequest).
    uint32_t size;
    /// The number of `fields`.
    uint32_t field_count;
    /// The path on the service, such as `/v1/check/nginx`.
    playgate_slice path;
    /// The target that follows `path`; empty if a field states it.
    playgate_slice target;
    /// The facts that are known, and the client's fields that the service reads.
    playgate_header fields[PLAYGATE_SUBREQUEST_FIELDS];
} playgate_subrequest;

/// The size of a sub-request in the first version of this header.
enum { PLAYGATE_SUBREQUEST_SIZE_1 = offsetof(playgate_subrequest, fields) + PLAYGATE_SUBREQUEST_FIELDS * sizeof(playgate_header) };

/// States a request as a sub-request.
///
/// dialect: PLAYGATE_RESOLVED, _FORWARD or _ENVOY.
/// request: As for playgate_ask(), whose `token_fields` names further header fields to pass on.
/// Returns PLAYGATE_OK, or _E_ARGUMENT: also for more fields than the service takes, and for a value with a control character,
/// which would be two fields.
int32_t playgate_subrequest_make(int32_t dialect, const playgate_request *request, playgate_subrequest *subrequest);

/// Reads the service's answer. A field that is there more than once does not count.
///
/// status: That of the response.
/// values: Its header fields.
/// answer: As for playgate_check(): ALLOW, or REFUSE. If this is no answer of a gate, REFUSE with the status 503 and
/// `internal_failure`.
/// Returns PLAYGATE_OK, _E_ARGUMENT, or _E_INTERNAL if this is no answer of a gate, such as one with a code that this library does not know.
int32_t playgate_subrequest_read(int32_t status, playgate_header_values values, void *context, playgate_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
