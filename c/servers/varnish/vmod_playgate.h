// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef VMOD_PLAYGATE_H
#define VMOD_PLAYGATE_H

#include <cache/cache.h>
#include <vcl.h>
#include <vrt_obj.h>

#include <check.h>

#include "VSC_playgate.h"
#include "vcc_playgate.h"

/// A module of Varnish: a request is decided in vcl_recv, in the worker's thread. The decision is in edge/; this adapts it to Varnish.
///
///     object         the object of VCL: its settings, and its life with the VCL
///     request        the facts of a request
///     check_request  the method that decides
///     methods        what was decided, for VCL
///
/// varnishd compiles VCL in a process of its own, which loads the module to read its interface and calls nothing of it. Only
/// varnishd's child does: it forks no more, and has as many threads as there are requests.

#pragma GCC visibility push(hidden)

/// The most locations that an object names.
#define PGV_LOCATIONS_LIMIT 256

/// What requests are for, by the name that VCL checks with.
typedef struct {
    char *name;
    playgate_location *location;
} pgv_location;

/// The texts of an object, which VCL does not keep.
enum { PGV_SOURCE, PGV_KEY, PGV_TRUST, PGV_ASK, PGV_TOKENS, PGV_GRANTS, PGV_TEXTS };

struct vmod_playgate_policy {
    unsigned magic;
#define PGV_POLICY_MAGIC 0x50a7e601
    /// The objects of the same VCL.
    VTAILQ_ENTRY(vmod_playgate_policy) list;
    struct pgv_policies *policies;
    /// The names of VCL and object.
    char *name;
    char *texts[PGV_TEXTS];
    edge_rule rule;
    pgv_location locations[PGV_LOCATIONS_LIMIT];
    size_t location_count;
    /// Null if the service is not to be asked.
    playgate_asker *asker;
    /// The source as it was when the VCL was loaded, for vcl_init; null from the first time on that the VCL is warm or cold.
    playgate_source *source;
    /// Followed while the VCL is warm, with counters.
    edge_policy policy;
    unsigned is_warm;
    struct vsc_seg *segment;
    struct VSC_playgate *counters;
};

/// Adds to a counter of a warm object.
#define PGV_COUNT(gate, counter) __atomic_fetch_add(&(gate)->counters->counter, 1, __ATOMIC_RELAXED)

/// A request that is checked: the context of its check.
typedef struct {
    const struct vrt_ctx *ctx;
    struct vmod_playgate_policy *gate;
    const char *scheme;
    char client[64];
} pgv_request;

extern const edge_server pgv_server;

/// Removes X-Playgate fields of the client, in every spelling that an origin may accept.
void pgv_remove_own_fields(struct http *http);

/// What was decided about a request, in the workspace of its task.
typedef struct {
    unsigned magic;
#define PGV_TASK_MAGIC 0x50a7e602
    edge_outcome outcome;
    /// The facts for which it was decided: the target without tokens among them.
    const pgv_location *location;
    unsigned is_https;
    const char *target;
    const char *method;
    const char *host;
} pgv_task;

#pragma GCC visibility pop

#endif
