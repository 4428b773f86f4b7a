// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Counts the heap allocations (glibc) of the program that it is linked into, or that preloads it as part of a library.

#include "CAllocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

// Strong symbols take precedence over glibc's in the whole process, including OpenSSL and libxml2.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

// Each thread has a counter in its own cache line, because threads would contend for a single counter.
enum { most_threads = 256 };
static struct { _Alignas(64) _Atomic uint64_t count; } counts[most_threads];
static _Atomic unsigned threads;
static _Thread_local _Atomic uint64_t *mine;

static void counted(void) {
    if (!mine) mine = &counts[atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % most_threads].count;
    atomic_store_explicit(mine, atomic_load_explicit(mine, memory_order_relaxed) + 1, memory_order_relaxed);
}

uint64_t limits_allocations(void) {
    uint64_t sum = 0;
    for (unsigned place = 0; place < most_threads; place++)
        sum += atomic_load_explicit(&counts[place].count, memory_order_relaxed);
    return sum;
}

void *malloc(size_t size) { counted(); return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { counted(); return __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { counted(); return __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { counted(); return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
    *out = memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
