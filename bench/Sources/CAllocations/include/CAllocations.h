// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_CALLOCATIONS_H
#define PLAYGATE_CALLOCATIONS_H

#include <stdint.h>

/// The number of heap allocations of this process so far (glibc only).
uint64_t limits_allocations(void);

#endif
