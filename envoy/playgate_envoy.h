// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_ENVOY_H
#define PLAYGATE_ENVOY_H

#include "envoy_abi.h"

#include <edge.h>
#include <playgate.h>
#include <playgate_follow.h>
#include <playgate_memo.h>
#include <playgate_target.h>

#include <pthread.h>
#include <string.h>

/// An HTTP filter of Envoy, decided by libplaygate in the worker.
///
///     settings   reading the filter's configuration
///     config     a configuration with its policy, which a thread of its own follows
///     request    the facts of a request, as the library takes them
///     filter     the decision about a request
///     ask        the request to the service
///     answer     what the decision says, and what is done to request and response
///     unused     hooks that a module must have
///
/// Places of tokens, and decisions in terms of HTTP, are in edge/.
///
/// A configuration is made on Envoy's main thread, and does not change; a filter is one request on one worker's thread.

/// The most header fields of a request. Envoy's own limit is 100, unless it is raised.
#define PE_FIELDS_LIMIT 256
/// The longest text that becomes a header field, in bytes, as in the service's.
#define PE_TEXT_LIMIT 1024

// MARK: Configurations

/// The memory of a worker for one configuration. Only its thread uses it.
typedef struct {
    /// The answers that are remembered; null for none. It belongs to the configuration, since others have other policies.
    playgate_memo *memo;
    envoy_field fields[PE_FIELDS_LIMIT];
    size_t field_count;
    char target[EDGE_TARGET_LIMIT];
    char asked[EDGE_TARGET_LIMIT];
    char texts[PLAYGATE_BUFFER_SIZE];
} pe_worker;

typedef struct {
    /// A copy of the settings, into which slices point.
    char *text;
    int is_shadow;
    int hands_over_grants;
    int drops_query;
    int is_private;
    /// `unix:PATH` or a path; null if none was named.
    char *policy;
    char *key_file;
    /// The keys that sign a file; null if it is not signed.
    char *trust_file;
    edge_sources tokens;
    edge_sources grants;
    int has_grants;
    edge_rules target;
    playgate_place_rules demands;
    playgate_place *place;
    /// The cluster of the service; empty for none.
    playgate_slice ask;
    uint64_t ask_timeout;
    /// The answers that a worker remembers; 0 for none.
    size_t cache_entries;
    size_t cache_entry_size;
    playgate_follower *follower;
    pthread_t thread;
    int has_thread;
    /// By the number of the worker; null until it has had a request.
    pe_worker **workers;
    uint32_t worker_count;
} pe_config;

/// Reads settings into a configuration that is all zeros. Returns 0, or -1 after it has logged what is wrong.
int pe_read_settings(pe_config *config, envoy_text settings);
/// The memory of the worker that runs; null if there is none.
pe_worker *pe_find_worker(const pe_config *config, void *host);

// MARK: Requests

typedef struct {
    const pe_config *config;
    pe_worker *worker;
    /// PLAYGATE_REFUSE, _ALLOW or _ASK.
    int32_t outcome;
    uint32_t status;
    uint32_t flags;
    /// The name of the code; empty until the request was decided.
    char code[64];
    char trace[33];
    /// The grant and the cookie that hand it over, of its own memory; null for none.
    char *grant;
    char *set_cookie;
    /// 1 while the service is asked.
    int is_asking;
    /// 1 if the response is the origin's, for a request that was checked.
    int is_open;
} pe_filter;

/// Reads the request's header fields into the worker's memory. Returns 0, or -1 if they are too many.
int pe_read_fields(pe_worker *worker, void *host);
/// Copies the first values of a header field, and returns how many there are: the library's access to a request.
size_t pe_field_values(void *context, playgate_slice name, playgate_slice *values, size_t capacity);
/// The value of a header field; empty if there is none.
playgate_slice pe_field(const pe_worker *worker, const char *name);
/// Cuts tokens out of the request's target. Returns 0, or -1 if it is none.
int pe_cut_target(const pe_config *config, pe_worker *worker, playgate_cut *cut);
void pe_fill_request(pe_worker *worker, void *host, playgate_request *request, const playgate_cut *cut);
/// True if a request's header field has nothing but a token.
int pe_is_credential(const pe_config *config, const envoy_field *field);
/// Refuses by a code of the library.
void pe_refuse(pe_filter *filter, const char *code, uint32_t status);
void pe_take_answer(pe_filter *filter, const playgate_answer *answer);
/// Takes new texts of a grant, or none.
void pe_take_grant(pe_filter *filter, playgate_slice grant, playgate_slice set_cookie);
/// Changes the request for the origin; `cut` is null if its target is none. The fields of the worker are not valid any more.
/// Returns 0, or -1 if it was refused.
int pe_clean_request(pe_filter *filter, void *host, const playgate_cut *cut);
/// Tells the origin the viewer's MVPD, percent-encoded.
void pe_name_mvpd(void *host, playgate_slice mvpd, int is_encoded);
void pe_send_refusal(pe_filter *filter, void *host);
void pe_clean_response(pe_filter *filter, void *host);

/// Starts to ask the service about the request whose fields are read. Returns 0, or -1 if that is not possible.
int pe_ask(pe_filter *filter, void *host, const playgate_request *request);
/// Reads a status; 0 if it is none.
uint32_t pe_read_status(playgate_slice text);
/// Takes the service's answer; 0 if it has none.
int pe_take_asked(pe_filter *filter, void *host, const envoy_field *fields, size_t count);

// MARK: Texts

#define PE_TEXT(text) ((envoy_text) {(text), sizeof(text) - 1})

static inline envoy_text pe_text(playgate_slice slice) { return (envoy_text) {slice.bytes, slice.length}; }

static inline int pe_is(const char *bytes, size_t length, const char *word) {
    return length == strlen(word) && memcmp(bytes, word, length) == 0;
}

void pe_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
