// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Counts forks, and mends the thread id that the Swift runtime remembers, in the child of a fork.
//
// The runtime of Swift 6.3 on Linux asks for the id of a thread once, when the library is loaded for the thread that loads it,
// and keeps it in the thread's own memory. The only thread of a child has inherited that memory: it would write the id of its
// parent's thread into the locks of lazy variables, the kernel would refuse to wait for a stranger or to wake anyone for it,
// and two threads of the child that touch the same variable first would turn for ever. Zero makes the runtime ask again.

#include "fork.h"

#include <pthread.h>
#include <stdatomic.h>

static _Atomic(uint32_t) forks;

uint32_t fork_number(void) { return atomic_load_explicit(&forks, memory_order_relaxed); }

// The variable is within reach only if the runtime is linked into the library, as scripts/embed does it. A release of Swift
// that renames it fails to link.
#ifdef PLAYGATE_STATIC_RUNTIME

extern __thread uint32_t remembered_thread __asm__("_ZZN5swift14threading_impl5linux13ulock_get_tidEvE3tid");

static void forget_thread(void) { remembered_thread = 0; }

#else

static void forget_thread(void) {}

#endif

static void enter_child(void) {
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
    forget_thread();
}

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, enter_child); }
