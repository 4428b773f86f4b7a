// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_CLOCK_H
#define PLAYGATE_CLOCK_H

#include <stdint.h>
#include <time.h>

/// The two clocks of everything in C, in milliseconds. For the core and the modules of servers.

static inline int64_t clock_milliseconds(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return 0;
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/// The time that no change of the system's clock moves: for deadlines.
static inline int64_t clock_steady(void) { return clock_milliseconds(CLOCK_MONOTONIC); }

/// Unix time: for what tokens and policies say.
static inline int64_t clock_unix(void) { return clock_milliseconds(CLOCK_REALTIME); }

#endif
