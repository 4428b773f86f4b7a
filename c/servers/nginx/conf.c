// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

void *pgn_create_main_conf(ngx_conf_t *cf) {
    pgn_main_conf *conf = ngx_pcalloc(cf->pool, sizeof(*conf));
    if (conf == NULL) return NULL;
    if (ngx_array_init(&conf->policies, cf->pool, 2, sizeof(pgn_policy *)) != NGX_OK) return NULL;
    edge_settings_begin(&conf->settings);
    conf->request_uri_index = conf->request_index = NGX_ERROR;
    return conf;
}

void *pgn_create_loc_conf(ngx_conf_t *cf) {
    pgn_loc_conf *conf = ngx_pcalloc(cf->pool, sizeof(*conf));
    if (conf != NULL) edge_settings_begin(&conf->rule.settings);
    return conf;
}

// MARK: Directives

/// The most words of a directive.
enum { words_limit = EDGE_SOURCES_LIMIT + 2 };

/// The name of a directive in the table of settings.
static const char *name_of(const ngx_command_t *command) {
    const char *name = (const char *) command->name.data + sizeof("playgate") - 1;
    return *name == '_' ? name + 1 : "mode";
}

/// Sets a directive by the table. nginx's words are terminated.
static const char *set_line(ngx_conf_t *cf, const ngx_command_t *command, edge_settings *settings) {
    const char *words[words_limit] = {name_of(command)};
    const ngx_str_t *given = cf->args->elts;
    if (cf->args->nelts > words_limit) return "has too many words";
    for (ngx_uint_t at = 1; at < cf->args->nelts; at++) words[at] = (const char *) given[at].data;
    return edge_set_line(settings, EDGE_NGINX, words, cf->args->nelts);
}

char *pgn_set(ngx_conf_t *cf, ngx_command_t *command, void *data) {
    pgn_loc_conf *conf = data;
    edge_settings *settings = &conf->rule.settings;
    const char *name = name_of(command), *fault = set_line(cf, command, settings);
    pgn_where here = {cf->conf_file->file.name, cf->conf_file->line};
    if (fault != NULL) return (char *) fault;
    if (ngx_strcmp(name, "mode") == 0) conf->where = here;
    if (ngx_strcmp(name, "profile") == 0) conf->profile_where = here;
    if (ngx_strcmp(name, "resource") == 0) conf->resource_where = here;
    return ngx_strcmp(name, "policy") == 0 ? pgn_take_policy(cf, settings, &conf->policy) : NGX_CONF_OK;
}

char *pgn_set_cache(ngx_conf_t *cf, ngx_command_t *command, void *data) {
    pgn_main_conf *conf = data;
    return (char *) set_line(cf, command, &conf->settings);
}

// MARK: Merging

/// Reports an error of a directive that was read before.
static char *fault(ngx_conf_t *cf, const pgn_where *where, const char *directive, const char *message) {
    ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "\"%s\" %s in %V:%ui", directive, message, &where->file, where->line);
    return NGX_CONF_ERROR;
}

static void free_location(void *location) { playgate_location_release(location); }

/// Inherits the location of the outer block, unless this one has demands of its own.
static void inherit(pgn_loc_conf *conf, const pgn_loc_conf *outer) {
    edge_settings *settings = &conf->rule.settings;
    int is_own = edge_settings_has(settings, "profile") || edge_settings_has(settings, "resource");
    if (!is_own) conf->rule.location = outer->rule.location;
    if (!is_own) conf->rule.location_number = outer->rule.location_number;
    if (!edge_settings_has(settings, "mode")) conf->where = outer->where;
    if (!edge_settings_has(settings, "profile")) conf->profile_where = outer->profile_where;
    if (!edge_settings_has(settings, "resource")) conf->resource_where = outer->resource_where;
    if (conf->policy == NULL) conf->policy = outer->policy;
    edge_settings_inherit(settings, &outer->rule.settings);
    if (!edge_settings_has(settings, "mode")) settings->mode = EDGE_OFF;
    for (ngx_uint_t fact = 0; fact < PGN_FACTS; fact++)
        if (conf->facts[fact] == NULL) conf->facts[fact] = outer->facts[fact];
    if (settings->ask == NULL) return;
    conf->ask.data = (u_char *) settings->ask;
    conf->ask.len = ngx_strlen(settings->ask);
}

/// Checks that the policy has what the location names, as far as that is known.
static char *check_names(ngx_conf_t *cf, const pgn_loc_conf *conf) {
    const playgate_location_rules *demands = &conf->rule.settings.demands;
    const playgate_policy *policy = conf->policy == NULL ? NULL : playgate_source_policy(conf->policy->source);
    if (policy != NULL && demands->profile.length > 0 && !playgate_policy_has_profile(policy, demands->profile))
        return fault(cf, &conf->profile_where, "playgate_profile", "names no profile of the policy");
    if (policy != NULL && demands->media.length > 0 && !playgate_policy_has_media(policy, demands->media))
        return fault(cf, &conf->resource_where, "playgate_resource", "names no media of the policy");
    return NGX_CONF_OK;
}

static char *make_rule(ngx_conf_t *cf, pgn_main_conf *main, pgn_loc_conf *conf) {
    playgate_error error;
    int is_inherited = conf->rule.location != NULL, has_resource = conf->resource_where.line != 0;
    ngx_pool_cleanup_t *cleanup = ngx_pool_cleanup_add(cf->pool, 0);
    if (cleanup == NULL) return NGX_CONF_ERROR;
    conf->rule.policy = conf->policy == NULL ? NULL : &conf->policy->followed;
    ngx_memzero(&error, sizeof(error));
    const char *wrong = edge_rule_make(&conf->rule, main->locations + 1, &error);
    if (wrong == error.message) {
        const pgn_where *where = has_resource ? &conf->resource_where : &conf->profile_where;
        return fault(cf, where, has_resource ? "playgate_resource" : "playgate_profile", wrong);
    }
    if (wrong != NULL) return fault(cf, &conf->where, "playgate", wrong);
    if (is_inherited || conf->rule.location == NULL) return NGX_CONF_OK;
    main->locations++;
    cleanup->handler = free_location;
    cleanup->data = conf->rule.location;
    return NGX_CONF_OK;
}

/// Checks what makes a location protected, and notes what its tokens are called.
static char *check_location(ngx_conf_t *cf, pgn_main_conf *main, pgn_loc_conf *conf) {
    ngx_http_core_loc_conf_t *core = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    if (conf->policy == NULL) return fault(cf, &conf->where, "playgate", "has no playgate_policy");
    if (core->satisfy == NGX_HTTP_SATISFY_ANY) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "\"satisfy any\" in location \"%V\" would open what \"playgate\" protects in %V:%ui",
                      &core->name, &conf->where.file, conf->where.line);
        return NGX_CONF_ERROR;
    }
    main->used = 1;
    const char *wrong = edge_add_rules(&main->secret, &conf->rule.settings.tokens);
    if (wrong == NULL) wrong = edge_add_rules(&main->secret, &conf->rule.settings.grants);
    if (wrong != NULL) return fault(cf, &conf->where, "playgate, with all other locations,", wrong);
    return NGX_CONF_OK;
}

char *pgn_merge_loc_conf(ngx_conf_t *cf, void *before, void *data) {
    pgn_loc_conf *conf = data;
    pgn_main_conf *main = ngx_http_conf_get_module_main_conf(cf, ngx_http_playgate_module);
    inherit(conf, before);
    if (check_names(cf, conf) != NGX_CONF_OK || make_rule(cf, main, conf) != NGX_CONF_OK) return NGX_CONF_ERROR;
    return conf->rule.settings.mode == EDGE_OFF ? NGX_CONF_OK : check_location(cf, main, conf);
}
