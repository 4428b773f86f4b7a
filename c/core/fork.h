// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_FORK_H
#define PLAYGATE_FORK_H

#include <stdint.h>

/// The number of forks between the process that has loaded the library and this one. An object with a descriptor, a lock or a
/// thread notes it when it is made: in a child, its descriptors are shared with the parent, and its locks may be held by threads
/// that the child does not have.
uint32_t fork_number(void);

#endif
