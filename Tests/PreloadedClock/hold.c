// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// A hold of Traffic Server's start, for tests: while the file that PLAYGATE_HOLD names exists, the main thread of a Traffic Server that
// accepts connections makes no more locks, and so no threads for tasks, which each have some. It waits for a minute at most.
//
// Without wait_for_cache the main thread itself starts the thread that accepts connections, and then those for tasks.

#define _GNU_SOURCE 1

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_held(void) {
    const char *file = getenv("PLAYGATE_HOLD");
    return file != NULL && gettid() == getpid() && access(file, F_OK) == 0;
}

/// Returns the number of threads whose name begins with a text.
static int count_threads(const char *prefix) {
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char path[64], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%.16s/comm", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file == NULL) continue;
        if (fgets(name, sizeof name, file) != NULL && strncmp(name, prefix, strlen(prefix)) == 0) count++;
        fclose(file);
    }
    if (tasks != NULL) closedir(tasks);
    return count;
}

/// A new thread has the name of its maker, and then takes its own: its maker goes on when it has.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    char name[16] = "";
    if (next == NULL) next = (typeof(next))dlsym(RTLD_NEXT, "pthread_create");
    if (!is_held() || pthread_getname_np(pthread_self(), name, sizeof name) != 0)
        return next(thread, attributes, body, argument);
    int before = count_threads(name), result = next(thread, attributes, body, argument);
    for (int round = 0; round < 1000 && result == 0 && count_threads(name) > before; round++) usleep(10000);
    return result;
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    static int (*next)(pthread_mutex_t *, const pthread_mutexattr_t *);
    if (next == NULL) next = (typeof(next))dlsym(RTLD_NEXT, "pthread_mutex_init");
    static int rounds;
    for (; rounds < 6000 && is_held() && count_threads("[ACCEPT") > 0; rounds++) usleep(10000);
    return next(mutex, attributes);
}
