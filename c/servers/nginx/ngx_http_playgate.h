// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef NGX_HTTP_PLAYGATE_H
#define NGX_HTTP_PLAYGATE_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <check.h>
#include <slice.h>

/// nginx's access phase. The decision is in edge/; this adapts it to nginx.
///
///     module     the directives, the phases, the start of a worker
///     conf       reading and merging directives
///     policy     the policies: read with the configuration, and followed in each worker
///     observer   what playbacks fetch, counted by all workers together
///     target     tokens out of the request's URI and arguments
///     log        tokens out of logs
///     request    the facts of a request
///     access     the decision about a request
///     ask        the sub-request to the service
///     response   what the client sees
///     status     counters that the workers share
///     variables  $playgate_...
///
/// All of it runs in a worker's only thread, except configuration, which runs in the master before workers are forked, and one function
/// that the thread of a policy calls.

#pragma GCC visibility push(hidden)

extern ngx_module_t ngx_http_playgate_module;

/// A position in the configuration, for errors that are found later.
typedef struct {
    ngx_str_t file;
    ngx_uint_t line;
} pgn_where;

// MARK: Policies

/// The most messages of a policy's thread that wait for the worker, and the longest of them.
enum { PGN_MESSAGES = 8, PGN_MESSAGE_SIZE = 400 };

/// What the thread of a policy has to tell. nginx's log is for the worker's own thread.
typedef struct {
    int32_t level;
    char text[PGN_MESSAGE_SIZE];
} pgn_message;

/// A policy of the configuration.
typedef struct {
    /// The file, or `unix:` and the socket of the service; the files of the key, and of the keys to trust. Terminated; null for none.
    const char *path;
    const char *key;
    const char *trust;
    /// Read with the configuration.
    playgate_source *source;
    /// The memory of the observer; null for a file, which has nobody to report to.
    ngx_shm_zone_t *zone;
    /// In a worker.
    edge_policy followed;
    ngx_event_t timer;
    pthread_mutex_t lock;
    pgn_message messages[PGN_MESSAGES];
    size_t message_count;
} pgn_policy;

/// Takes the policy that a directive has named.
char *pgn_take_policy(ngx_conf_t *cf, edge_settings *settings, pgn_policy **policy);
/// Starts the policies of a worker, and ends them.
ngx_int_t pgn_start_policies(ngx_cycle_t *cycle);
void pgn_stop_policies(ngx_cycle_t *cycle);

/// The shared memory of an observer of the policy with this path; null without memory.
ngx_shm_zone_t *pgn_add_observer(ngx_conf_t *cf, const char *path);
/// `$playgate_observer`: the name of the observer that counts the request, in the sub-request to the service.
ngx_int_t pgn_observer_name(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t unused);

// MARK: Configuration

/// What the operator's variables say of the network and country of a client.
typedef enum { PGN_COUNTRY, PGN_ASN, PGN_POSITION, PGN_FACTS } pgn_fact;

typedef struct pgn_status pgn_status;

typedef struct {
    /// pgn_policy *.
    ngx_array_t policies;
    /// `cache` alone.
    edge_settings settings;
    ngx_shm_zone_t *zone;
    /// The parts of targets that no log may show: those of all locations.
    edge_rules secret;
    /// The number of locations, so that each has one.
    uint64_t locations;
    /// 1 if a location is protected.
    unsigned used : 1;
    ngx_int_t request_uri_index;
    ngx_int_t request_index;
} pgn_main_conf;

typedef struct {
    edge_rule rule;
    pgn_policy *policy;
    /// Where the mode, the profile and the resource were set.
    pgn_where where;
    pgn_where profile_where;
    pgn_where resource_where;
    /// The values of `playgate_fact`; null for a fact that is not known.
    ngx_http_complex_value_t *facts[PGN_FACTS];
    /// The location of `playgate_ask`; empty for none.
    ngx_str_t ask;
} pgn_loc_conf;

void *pgn_create_main_conf(ngx_conf_t *cf);
void *pgn_create_loc_conf(ngx_conf_t *cf);
char *pgn_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child);
/// The directives of edge/settings.c; those of playgate_fact; the page of counters.
char *pgn_set(ngx_conf_t *cf, ngx_command_t *command, void *conf);
char *pgn_set_cache(ngx_conf_t *cf, ngx_command_t *command, void *conf);
char *pgn_set_facts(ngx_conf_t *cf, ngx_command_t *command, void *conf);
char *pgn_set_status(ngx_conf_t *cf, ngx_command_t *command, void *conf);

// MARK: Requests

/// What is known of a request. It stays when an internal redirect clears the contexts of modules.
typedef struct {
    ngx_http_request_t *request;
    /// The target with its tokens, as it is checked: the client's, or that of a sub-request.
    ngx_str_t target;
    /// The path of the target without tokens, in the client's spelling; empty if it cannot be told.
    ngx_str_t path;
    /// The cut of the request line, by all rules of the configuration; null if there was nothing to cut.
    playgate_cut *early;
    /// The target for logs, if it had tokens or could not be read; its data is null otherwise.
    ngx_str_t shown;
    /// The location by which it was decided.
    const pgn_loc_conf *conf;
    /// The path that nginx serves in place of the target's, if that may pass too; empty for none.
    ngx_str_t served;
    edge_outcome outcome;
    /// The sub-request to the service.
    ngx_http_request_t *asked;
    /// 1 in the sub-request itself.
    unsigned is_ask : 1;
    unsigned asking : 1;
    unsigned answered : 1;
    unsigned decided : 1;
    /// 1 if the observer has counted the request.
    unsigned observed : 1;
    /// 1 if the answer was counted, and its grant handed over.
    unsigned finished : 1;
} pgn_ctx;

/// The context of a request; null if there is none.
pgn_ctx *pgn_find_ctx(ngx_http_request_t *r);
/// Creates the context of a request; null if there is no memory.
pgn_ctx *pgn_create_ctx(ngx_http_request_t *r);
/// A context that belongs to no request yet.
pgn_ctx *pgn_allocate_ctx(ngx_http_request_t *r);

/// A request that is checked by the settings of a location: the context of its check.
typedef struct {
    ngx_http_request_t *r;
    const pgn_loc_conf *conf;
} pgn_checked;

extern const edge_server pgn_server;

/// Cuts the target of the request line. A context is made if there is something to hide.
void pgn_hide(ngx_http_request_t *r);
ngx_int_t pgn_hide_tokens(ngx_http_request_t *r);
ngx_int_t pgn_hide_in_log(ngx_http_request_t *r);
ngx_int_t pgn_access(ngx_http_request_t *r);
ngx_int_t pgn_preaccess(ngx_http_request_t *r);

/// Cuts a target. NGX_DECLINED if it cannot be read. What is left is good until the next cut.
ngx_int_t pgn_cut(const edge_rules *rules, ngx_str_t text, playgate_cut *cut);
/// The parts of a target before and after `?`.
ngx_str_t pgn_path_of(ngx_str_t target);
ngx_str_t pgn_query_of(ngx_str_t target);
/// Cuts the tokens out of the target of the context and, in a request that can be read in one way only, out of the request. NGX_DECLINED
/// for a target that cannot be read, NGX_ERROR without memory.
ngx_int_t pgn_cut_request(ngx_http_request_t *r, const pgn_loc_conf *conf, pgn_ctx *ctx, playgate_cut *cut);
/// Cuts the tokens out of what nginx serves, which is the target of a sub-request, and the one after a rewrite.
ngx_int_t pgn_cut_served(ngx_http_request_t *r, const pgn_loc_conf *conf, playgate_cut *cut);
/// NGX_OK if a percent-encoded path is a spelling of the request's path, NGX_DECLINED if nginx has resolved or rewritten it, NGX_ERROR
/// without memory.
ngx_int_t pgn_match_spelling(ngx_http_request_t *r, ngx_str_t path);
/// The target of a sub-request: its URI, encoded again, and its arguments. NGX_ERROR if there is no memory.
ngx_int_t pgn_own_target(ngx_http_request_t *r, ngx_str_t *target);
/// Has nginx evaluate one of its variables anew.
void pgn_forget_variable(ngx_http_request_t *r, ngx_int_t index);

/// The values of a header field in a list, as playgate_header_values() returns them.
size_t pgn_values(const ngx_list_t *fields, playgate_slice name, playgate_slice *values, size_t capacity);
/// Adds the facts of the client's connection, and of its network and country.
ngx_int_t pgn_state_connection(const pgn_checked *checked, playgate_request *facts);
/// `$playgate_client_key`: the client's key in Base64.
ngx_int_t pgn_client_key(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t unused);

ngx_int_t pgn_ask(ngx_http_request_t *r, const pgn_loc_conf *conf, pgn_ctx *ctx);
void pgn_take_asked(ngx_http_request_t *r, pgn_ctx *ctx);
/// Does to the request what was decided: a result of a phase handler.
ngx_int_t pgn_finish(ngx_http_request_t *r, const pgn_loc_conf *conf, pgn_ctx *ctx);

ngx_int_t pgn_add_variables(ngx_conf_t *cf);

// MARK: Status

typedef enum { PGN_ASK_ALLOWED, PGN_ASK_REFUSED, PGN_ASK_FAILED, PGN_LOADED, PGN_LOAD_FAILED, PGN_EVENTS } pgn_event;

ngx_int_t pgn_add_zone(ngx_conf_t *cf, pgn_main_conf *conf);
playgate_answer_cache_counters *pgn_cache_counters(const pgn_main_conf *conf);
void pgn_count_event(const pgn_main_conf *conf, pgn_event event);
void pgn_count_answer(const pgn_main_conf *conf, const edge_outcome *outcome, int mode);

// MARK: Texts

static inline playgate_slice pgn_slice(ngx_str_t text) { return (playgate_slice) {(const char *) text.data, text.len}; }

/// A text of the library in the memory of nginx's strings, which is not written to.
static inline ngx_str_t pgn_string(playgate_slice slice) { return (ngx_str_t) {slice.length, (u_char *) slice.bytes}; }

static inline ngx_int_t pgn_same(ngx_str_t one, ngx_str_t other) { return slice_is(pgn_slice(one), pgn_slice(other)); }

/// Copies a text; an empty one if there is no memory, of which `failed` is told.
static inline ngx_str_t pgn_copy(ngx_pool_t *pool, ngx_str_t text, ngx_int_t *failed) {
    ngx_str_t copy = ngx_null_string;
    if (text.len == 0) return copy;
    copy.data = ngx_pstrdup(pool, &text);
    if (copy.data == NULL) *failed = 1; else copy.len = text.len;
    return copy;
}

#pragma GCC visibility pop

#endif
