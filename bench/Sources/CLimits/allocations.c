// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Counts heap allocations (glibc): of the program that it is linked into, or, as part of a library, that it is preloaded into.

#include "CLimits.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

// Strong symbols stand before glibc's for the whole process, OpenSSL and libxml2 included.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static _Atomic uint64_t allocations;
static void counted(void) { atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed); }

uint64_t limits_allocations(void) { return atomic_load_explicit(&allocations, memory_order_relaxed); }

void *malloc(size_t size) { counted(); return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { counted(); return __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { counted(); return __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { counted(); return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
    *out = memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
