// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef NGX_HTTP_PLAYGATE_H
#define NGX_HTTP_PLAYGATE_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <edge.h>
#include <playgate.h>
#include <playgate_memo.h>
#include <playgate_signed.h>
#include <playgate_target.h>

/// nginx's access phase, decided by libplaygate in the worker.
///
///     module     the directives, the phases, the start of a worker
///     conf       reading and merging directives
///     sources    the directives of the places of tokens and grants
///     cut        tokens out of the request's URI, arguments, request line
///     request    the facts of a request, as the library takes them
///     facts      those of the client's TLS connection and place, to which few grants are bound
///     access     the decision about a request
///     ask        the sub-request to the service
///     answer     what the decision says, and what is done to the response
///     policy     the policies, which follow their files
///     poll       or the service, on a connection that waits for changes
///     status     counters that the workers share
///     variables  $playgate_...
///
/// Places of tokens, and decisions in terms of HTTP, are in edge/.
///
/// All of it runs in a worker's only thread, except configuration, which runs in the master before workers are forked.

#pragma GCC visibility push(hidden)

extern ngx_module_t ngx_http_playgate_module;

/// The longest text that a variable has, in bytes, as in the service's header fields.
#define PG_TEXT_LIMIT 1024

/// A position in the configuration, for errors that are found later.
typedef struct {
    ngx_str_t file;
    ngx_uint_t line;
} pg_where;

// MARK: Sources

/// The places of tokens and of grants, of a location.
typedef struct {
    edge_sources *tokens;
    edge_sources *grants;
    edge_rules target;
    /// The state of these as the only rules of the configuration: 0 if that is not known yet, 1 if they are, 2 if not.
    unsigned only : 2;
} pg_sources;

char *pg_set_sources(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/// Tokens that are nowhere, and grants at the service's own places.
edge_sources *pg_default_sources(ngx_conf_t *cf, int are_grants);

// MARK: Policies

typedef struct pg_poll pg_poll;

/// A policy of the configuration, and in a worker its engine.
typedef struct {
    /// The file, or `unix:` and the socket of the service.
    ngx_str_t path;
    /// The key with which the service is asked; empty for none.
    ngx_str_t key;
    /// The JWK Set of those who may sign the file; empty if it is not signed.
    ngx_str_t trust;
    /// The service's tag of the policy in force, terminated; empty for none.
    char tag[128];
    /// The time for which the policy may be used without being confirmed, in milliseconds.
    int64_t good_for;
    pg_poll *poll;
    /// The policy of the configuration's test or the last start; null in a policy that no file has.
    playgate_policy *policy;
    playgate_engine *engine;
    playgate_memo *memo;
    /// The file that was read last, so that a new one is noticed.
    ngx_file_uniq_t inode;
    struct timespec changed;
    off_t size;
    /// The error that was logged last, so that the log is not filled with it; 0 for none.
    ngx_err_t logged;
    /// 1 if the last document was none.
    unsigned is_refused : 1;
    ngx_event_t timer;
} pg_policy;

char *pg_set_policy(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/// Starts the policies of a worker, and ends them.
ngx_int_t pg_start_policies(ngx_cycle_t *cycle);
void pg_stop_policies(ngx_cycle_t *cycle);
/// Takes a document into use in a worker, or says why not.
ngx_int_t pg_use_document(pg_policy *policy, const char *bytes, size_t length);
/// Logs that the policy in force stays, once for each reason in a row.
void pg_complain(pg_policy *policy, ngx_err_t failure, const char *message);
/// Starts to ask a service for its policy, and ends that.
void pg_start_poll(pg_policy *policy);
void pg_stop_poll(pg_policy *policy);
/// The time in Unix milliseconds, as of the event that is handled.
int64_t pg_now(void);

// MARK: Configuration

typedef enum { PG_OFF, PG_ON, PG_SHADOW } pg_mode;

/// What the operator's variables say of a client's place.
typedef enum { PG_COUNTRY, PG_ASN, PG_POSITION, PG_FACTS } pg_fact;

typedef struct pg_status pg_status;

typedef struct {
    /// pg_policy *.
    ngx_array_t policies;
    /// The answers that a worker keeps for each policy; 0 for none.
    size_t cache_entries;
    size_t cache_entry_size;
    ngx_shm_zone_t *zone;
    /// The parts of targets that no log may show: those of all locations.
    edge_rules secret;
    /// The number of places, so that each has one.
    uint64_t places;
    /// 1 if a location is protected.
    unsigned used : 1;
    ngx_int_t request_uri_index;
    ngx_int_t request_index;
} pg_main_conf;

typedef struct {
    ngx_uint_t mode;
    pg_where where;
    pg_policy *policy;
    edge_sources *tokens;
    edge_sources *grants;
    pg_sources *sources;
    ngx_str_t profile;
    pg_where profile_where;
    /// The value of `playgate_resource`: a media id, or a resource with its requestor and use.
    ngx_str_t media;
    ngx_str_t resource;
    ngx_str_t requestor;
    ngx_int_t use;
    pg_where resource_where;
    /// The library's form of the above; null if paths decide.
    playgate_place *place;
    uint64_t place_number;
    /// The values of `playgate_fact`; null for a fact that is not known.
    ngx_http_complex_value_t *facts[PG_FACTS];
    ngx_str_t ask;
    ngx_flag_t set_cookie;
} pg_loc_conf;

void *pg_create_main_conf(ngx_conf_t *cf);
void *pg_create_loc_conf(ngx_conf_t *cf);
char *pg_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child);
char *pg_set_mode(ngx_conf_t *cf, ngx_command_t *command, void *conf);
char *pg_set_profile(ngx_conf_t *cf, ngx_command_t *command, void *conf);
char *pg_set_resource(ngx_conf_t *cf, ngx_command_t *command, void *conf);
char *pg_set_facts(ngx_conf_t *cf, ngx_command_t *command, void *conf);
char *pg_set_ask(ngx_conf_t *cf, ngx_command_t *command, void *conf);
char *pg_set_cache(ngx_conf_t *cf, ngx_command_t *command, void *conf);
char *pg_set_status(ngx_conf_t *cf, ngx_command_t *command, void *conf);

// MARK: Requests

/// The facts about a request. They stay when an internal redirect clears the contexts of modules.
typedef struct {
    ngx_http_request_t *request;
    /// The target with its tokens, as it is checked: the client's, or that of a sub-request.
    ngx_str_t target;
    /// The path of the target without tokens, in the client's spelling; empty if it cannot be told.
    ngx_str_t path;
    /// The cut of the request line, by all rules of the configuration; null if there was nothing to cut.
    playgate_cut *early;
    /// The settings that decided.
    pg_policy *policy;
    pg_sources *sources;
    playgate_place *place;
    /// PLAYGATE_REFUSE, _ALLOW or _ASK.
    int32_t outcome;
    /// The status for a refusal.
    ngx_uint_t status;
    uint32_t flags;
    int64_t expires;
    /// The number of the code; 0 if only its name is known.
    int32_t number;
    ngx_str_t code;
    ngx_str_t mvpd;
    ngx_str_t resource;
    ngx_str_t session;
    ngx_str_t trace;
    ngx_str_t grant;
    ngx_str_t set_cookie;
    /// The sub-request to the service.
    ngx_http_request_t *asked;
    /// 1 in the sub-request itself.
    unsigned is_ask : 1;
    unsigned asking : 1;
    unsigned answered : 1;
    unsigned decided : 1;
    /// 1 if the answer was counted, and its grant handed over.
    unsigned finished : 1;
    /// The target could not be read, so that no token is cut out of it.
    unsigned unreadable : 1;
    /// 1 if texts are percent-encoded, as the service sends them.
    unsigned encoded : 1;
} pg_ctx;

/// The context of a request; null if there is none.
pg_ctx *pg_find_ctx(ngx_http_request_t *r);
/// Creates the context of a request; null if there is no memory.
pg_ctx *pg_create_ctx(ngx_http_request_t *r);
/// A context that belongs to no request yet.
pg_ctx *pg_allocate_ctx(ngx_http_request_t *r);

ngx_int_t pg_hide_tokens(ngx_http_request_t *r);
ngx_int_t pg_access(ngx_http_request_t *r);
ngx_int_t pg_preaccess(ngx_http_request_t *r);

/// Cuts the tokens out of the target of the context and, in a request that can be read in one way only, out of the request.
ngx_int_t pg_cut_request(ngx_http_request_t *r, pg_sources *sources, pg_ctx *ctx, playgate_cut *cut);
/// NGX_OK if a percent-encoded path is a spelling of the request's path, NGX_DECLINED if nginx has resolved or rewritten it, NGX_ERROR
/// without memory.
ngx_int_t pg_match_spelling(ngx_http_request_t *r, ngx_str_t path);
void pg_fill_request(ngx_http_request_t *r, playgate_request *request, const playgate_cut *cut);
/// Copies the first values of a header field, and returns how many there are: the library's access to a request.
size_t pg_field_values(void *context, playgate_slice name, playgate_slice *values, size_t capacity);
/// Adds the facts of the client's connection and place. NGX_DECLINED if one of them is malformed, NGX_ERROR if there is no memory.
ngx_int_t pg_fill_facts(ngx_http_request_t *r, const pg_loc_conf *conf, playgate_request *request);
/// `$playgate_client_key`: the client's key in Base64.
ngx_int_t pg_client_key(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t unused);
/// The target of a sub-request: its URI, encoded again, and its arguments. NGX_ERROR if there is no memory.
ngx_int_t pg_own_target(ngx_http_request_t *r, ngx_str_t *target);

ngx_int_t pg_take_answer(ngx_http_request_t *r, pg_ctx *ctx, const playgate_answer *answer);
/// Refuses by a code of the library.
void pg_refuse(pg_ctx *ctx, const char *code, ngx_uint_t status);
/// Does to the request what the answer in the context says: a result of a phase handler.
ngx_int_t pg_finish(ngx_http_request_t *r, pg_loc_conf *conf, pg_ctx *ctx);

ngx_int_t pg_ask(ngx_http_request_t *r, pg_loc_conf *conf, pg_ctx *ctx);
ngx_int_t pg_take_asked(ngx_http_request_t *r, pg_ctx *ctx);

ngx_int_t pg_add_variables(ngx_conf_t *cf);

// MARK: Status

typedef enum { PG_ASK_ALLOWED, PG_ASK_REFUSED, PG_ASK_FAILED, PG_LOADED, PG_LOAD_FAILED, PG_EVENTS } pg_event;

ngx_int_t pg_add_zone(ngx_conf_t *cf, pg_main_conf *conf);
playgate_memo_counters *pg_memo_counters(const pg_main_conf *conf);
void pg_count_event(const pg_main_conf *conf, pg_event event);
void pg_count_answer(const pg_main_conf *conf, const pg_ctx *ctx, pg_mode mode);

// MARK: Texts

static inline playgate_slice pg_slice(ngx_str_t text) {
    playgate_slice slice = {(const char *) text.data, text.len};
    return slice;
}

/// A text of the library in the memory of nginx's strings, which is not written to.
static inline ngx_str_t pg_string(playgate_slice slice) {
    ngx_str_t text = {slice.length, (u_char *) slice.bytes};
    return text;
}

static inline ngx_int_t pg_same(ngx_str_t one, ngx_str_t other) {
    return one.len == other.len && ngx_memcmp(one.data, other.data, one.len) == 0;
}

/// Copies a text; an empty one if there is no memory, of which `failed` is told.
static inline ngx_str_t pg_copy(ngx_pool_t *pool, ngx_str_t text, ngx_int_t *failed) {
    ngx_str_t copy = ngx_null_string;
    if (text.len == 0) return copy;
    copy.data = ngx_pstrdup(pool, &text);
    if (copy.data == NULL) *failed = 1; else copy.len = text.len;
    return copy;
}

#pragma GCC visibility pop

#endif
