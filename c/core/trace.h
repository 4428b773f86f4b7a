// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_TRACE_H
#define PLAYGATE_TRACE_H

#include "playgate.h"

// Writes the 32 digits of the trace id of `traceparent` (W3C Trace Context, §3.2), or those of a new one.
//
// seed, count: What new ids are made of: a random number, and how many of them there are.
void playgate_write_trace(playgate_slice parent, uint64_t seed, uint64_t *count, char *digits);

#endif
