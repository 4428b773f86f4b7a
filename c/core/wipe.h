// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_WIPE_H
#define PLAYGATE_WIPE_H

#include <stddef.h>

/// Overwrites memory that had a key or token in it. A compiler may not leave this out, as it may with memset().
static inline void memory_wipe(void *bytes, size_t length) {
    volatile unsigned char *byte = bytes;
    while (length-- > 0) *byte++ = 0;
}

#endif
