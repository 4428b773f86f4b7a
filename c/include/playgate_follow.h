// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_FOLLOW_H
#define PLAYGATE_FOLLOW_H

#include "playgate.h"
#include "playgate_observe.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Keeps the policy of an engine as it is at its source: a file, or a service behind a unix socket (`GET /v1/policy`). It does
/// so in a thread that the caller starts, which waits in playgate_follower_run(). For processes that do not fork any more.
///
///     playgate_no_more_forks();
///     playgate_follower_create(&rules, &follower, &error)
///     thread: playgate_follower_run(follower)
///     any thread: playgate_check(playgate_follower_engine(follower), …)
///     playgate_follower_stop(follower), join the thread, playgate_follower_free(follower)
typedef struct playgate_follower playgate_follower;

/// The levels of a follower's messages.
enum {
    /// A policy came into force.
    PLAYGATE_LOG_NOTICE = 0,
    /// The policy stays as it was, and why. Told once for each fault, not at each attempt.
    PLAYGATE_LOG_ERROR = 1
};

/// A source that was opened once, with the files of key and trust, and with the policy if it is a file: before a fork, so that workers
/// share the policy's memory, or to test a configuration. It has neither locks nor descriptors.
typedef struct playgate_source playgate_source;

/// The source of a policy.
typedef struct playgate_follower_rules {
    /// sizeof(playgate_follower_rules).
    uint32_t size;
    uint32_t reserved;
    /// The path of a file, as `playgate export` writes it, looked at once a second; or `unix:PATH`, the service's API.
    const char *source;
    /// The file with the key for the service, of the scope `edge`; null for none.
    const char *key_file;
    /// Receives messages, on the thread that creates or runs the follower; may be null. `message` is one terminated line.
    void (*log)(void *context, int32_t level, const char *message);
    void *log_context;
    /// The file with the keys to trust, a JWK Set as `playgate keys export` writes it: the source is a file then, and signed by
    /// one of them. Null for a file that is not signed. It is read once, when the follower is created.
    const char *trust_file;
    /// A source that was opened before; null for none. With one, `source` and both files are not looked at, and a file's policy comes into
    /// force as it was read; if the file is another one by now, that is read too.
    const playgate_source *opened;
} playgate_follower_rules;

/// The sizes of playgate_follower_rules in the versions of this header that ended before `trust_file`, and before `opened`.
enum {
    PLAYGATE_FOLLOWER_RULES_SIZE_1 = offsetof(playgate_follower_rules, trust_file),
    PLAYGATE_FOLLOWER_RULES_SIZE_2 = offsetof(playgate_follower_rules, opened)
};

/// Opens a source. A service is not asked.
///
/// source: Receives the source, to be closed; null on failure.
/// error: Receives the fault; may be null.
/// Returns PLAYGATE_OK, _E_ARGUMENT (also for a file or key that cannot be read), _E_POLICY, _E_VERSION, _E_SIGNATURE or _E_INTERNAL.
int32_t playgate_source_open(const playgate_follower_rules *rules, playgate_source **source, playgate_error *error);

/// The policy that was read, without a reference of the caller's own; null for a service, and for null.
playgate_policy *playgate_source_policy(const playgate_source *source);

/// Closes a source; ignores null. Followers that were created with it go on.
void playgate_source_close(playgate_source *source);

/// Creates a follower, and an engine with the source's present policy. A service is asked for it for at most a second: if it is
/// away, there is no engine until it answers.
///
/// follower: Receives the follower, to be freed; null on failure.
/// error: Receives the fault; may be null.
/// Returns PLAYGATE_OK, _E_ARGUMENT (also for a file or key that cannot be read), _E_POLICY, _E_VERSION, _E_FORK or _E_INTERNAL.
int32_t playgate_follower_create(const playgate_follower_rules *rules, playgate_follower **follower, playgate_error *error);

/// The engine, without a reference of the caller's own: it lives as long as the follower, and stays the same once there is one.
/// Null if the service has not answered yet, and for null: refuse, or ask the service.
playgate_engine *playgate_follower_engine(const playgate_follower *follower);

/// Follows the source until playgate_follower_stop(). Called once, on a thread of its own.
///
/// Returns PLAYGATE_OK, _E_ARGUMENT for null, or _E_FORK, also in a child of the process that has created the follower.
int32_t playgate_follower_run(playgate_follower *follower);

/// Reports to the service what an observer has counted, and has it obey the service's orders, each second until
/// playgate_follower_stop(). Called once, on a thread of its own. Without a service there is nobody to report to: it returns at once.
///
/// Returns PLAYGATE_OK, _E_ARGUMENT for null, _E_INTERNAL without memory, or _E_FORK in a child of the process that has created the follower.
int32_t playgate_follower_report(playgate_follower *follower, playgate_observer *observer);

/// Returns 1 if the source is a service, to which playgate_follower_report() reports; 0 for a file, and for null.
int32_t playgate_follower_has_service(const playgate_follower *follower);

/// Ends playgate_follower_run() and playgate_follower_report() within milliseconds, or a second if a service accepts no connection, from
/// any thread; ignores null. The follower may be freed as soon as both have returned.
void playgate_follower_stop(playgate_follower *follower);

/// Frees a follower and its engine, after playgate_follower_run() and playgate_follower_report() have returned; ignores null.
void playgate_follower_free(playgate_follower *follower);

#ifdef __cplusplus
}
#endif

#endif
