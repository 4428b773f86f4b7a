// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Forms, with Sources/CAllocations/allocations.c, a library to preload. It appends the count of allocations to the file
// COUNT_FILE at every SIGUSR2.

#include "CAllocations.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void report(int signal) {
    (void)signal;
    char line[32];
    int length = snprintf(line, sizeof line, "%" PRIu64 "\n", limits_allocations());
    int file = open(getenv("COUNT_FILE"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0) return;
    if (write(file, line, (size_t)length) < 0) abort();
    close(file);
}

__attribute__((constructor)) static void start(void) { signal(SIGUSR2, report); }
