// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

// MARK: Configuration

/// Ends what the process has of a policy, with its configuration.
static void free_policy(void *data) {
    pgn_policy *policy = data;
    if (policy->timer.timer_set) ngx_del_timer(&policy->timer);
    edge_policy_stop(&policy->followed);
    playgate_source_close(policy->source);
    policy->source = NULL;
}

/// Makes a path absolute, by the folder of the configuration. Null without memory.
static const char *full_name(ngx_conf_t *cf, const char *path) {
    ngx_str_t name = {ngx_strlen(path), (u_char *) path};
    return ngx_conf_full_name(cf->cycle, &name, 1) == NGX_OK ? (const char *) name.data : NULL;
}

/// Compares texts that may be null: no setting is an empty one.
static int is_same(const char *one, const char *other) { return slice_is(slice_of(one), slice_of(other)); }

static pgn_policy *known_policy(const pgn_main_conf *main, const char *path) {
    pgn_policy **policies = main->policies.elts;
    for (ngx_uint_t at = 0; at < main->policies.nelts; at++)
        if (is_same(policies[at]->path, path)) return policies[at];
    return NULL;
}

/// Reads the policy of a file, once for all workers, and the keys. A service is asked by the workers alone.
static char *open_source(ngx_conf_t *cf, pgn_policy *policy) {
    playgate_follower_rules rules = {.size = sizeof(rules), .source = policy->path, .key_file = policy->key, .trust_file = policy->trust};
    playgate_error error;
    int32_t result = playgate_source_open(&rules, &policy->source, &error);
    if (result == PLAYGATE_OK) return NGX_CONF_OK;
    const char *kind = result == PLAYGATE_E_ARGUMENT ? "" : " is invalid";
    if (error.line > 0)
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the policy \"%s\"%s: %s in line %uD, column %uD", policy->path, kind, error.message,
                           error.line, error.column);
    else
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the policy \"%s\"%s: %s", policy->path, kind, error.message);
    return NGX_CONF_ERROR;
}

static pgn_policy *new_policy(ngx_conf_t *cf, pgn_main_conf *main, const edge_settings *settings) {
    pgn_policy *policy = ngx_pcalloc(cf->pool, sizeof(*policy)), **slot = ngx_array_push(&main->policies);
    ngx_pool_cleanup_t *cleanup = ngx_pool_cleanup_add(cf->pool, 0);
    if (policy == NULL || slot == NULL || cleanup == NULL) return NULL;
    *slot = policy;
    policy->path = settings->policy;
    policy->key = settings->key;
    policy->trust = settings->trust;
    cleanup->handler = free_policy;
    cleanup->data = policy;
    if (ngx_strncmp(policy->path, "unix:", 5) == 0 && (policy->zone = pgn_add_observer(cf, policy->path)) == NULL) return NULL;
    return open_source(cf, policy) == NGX_CONF_OK ? policy : NULL;
}

char *pgn_take_policy(ngx_conf_t *cf, edge_settings *settings, pgn_policy **policy) {
    pgn_main_conf *main = ngx_http_conf_get_module_main_conf(cf, ngx_http_playgate_module);
    int is_service = ngx_strncmp(settings->policy, "unix:", 5) == 0;
    if (!is_service && (settings->policy = full_name(cf, settings->policy)) == NULL) return NGX_CONF_ERROR;
    if (settings->key != NULL && (settings->key = full_name(cf, settings->key)) == NULL) return NGX_CONF_ERROR;
    if (settings->trust != NULL && (settings->trust = full_name(cf, settings->trust)) == NULL) return NGX_CONF_ERROR;
    *policy = known_policy(main, settings->policy);
    if (*policy == NULL) *policy = new_policy(cf, main, settings);
    if (*policy == NULL) return NGX_CONF_ERROR;
    if (!is_same((*policy)->key, settings->key)) return "names the policy with another key";
    return is_same((*policy)->trust, settings->trust) ? NGX_CONF_OK : "names the policy with other keys to trust";
}

// MARK: Workers

static pgn_main_conf *main_conf(const ngx_cycle_t *cycle) { return ngx_http_cycle_get_module_main_conf(cycle, ngx_http_playgate_module); }

// MARK: Messages

/// The time within which a worker tells what its policies' threads have to say, in milliseconds.
enum { message_interval = 1000 };

/// Receives messages of a follower, on its thread too.
static void note_message(void *context, int32_t level, const char *message) {
    pgn_policy *policy = context;
    pthread_mutex_lock(&policy->lock);
    // The last ones say what is.
    if (policy->message_count == PGN_MESSAGES)
        ngx_memmove(policy->messages, policy->messages + 1, --policy->message_count * sizeof(pgn_message));
    pgn_message *noted = &policy->messages[policy->message_count++];
    noted->level = level;
    snprintf(noted->text, sizeof(noted->text), "%s", message);
    pthread_mutex_unlock(&policy->lock);
    pgn_count_event(main_conf((ngx_cycle_t *) ngx_cycle), level == PLAYGATE_LOG_ERROR ? PGN_LOAD_FAILED : PGN_LOADED);
}

static void tell(pgn_policy *policy) {
    pgn_message messages[PGN_MESSAGES];
    pthread_mutex_lock(&policy->lock);
    size_t count = policy->message_count;
    ngx_memcpy(messages, policy->messages, count * sizeof(pgn_message));
    policy->message_count = 0;
    pthread_mutex_unlock(&policy->lock);
    for (size_t at = 0; at < count; at++) {
        ngx_uint_t severity = messages[at].level == PLAYGATE_LOG_ERROR ? NGX_LOG_ERR : NGX_LOG_NOTICE;
        ngx_log_error(severity, ngx_cycle->log, 0, "playgate: %s: %s", policy->path, messages[at].text);
    }
}

static void on_timer(ngx_event_t *timer) {
    tell(timer->data);
    ngx_add_timer(timer, message_interval);
}

static void start_timer(pgn_policy *policy) {
    policy->timer.handler = on_timer;
    policy->timer.data = policy;
    policy->timer.log = ngx_cycle->log;
    // A worker that only waits for its last connections need not wait for this.
    policy->timer.cancelable = 1;
    ngx_add_timer(&policy->timer, message_interval);
}

// MARK: Life

/// Without an engine or a memory of answers, every request is refused, asked or checked.
static void start_policy(const pgn_main_conf *conf, pgn_policy *policy) {
    playgate_follower_rules rules = {.size = sizeof(rules), .opened = policy->source, .log = note_message, .log_context = policy};
    const edge_settings *settings = &conf->settings;
    playgate_error error;
    if (pthread_mutex_init(&policy->lock, NULL) != 0) return;
    int32_t result = edge_policy_open(&policy->followed, &rules, &error);
    tell(policy);
    if (result != PLAYGATE_OK) {
        ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, 0, "playgate: the policy \"%s\" cannot be used: %s", policy->path, error.message);
        return;
    }
    // A single process unmaps the memory of its former configuration at a reload: it has an observer of its own.
    if (policy->zone != NULL && ngx_process == NGX_PROCESS_WORKER) policy->followed.observer = policy->zone->data;
    if (edge_policy_start(&policy->followed, settings->answers, settings->answer_size, 0, pgn_cache_counters(conf)) != 0)
        ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, 0, "playgate: the policy \"%s\" is not followed: no memory, or no thread", policy->path);
    start_timer(policy);
}

ngx_int_t pgn_start_policies(ngx_cycle_t *cycle) {
    // Not in the processes that look after caches.
    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE) return NGX_OK;
    pgn_main_conf *conf = main_conf(cycle);
    if (conf == NULL || conf->policies.nelts == 0) return NGX_OK;
    if (playgate_no_more_forks() != PLAYGATE_OK) {
        ngx_log_error(NGX_LOG_ALERT, cycle->log, 0, "playgate: this process cannot check requests");
        return NGX_OK;
    }
    pgn_policy **policies = conf->policies.elts;
    for (ngx_uint_t at = 0; at < conf->policies.nelts; at++) start_policy(conf, policies[at]);
    return NGX_OK;
}

void pgn_stop_policies(ngx_cycle_t *cycle) {
    pgn_main_conf *conf = main_conf(cycle);
    if (conf == NULL) return;
    pgn_policy **policies = conf->policies.elts;
    for (ngx_uint_t at = 0; at < conf->policies.nelts; at++) edge_policy_stop(&policies[at]->followed);
}
