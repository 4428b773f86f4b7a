// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Patterns by RE2, which is C++: matching in linear time. Without the trait Patterns this module is empty.

#ifndef PLAYGATE_CRE2_H
#define PLAYGATE_CRE2_H

#ifdef __cplusplus
extern "C" {
#endif

/// A compiled pattern. Any number of threads may search with it at once.
typedef struct playgate_pattern playgate_pattern;

/// Compiles a pattern in POSIX extended syntax, of bytes and not of characters. Returns NULL if RE2 refuses it, or needs more
/// than `memory` bytes for it. `states` becomes the number of its states.
playgate_pattern *playgate_pattern_new(const unsigned char *text, long length, long memory, long *states);

/// Returns 1 if the pattern matches somewhere in the text, and 0 otherwise.
int playgate_pattern_search(const playgate_pattern *pattern, const unsigned char *text, long length);

/// Frees a pattern.
void playgate_pattern_free(playgate_pattern *pattern);

#ifdef __cplusplus
}
#endif

#endif
