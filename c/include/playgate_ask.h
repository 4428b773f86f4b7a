// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_ASK_H
#define PLAYGATE_ASK_H

#include "playgate.h"
#include "playgate_subrequest.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Asks the service for what it alone can tell (PLAYGATE_ASK, and PLAYGATE_ANSWER_RENEWAL_DUE), over kept connections to its edge
/// listener, a unix socket. A call waits for the answer: for threads that may wait. Others send the request by means of their
/// own, as the pages of the edges show.
typedef struct playgate_asker playgate_asker;

/// Creates an asker, in the process that uses it: a child of a fork needs its own.
///
/// path: The unix socket of the service's edge listener, such as `/run/playgate/edge.sock`.
/// timeout: The time within which an answer must be whole, in milliseconds, 1 to 60,000.
/// connections: The greatest number of idle connections that are kept, 1 to 1,024. More may be in use.
/// Returns PLAYGATE_OK, _E_ARGUMENT, or _E_INTERNAL if there is no memory.
int32_t playgate_asker_create(const char *path, uint32_t timeout, uint32_t connections, playgate_asker **asker);

/// Closes the connections and frees the asker, while no call is under way; ignores null.
void playgate_asker_free(playgate_asker *asker);

/// Asks about a request, from any thread.
///
/// request: `target` is as the client sent it, with its tokens; `method`, `scheme`, `host`, `client` and `traceparent` are
/// stated as facts of the edge. `headers` are the fields of the client that the service reads, such as `Cookie`,
/// `X-Media-Token`, `CTA-Common-Access-Token`, `Authorization`, `DPoP`, `Range` and `User-Agent`, and those that `token_fields`
/// names: no others are passed on, whatever `headers` has. With PLAYGATE_REQUEST_AS_IS, the service refuses empty and dot segments; without, it resolves them. Other flags,
/// `tokens` and `grants` are ignored.
/// answer: As for playgate_check(): ALLOW, or REFUSE. If the service has not answered, or not as one does, REFUSE with the
/// status 503 and `internal_failure`.
/// Returns PLAYGATE_OK if the service has answered, _E_ARGUMENT, _E_INTERNAL, or _E_FORK in a child of the process that has created
/// the asker, whose connections are the parent's. Who looks at `outcome` alone is safe.
int32_t playgate_ask(playgate_asker *asker, const playgate_request *request, playgate_answer *answer);

/// Asks a sub-request that was made before, such as by a thread that may not wait. As playgate_ask() otherwise.
int32_t playgate_ask_subrequest(playgate_asker *asker, const playgate_subrequest *subrequest, playgate_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
