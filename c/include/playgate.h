// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_H
#define PLAYGATE_H

#include "playgate_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The C interface of Playgate: the decision of the gate inside a proxy's worker, without a request to the service.
///
///     policy  what the service serves at `GET /v1/policy`, parsed; immutable
///     engine  a live gate of a process: a policy, its revocations and keys, which are replaced without a pause
///     location   settings of a location of the caller's configuration: a media id, or a resource; optional
///     check   one decision: ALLOW, REFUSE, or ASK the service, which alone can tell
///
/// Threads. Every function may be called from any thread, at the same time, with the same handles. No function starts a
/// thread, or calls back after it has returned. Those of playgate_follow.h and playgate_ask.h alone wait for input or output.
///
/// Forks. A policy may be opened, retained and released before a fork, so that the workers share its memory; locations too.
/// Everything with an engine takes locks that do not survive a fork: it is refused with PLAYGATE_E_FORK until the process
/// has called playgate_no_more_forks(), and again in a child that such a process forks, unless that calls exec.
///
///     master    playgate_policy_open()      also for a test of the configuration
///     fork
///     worker    playgate_no_more_forks()    once
///               playgate_engine_create()
///               playgate_check()            for each request
///
/// Lifetimes. The library keeps no pointer of the caller's after a call, and copies what it needs. All texts of an answer are
/// in the caller's buffer. Texts of playgate_code_name() and playgate_version() live as long as the process.
///
/// Failures. Any argument may be null, empty, huge, or not UTF-8: a call answers with an error, and a check refuses. A slice
/// whose memory is not readable is the caller's fault alone. Every answer is closed unless it says PLAYGATE_ALLOW: one that
/// was never filled is all zeros, and PLAYGATE_REFUSE is zero.
///
/// Memory. A check that playgate_answer_cache.h answers allocates nothing. Any other allocates and frees a few small objects.

/// The version of this interface. A program that was compiled for one version runs with a library whose playgate_abi() is
/// the same. New functions, and new members at the end of structures that begin with `size`, do not change it: a structure is accepted
/// from its first version on (`PLAYGATE_…_SIZE_1`), and no byte behind its stated `size` is touched.
#define PLAYGATE_ABI 1

/// The size of a buffer that has room for every answer, in bytes.
#define PLAYGATE_BUFFER_SIZE 16384

/// The greatest size of a policy, in bytes.
#define PLAYGATE_POLICY_LIMIT 268435456

/// The version of the interface that the library implements: compare it with PLAYGATE_ABI after dlopen().
uint32_t playgate_abi(void);

/// The version of the library, such as `1.4.0`.
const char *playgate_version(void);

// MARK: Policy

/// A parsed policy: catalogue, trust, keys, profiles, policies, revocations and its stated limits. Counted references.
///
/// A policy contains the symmetric keys by which grants are checked: keep the document as you keep a private key.
typedef struct playgate_policy playgate_policy;

/// Parses a policy: strict JSON, as `GET /v1/policy` and `playgate export` write it. Unknown and repeated members are errors.
///
/// bytes, length: The document, at most PLAYGATE_POLICY_LIMIT bytes.
/// now: The time in Unix milliseconds, for keys that have a validity.
/// policy: Receives a reference, to be released; null on failure.
/// error: Receives the fault; may be null. All zeros on success.
/// Returns PLAYGATE_OK, _E_ARGUMENT, _E_POLICY, _E_VERSION or _E_INTERNAL.
int32_t playgate_policy_open(const char *bytes, size_t length, int64_t now, playgate_policy **policy,
                             playgate_error *error);

/// Adds a reference, and returns its argument.
playgate_policy *playgate_policy_retain(playgate_policy *policy);

/// Releases a reference; ignores null. The last one frees the policy. An engine has its own.
void playgate_policy_release(playgate_policy *policy);

/// The time at which the service wrote the policy, in Unix milliseconds; 0 for null.
int64_t playgate_policy_issued(const playgate_policy *policy);

/// The time for which the policy may be used without being confirmed, in milliseconds, from `goodFor`; 0 for null.
int64_t playgate_policy_good_for(const playgate_policy *policy);

/// Returns 1 if the policy has a profile of this name, else 0. For names in the caller's configuration.
int32_t playgate_policy_has_profile(const playgate_policy *policy, playgate_slice name);

/// Returns 1 if the policy has an entry for this media id, else 0.
int32_t playgate_policy_has_media(const playgate_policy *policy, playgate_slice media);

// MARK: Location

/// The settings of a location in the caller's configuration, which say what the requests there are for. Without a location, the
/// catalogue finds the entry by path and host. Counted references; independent of any policy.
typedef struct playgate_location playgate_location;

/// The use of tokens that a location demands.
enum {
    /// The first playback consumes the token: such a request is asked. The default.
    PLAYGATE_USE_ONCE = 0,
    /// The token is accepted until it expires.
    PLAYGATE_USE_WITHIN_TTL = 1,
    /// Only grants are accepted.
    PLAYGATE_USE_GRANT = 2
};

/// The demands of a location. At most one of `media` and `resource`; with neither, paths decide, and `profile` alone counts.
typedef struct playgate_location_rules {
    /// sizeof(playgate_location_rules).
    uint32_t size;
    /// PLAYGATE_USE_…, for `resource`; 0 otherwise.
    int32_t use;
    /// A media id of the catalogue, whose entry decides.
    playgate_slice media;
    /// A resource that tokens must be good for: an identifier, or an MRSS fragment. Needs `requestor`.
    playgate_slice resource;
    /// The requestor whose tokens are accepted, for `resource`.
    playgate_slice requestor;
    /// The only profile whose grants are accepted. Empty: the profiles of the entry, or none with `resource`.
    playgate_slice profile;
} playgate_location_rules;

/// Creates a location.
///
/// location: Receives a reference, to be released; null on failure.
/// error: Receives the fault, such as a resource that is none; may be null.
/// Returns PLAYGATE_OK or _E_ARGUMENT.
int32_t playgate_location_create(const playgate_location_rules *rules, playgate_location **location, playgate_error *error);

/// Releases a location; ignores null.
void playgate_location_release(playgate_location *location);

// MARK: Engine

/// A live gate of this process: the policy in force, with its caches. Counted references.
typedef struct playgate_engine playgate_engine;

/// Tells that this process will not fork again, or that its children will not check. Call it once in each worker, before
/// anything with an engine. Children that are forked later are refused all of that, for good.
///
/// Returns PLAYGATE_OK, or _E_FORK in such a child.
int32_t playgate_no_more_forks(void);

/// Creates an engine, which retains the policy.
///
/// Returns PLAYGATE_OK, _E_ARGUMENT, _E_FORK or _E_INTERNAL.
int32_t playgate_engine_create(playgate_policy *policy, playgate_engine **engine, playgate_error *error);

/// Adds a reference, and returns its argument.
playgate_engine *playgate_engine_retain(playgate_engine *engine);

/// Releases a reference; ignores null. Checks that are under way go on to their end.
void playgate_engine_release(playgate_engine *engine);

/// Replaces the policy with its revocations and keys, at once for all checks that begin after it. A policy that was issued
/// before the one in force is refused with _E_ARGUMENT: an attacker may replay it.
///
/// Returns PLAYGATE_OK, _E_ARGUMENT, _E_FORK or _E_INTERNAL. On failure the engine stays as it is.
int32_t playgate_engine_replace(playgate_engine *engine, playgate_policy *policy, playgate_error *error);

/// Replaces some parts of the policy in force, from a document with `"parts": true` and only the members to replace, such as
/// `revocations` and `keys` (`GET /v1/policy?parts=revocations,keys`). A list replaces the whole list.
///
/// Returns PLAYGATE_OK, _E_ARGUMENT, _E_POLICY, _E_VERSION, _E_FORK or _E_INTERNAL. On failure the engine stays as it is.
int32_t playgate_engine_update(playgate_engine *engine, const char *bytes, size_t length, int64_t now,
                               playgate_error *error);

/// Tells that the service has confirmed the policy in force (304) by an answer to a request that was sent at `now`, in Unix
/// milliseconds: the policy may be used for `goodFor` more.
///
/// Returns PLAYGATE_OK, _E_ARGUMENT or _E_FORK.
int32_t playgate_engine_confirm(playgate_engine *engine, int64_t now);

/// The time from which on the policy in force is too old to decide by, in Unix milliseconds; 0 for null. Every check is then
/// PLAYGATE_ASK with `ask_policy_stale`.
int64_t playgate_engine_fresh_until(const playgate_engine *engine);

/// Checks that the policy in force has the media and the profile that a location names: checks with others are refused.
///
/// Returns PLAYGATE_OK, _E_FORK, or _E_ARGUMENT with the name in `error`, which may be null.
int32_t playgate_engine_has_location(const playgate_engine *engine, const playgate_location *location, playgate_error *error);

/// A number that changes whenever a policy or a part of it was replaced, never 0; 0 for null. Reading it takes no lock.
uint64_t playgate_engine_generation(const playgate_engine *engine);

// MARK: Check

/// A header field of a request.
typedef struct playgate_header {
    playgate_slice name;
    playgate_slice value;
} playgate_header;

/// Returns the values of a header field: writes at most `capacity` of them, in the order of the request, and returns how many
/// there are. Called only during a check, on its thread, and only for what a grant is bound to.
///
/// name: The name, in lower case.
typedef size_t (*playgate_header_values)(void *context, playgate_slice name, playgate_slice *values, size_t capacity);

/// Properties of a request.
enum {
    /// A Range other than `bytes=0-`.
    PLAYGATE_REQUEST_PARTIAL = 1,
    /// The edge forwards empty and dot segments unresolved: such paths are refused. nginx resolves them, and does not set it.
    PLAYGATE_REQUEST_AS_IS = 2,
    /// The path can be read in two ways: see playgate_target_cut().
    PLAYGATE_REQUEST_AMBIGUOUS = 4,
    /// `alpn` and `client_key` are known; empty ones say that the connection has none.
    PLAYGATE_REQUEST_TLS_KNOWN = 8,
    /// The caller keeps no answer: `good_until` is 0 and `scope` PLAYGATE_SCOPE_NONE, which saves up to a tenth of a check.
    PLAYGATE_REQUEST_NOT_KEPT = 16
};

/// A request, as the edge has it. Facts that are empty are unknown: a grant that depends on one of them is refused by
/// `grant_context_missing`.
typedef struct playgate_request {
    /// sizeof(playgate_request).
    uint32_t size;
    /// PLAYGATE_REQUEST_….
    uint32_t flags;
    /// The time of receipt, in Unix milliseconds, 0 to 2^53.
    int64_t now;
    /// The method of the client's request, such as `GET`, in its case.
    playgate_slice method;
    /// Path and query, undecoded, without tokens: see playgate_target_cut().
    playgate_slice target;
    /// `http` or `https`, of the client's connection.
    playgate_slice scheme;
    /// The host that was requested, with or without a port.
    playgate_slice host;
    /// The media tokens that the request shows, as sent, from all sources in their order. Two that differ are refused by
    /// `token_conflict`; empty ones do not count.
    const playgate_slice *tokens;
    size_t token_count;
    /// The grants that the request shows, as sent, from all sources in the order in which they are tried. At most 6 different
    /// ones count; empty ones do not.
    const playgate_slice *grants;
    size_t grant_count;
    /// The client's address: IPv4 or IPv6, without port and zone.
    playgate_slice client;
    /// The protocol id of ALPN, such as `h2`; the DER of the client's SubjectPublicKeyInfo.
    playgate_slice alpn, client_key;
    /// Codes of country and subdivision (ISO 3166), with commas, such as `US,US-CA`.
    playgate_slice countries;
    /// `latitude,longitude` in degrees.
    playgate_slice position;
    /// The number of the client's autonomous system; 0 if unknown.
    uint32_t client_asn;
    uint32_t reserved;
    /// The client's header fields, for claims that need them: an array, or else a function; unknown if both are null.
    const playgate_header *headers;
    size_t header_count;
    playgate_header_values header_values;
    void *header_context;
    /// The value of `traceparent` (W3C Trace Context); a new trace id is made if it is empty or malformed.
    playgate_slice traceparent;
    /// The names of header fields in which tokens are, besides those that the service always reads: playgate_ask() passes them on.
    const playgate_slice *token_fields;
    size_t token_field_count;
    /// The name of the observer that counts the request, for the service; empty for none: see playgate_observe.h.
    playgate_slice observer;
} playgate_request;

/// The outcomes of a check.
enum {
    /// The request must not be served.
    PLAYGATE_REFUSE = 0,
    /// The request may be served.
    PLAYGATE_ALLOW = 1,
    /// Only the service can tell: send it the check as an edge does without this library (`/v1/check/…`), and take its answer.
    /// A caller that cannot must refuse.
    PLAYGATE_ASK = 2
};

/// Properties of an answer.
enum {
    /// The request would have been refused by `code`. Shadow mode allowed it.
    PLAYGATE_ANSWER_SHADOW = 1,
    /// The grant is due to be renewed, and this policy does not let the edge sign. The service would renew it.
    PLAYGATE_ANSWER_RENEWAL_DUE = 2,
    /// A text had no room in the buffer, and is empty.
    PLAYGATE_ANSWER_TRUNCATED = 4,
    /// The renewed grant goes also into `CTA-Common-Access-Token`, and into `Common-Access-Token`, of the response.
    PLAYGATE_ANSWER_GRANT_HEADER = 8
};

/// The requests for which an answer is good up to `good_until`, all with the same tokens, grants, method, scheme and host.
enum {
    /// This request alone.
    PLAYGATE_SCOPE_NONE = 0,
    /// Requests with the same target.
    PLAYGATE_SCOPE_TARGET = 1,
    /// Requests for any file of the same folder: the first `scope_length` bytes of the target are the same, and up to the end
    /// or `?` only letters, digits, `-`, `_`, `.` and `~` follow, of which the first is no full stop; after a `?` there are
    /// only bytes from 0x21 to 0x7E but `#`.
    PLAYGATE_SCOPE_FOLDER = 2
};

/// The answer to a check. The caller sets `size`, `buffer` and `capacity`; the check sets the rest, on failure too.
typedef struct playgate_answer {
    /// sizeof(playgate_answer).
    uint32_t size;
    /// PLAYGATE_REFUSE, _ALLOW or _ASK.
    int32_t outcome;
    /// The number of the reason: see playgate_code_name(). Never 0.
    int32_t code;
    /// The status for the client: 200 for ALLOW and ASK, 401 if no credential was shown, else 403.
    int32_t status;
    /// PLAYGATE_ANSWER_….
    uint32_t flags;
    /// PLAYGATE_SCOPE_….
    int32_t scope;
    /// The length of the folder for PLAYGATE_SCOPE_FOLDER: the number of bytes of the target up to its last slash.
    uint32_t scope_length;
    uint32_t reserved;
    /// The expiry of the token or grant, in Unix milliseconds; 0 if there is none.
    int64_t expires;
    /// The last time at which the answer is good for the requests of `scope`, in Unix milliseconds: the earliest of the ends of
    /// token, key and policy, and of the start of renewal. 0: do not keep it.
    int64_t good_until;
    /// The generation of the engine that has decided: a kept answer is good for no other.
    uint64_t generation;
    /// The MVPD of the media token; empty if there is none.
    playgate_slice mvpd;
    /// The requestor and the resource that were required; empty if none were.
    playgate_slice requestor;
    playgate_slice resource;
    /// The id of the playback session, 32 hexadecimal digits; empty if there is none.
    playgate_slice session;
    /// The trace id, 32 hexadecimal digits.
    playgate_slice trace;
    /// The renewed grant, and the value of `Set-Cookie` that hands it to a browser; empty if there is none. An answer with
    /// one must not be cached.
    playgate_slice grant;
    playgate_slice set_cookie;
    /// The caller's memory for all texts, PLAYGATE_BUFFER_SIZE bytes; may be null if `capacity` is 0.
    char *buffer;
    size_t capacity;
    /// A number of the playback and the chain of its grant's renewals, if they are counted; 0 if not. This and what follows is for
    /// playgate_observe().
    uint64_t playback;
    /// The time at which the grant was issued, and the end of the playback, in Unix milliseconds.
    int64_t issued;
    int64_t playback_end;
    /// A number of the grant.
    uint32_t grant_number;
    uint32_t reserved_2;
    /// The name of the grant's profile.
    playgate_slice profile;
} playgate_answer;

/// The sizes of structures in earlier versions of this interface: a request ended before `token_fields`, and before `observer`, and an
/// answer before `playback`.
enum {
    PLAYGATE_LOCATION_RULES_SIZE_1 = offsetof(playgate_location_rules, profile) + sizeof(playgate_slice),
    PLAYGATE_REQUEST_SIZE_1 = offsetof(playgate_request, token_fields),
    PLAYGATE_REQUEST_SIZE_2 = offsetof(playgate_request, observer),
    PLAYGATE_ANSWER_SIZE_1 = offsetof(playgate_answer, playback)
};

/// Decides about a request.
///
/// location: The settings of the location; null if the catalogue finds the entry by path.
/// answer: Receives the answer. If the function fails, it refuses with `internal_failure` or `edge_request_invalid`.
/// Returns PLAYGATE_OK, _E_ARGUMENT, _E_FORK or _E_INTERNAL. Who looks at `outcome` alone is safe.
int32_t playgate_check(playgate_engine *engine, const playgate_location *location, const playgate_request *request,
                       playgate_answer *answer);

// MARK: Codes

/// The stable name of a code, such as `granted`, `grant_expired` or `ask_use`, terminated; null for an unknown number.
///
/// 1 to 99 are reasons to allow, 100 to 499 to refuse, and 900 to 999 to ask. Numbers and names never change.
const char *playgate_code_name(int32_t code);

/// The number of a code by its name; 0 for an unknown name.
int32_t playgate_code_number(playgate_slice name);

/// Writes all numbers of codes in ascending order, at most `capacity`, and returns how many there are: for counters.
size_t playgate_codes(int32_t *codes, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
