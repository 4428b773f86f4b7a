// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// A load generator that never sleeps, by LD_PRELOAD: epoll_wait() asks for events every 20 microseconds, in place of waiting for one.
//
// A server pays for each client that it has to wake on another core, in a virtual machine above a microsecond. A client sleeps the
// more often the slower the server is, so the slower of two servers would pay for that too, whatever made it slower.

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>

/// The time between two questions, in nanoseconds: a server answers a few requests in it, of the 32 in flight.
#define PAUSE 20000

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t) time.tv_sec * 1000000000 + time.tv_nsec;
}

int epoll_wait(int poll, struct epoll_event *events, int capacity, int timeout) {
    int64_t start = now(), end = timeout < 0 ? INT64_MAX : start + (int64_t) timeout * 1000000;
    for (;;) {
        // Another function, which nothing replaces.
        int count = epoll_pwait(poll, events, capacity, 0, NULL);
        int64_t time = now();
        if (count != 0 || time >= end) return count;
        for (int64_t next = time + PAUSE; now() < next;) {}
    }
}
