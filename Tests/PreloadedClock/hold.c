// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// A hold of Traffic Server's start, for tests: while the file that PLAYGATE_HOLD names exists, a Traffic Server whose log, the file
// that PLAYGATE_DIAGS names, has it as initialized makes no more locks on its main thread, and so no threads for tasks, which each
// have some. It waits for a minute at most.

#define _GNU_SOURCE 1

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_initialized(void) {
    const char *path = getenv("PLAYGATE_DIAGS");
    FILE *file = path == NULL ? NULL : fopen(path, "r");
    char line[1024];
    int found = 0;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = strstr(line, "fully initialized") != NULL;
    if (file != NULL) fclose(file);
    return found;
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    static int (*next)(pthread_mutex_t *, const pthread_mutexattr_t *);
    const char *hold = getenv("PLAYGATE_HOLD");
    if (next == NULL) next = (typeof(next))dlsym(RTLD_NEXT, "pthread_mutex_init");
    for (int round = 0; round < 6000 && hold != NULL && gettid() == getpid() && access(hold, F_OK) == 0; round++) {
        if (!is_initialized()) break;
        usleep(10000);
    }
    return next(mutex, attributes);
}
