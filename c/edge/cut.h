// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_EDGE_CUT_H
#define PLAYGATE_EDGE_CUT_H

#include "token_sources.h"

/// A request's target without its tokens and grants.

#pragma GCC visibility push(hidden)

/// The longest target, in bytes: more than the service's, which refuses what is longer.
#define EDGE_TARGET_LIMIT 32768

/// Cuts tokens and grants out of a target. Returns 0, or -1 for one that no request may have.
///
/// buffer, capacity: Memory for what is left, as much as the target has; it is not used if nothing can be cut.
int edge_cut(const edge_rules *rules, playgate_slice target, char *buffer, size_t capacity, playgate_cut *cut);

#pragma GCC visibility pop

#endif
