// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_EDGE_ANSWERS_H
#define PLAYGATE_EDGE_ANSWERS_H

#include <playgate_answer_cache.h>

/// The answers that all threads of a process remember: playgate_answer_cache.h for more than one thread.

#pragma GCC visibility push(hidden)

/// The bounds of the number of answers, and of an answer's size in bytes; the usual ones.
enum { edge_least_answers = 64, edge_most_answers = 1048576, edge_usual_answers = 16384 };
enum { edge_least_answer = 512, edge_most_answer = 16384, edge_usual_answer = 2048 };

typedef struct edge_answers edge_answers;

/// Creates a memory of answers; null if there is no memory.
///
/// has_threads: 0 if one thread alone uses it.
/// counters: The counts; null for none. They must live as long.
edge_answers *edge_answers_create(size_t entries, size_t entry_size, int has_threads, playgate_answer_cache_counters *counters);
void edge_answers_free(edge_answers *answers);
/// The functions of playgate_answer_cache.h, from any thread.
int edge_answers_find(edge_answers *answers, uint64_t location, uint64_t generation, const playgate_request *request, playgate_answer *answer);
void edge_answers_keep(edge_answers *answers, uint64_t location, const playgate_request *request, const playgate_answer *answer);

#pragma GCC visibility pop

#endif
