// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_BASE64_H
#define PLAYGATE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Decodes the front of a Base64 text of either alphabet, without padding, in blocks of 32 characters, if this processor
/// has the instructions for it. Writes within `capacity` bytes, and up to 8 bytes after the decoded ones.
///
/// Returns the number of decoded characters, a multiple of 32, which may be 0. Sets `valid` to true if all of them are in
/// an alphabet. Otherwise the output is meaningless.
size_t playgate_base64_blocks(const uint8_t *text, size_t count, uint8_t *output, size_t capacity, bool *valid);

#endif
