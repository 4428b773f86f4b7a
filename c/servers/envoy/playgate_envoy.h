// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_ENVOY_H
#define PLAYGATE_ENVOY_H

#include "envoy_abi.h"

#include <check.h>

/// An HTTP filter of Envoy. The decision is in edge/; this adapts it to Envoy.
///
///     config    the lines of a filter's settings, and its policy
///     request   the facts of a request, and what is changed in it
///     ask       the request to the service
///     filter    a request from its header to its response
///     response  what the client sees
///     unused    hooks that a module must have
///
/// A configuration is made on Envoy's main thread, and does not change; a filter is one request on one worker's thread.

/// The most header fields of a request. Envoy's own limit is 100, unless it is raised.
#define PGE_FIELDS_LIMIT 256

// MARK: Configurations

/// The memory of a worker for one configuration. Only its thread uses it.
typedef struct {
    envoy_field fields[PGE_FIELDS_LIMIT];
    size_t field_count;
    char target[EDGE_TARGET_LIMIT];
    char asked[EDGE_TARGET_LIMIT];
    char texts[PLAYGATE_BUFFER_SIZE];
} pge_worker;

typedef struct {
    /// A copy of the settings, into which texts point.
    char *text;
    edge_rule rule;
    edge_policy policy;
    /// By the number of the worker; null until it has had a request.
    pge_worker **workers;
    uint32_t worker_count;
} pge_config;

/// The memory of the worker that runs; null if there is none.
pge_worker *pge_find_worker(const pge_config *config, void *host);
void pge_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

// MARK: Requests

typedef struct {
    const pge_config *config;
    pge_worker *worker;
    edge_outcome outcome;
    /// The texts of the outcome: most have room in the first, and the second is for others; null for none.
    char texts[512];
    void *more_texts;
    /// 1 while the service is asked.
    int is_asking;
    /// 1 if the response is the origin's, for a request that was checked.
    int is_open;
} pge_filter;

/// A filter in one of Envoy's hooks: the context of a check.
typedef struct {
    pge_filter *filter;
    void *host;
} pge_hook;

extern const edge_server pge_server;

/// Reads the request's header fields into the worker's memory. Returns 0, or -1 if they are too many.
int pge_read_fields(pge_worker *worker, void *host);
/// The values of a header field in a list, as playgate_header_values() returns them.
size_t pge_values(const envoy_field *fields, size_t field_count, playgate_slice name, playgate_slice *values, size_t capacity);
/// The value of a header field; empty if there is none.
playgate_slice pge_field(const pge_hook *hook, const char *name);
/// Changes the request for the origin and for logs: target, fields with tokens, fields of the gate. The fields of the worker are not valid
/// any more. Returns 0, or -1 if there is no room.
int pge_clean_request(const edge_check *check);
/// Tells the origin the viewer's MVPD.
void pge_name_mvpd(const pge_hook *hook);
/// Replaces all fields of a name; removes them for a null value.
void pge_set_field(void *host, int fields, const char *name, const char *value);

/// Starts to ask the service. Returns 0, or -1 if that is not possible.
int pge_ask(const edge_check *check);
/// Takes the service's answer. Returns 0, or -1 if it has none.
int pge_take_asked(const pge_hook *hook, const envoy_field *fields, size_t count);

void pge_send_refusal(const pge_hook *hook);
void pge_mark_response(const pge_hook *hook);

// MARK: Texts

static inline envoy_text pge_text(playgate_slice slice) { return (envoy_text){slice.bytes, slice.length}; }
static inline playgate_slice pge_name_of(const envoy_field *field) { return (playgate_slice){field->name, field->name_length}; }
static inline playgate_slice pge_value_of(const envoy_field *field) { return (playgate_slice){field->value, field->value_length}; }

#endif
