// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Counts allocations of the program that it is preloaded into, and appends the count to the file COUNT_FILE at every SIGUSR2.
// For glibc.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_long count;

void *malloc(size_t size) {
    atomic_fetch_add(&count, 1);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    atomic_fetch_add(&count, 1);
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    atomic_fetch_add(&count, 1);
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
    atomic_fetch_add(&count, 1);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
    *result = memalign(alignment, size);
    return *result ? 0 : ENOMEM;
}

static void report(int signal) {
    (void)signal;
    char line[32];
    int length = snprintf(line, sizeof line, "%ld\n", atomic_load(&count));
    int file = open(getenv("COUNT_FILE"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0) return;
    if (write(file, line, (size_t)length) < 0) abort();
    close(file);
}

__attribute__((constructor)) static void start(void) { signal(SIGUSR2, report); }
