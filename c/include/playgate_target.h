// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_TARGET_H
#define PLAYGATE_TARGET_H

#include "playgate.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The parts of a request's target that carry tokens and grants.
typedef struct playgate_target_rules {
    /// sizeof(playgate_target_rules).
    uint32_t size;
    /// The number of `parameters` and of `segments`, at most 32 in all.
    uint32_t parameter_count;
    uint32_t segment_count;
    uint32_t reserved;
    /// The names of query parameters, such as `cat`.
    const playgate_slice *parameters;
    /// The prefixes of path segments, such as `~cat=`.
    const playgate_slice *segments;
    /// The attribute of signed URIs (RFC 9246), such as `URISigningPackage`; empty for none.
    playgate_slice package;
} playgate_target_rules;

/// The size of playgate_target_rules in the first version of this interface.
enum { PLAYGATE_TARGET_RULES_SIZE_1 = offsetof(playgate_target_rules, package) + sizeof(playgate_slice) };

/// A token or grant in a target.
typedef struct playgate_found {
    /// The value as it stands in the target: a slice of the caller's target.
    playgate_slice value;
    /// The index in `parameters`; after those, in `segments`; after those, the package.
    uint32_t rule;
    uint32_t reserved;
} playgate_found;

/// A target without its tokens. Edges pass it to the check, to the origin and to cache keys, all the same.
typedef struct playgate_cut {
    /// sizeof(playgate_cut).
    uint32_t size;
    /// PLAYGATE_REQUEST_AMBIGUOUS if edge, gate and origin could read the path differently. Add it to the request's flags.
    uint32_t flags;
    /// The target without the tokens: the caller's own if there are none, else in the buffer.
    playgate_slice target;
    /// The number of values that were found, at most 16; more of them are PLAYGATE_E_ARGUMENT.
    uint32_t found_count;
    uint32_t reserved;
    playgate_found found[16];
} playgate_cut;

/// The size of playgate_cut in the first version of this interface.
enum { PLAYGATE_CUT_SIZE_1 = offsetof(playgate_cut, found) + 16 * sizeof(playgate_found) };

/// Cuts tokens and grants out of a raw target, by the code that the service uses.
///
/// target: Path and query as the client sent them, undecoded.
/// buffer, capacity: Memory for the target without tokens: as much as the target has.
/// Returns PLAYGATE_OK, _E_ARGUMENT (also for a target that no request can have: refuse it), or _E_BUFFER.
int32_t playgate_target_cut(const playgate_target_rules *rules, playgate_slice target, char *buffer, size_t capacity,
                            playgate_cut *cut);

#ifdef __cplusplus
}
#endif

#endif
