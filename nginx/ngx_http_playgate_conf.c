// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

void *pg_create_main_conf(ngx_conf_t *cf) {
    pg_main_conf *conf = ngx_pcalloc(cf->pool, sizeof(*conf));
    if (conf == NULL) return NULL;
    if (ngx_array_init(&conf->policies, cf->pool, 2, sizeof(pg_policy *)) != NGX_OK) return NULL;
    conf->cache_entries = NGX_CONF_UNSET_SIZE;
    conf->request_uri_index = conf->request_index = NGX_ERROR;
    return conf;
}

void *pg_create_loc_conf(ngx_conf_t *cf) {
    pg_loc_conf *conf = ngx_pcalloc(cf->pool, sizeof(*conf));
    if (conf == NULL) return NULL;
    conf->mode = NGX_CONF_UNSET_UINT;
    conf->policy = NGX_CONF_UNSET_PTR;
    conf->tokens = NGX_CONF_UNSET_PTR;
    conf->grants = NGX_CONF_UNSET_PTR;
    conf->use = NGX_CONF_UNSET;
    conf->set_cookie = NGX_CONF_UNSET;
    return conf;
}

// MARK: Directives

static pg_where here(ngx_conf_t *cf) {
    pg_where where = {cf->conf_file->file.name, cf->conf_file->line};
    return where;
}

static ngx_str_t word(ngx_conf_t *cf, ngx_uint_t place) { return ((ngx_str_t *) cf->args->elts)[place]; }

static ngx_int_t is(ngx_str_t text, const char *name) {
    return text.len == ngx_strlen(name) && ngx_memcmp(text.data, name, text.len) == 0;
}

/// The text after a prefix such as `use=`; its data is null if the text has another prefix.
static ngx_str_t value_of(ngx_str_t text, const char *prefix) {
    size_t length = ngx_strlen(prefix);
    ngx_str_t none = ngx_null_string;
    if (text.len < length || ngx_memcmp(text.data, prefix, length) != 0) return none;
    text.data += length;
    text.len -= length;
    return text;
}

char *pg_set_mode(ngx_conf_t *cf, ngx_command_t *command, void *data) {
    pg_loc_conf *conf = data;
    if (conf->mode != NGX_CONF_UNSET_UINT) return "is duplicate";
    ngx_str_t mode = word(cf, 1);
    if (is(mode, "on")) conf->mode = PG_ON;
    else if (is(mode, "off")) conf->mode = PG_OFF;
    else if (is(mode, "shadow")) conf->mode = PG_SHADOW;
    else return "must be on, off or shadow";
    conf->where = here(cf);
    return NGX_CONF_OK;
}

char *pg_set_profile(ngx_conf_t *cf, ngx_command_t *command, void *data) {
    pg_loc_conf *conf = data;
    if (conf->profile.data != NULL) return "is duplicate";
    conf->profile = word(cf, 1);
    conf->profile_where = here(cf);
    return conf->profile.len > 0 ? NGX_CONF_OK : "is empty";
}

static ngx_int_t set_use(pg_loc_conf *conf, ngx_str_t use) {
    if (is(use, "once")) conf->use = PLAYGATE_USE_ONCE;
    else if (is(use, "within-ttl")) conf->use = PLAYGATE_USE_WITHIN_TTL;
    else if (is(use, "grant")) conf->use = PLAYGATE_USE_GRANT;
    else return NGX_ERROR;
    return NGX_OK;
}

char *pg_set_resource(ngx_conf_t *cf, ngx_command_t *command, void *data) {
    pg_loc_conf *conf = data;
    if (conf->resource_where.line != 0) return "is duplicate";
    conf->resource_where = here(cf);
    conf->media = value_of(word(cf, 1), "media=");
    if (conf->media.data != NULL) {
        if (conf->media.len == 0) return "names no media";
        return cf->args->nelts == 2 ? NGX_CONF_OK : "has more than media=ID: the catalogue says the rest";
    }
    conf->resource = word(cf, 1);
    for (ngx_uint_t place = 2; place < cf->args->nelts; place++) {
        ngx_str_t requestor = value_of(word(cf, place), "requestor="), use = value_of(word(cf, place), "use=");
        if (requestor.len > 0 && conf->requestor.len == 0) conf->requestor = requestor;
        else if (use.len == 0 || conf->use != NGX_CONF_UNSET || set_use(conf, use) != NGX_OK)
            return "may be followed by requestor=ID and by use=once, use=within-ttl or use=grant";
    }
    if (conf->resource.len == 0) return "is empty";
    return conf->requestor.len > 0 ? NGX_CONF_OK : "needs requestor=ID";
}

char *pg_set_ask(ngx_conf_t *cf, ngx_command_t *command, void *data) {
    pg_loc_conf *conf = data;
    if (conf->ask.data != NULL) return "is duplicate";
    ngx_str_t location = word(cf, 1);
    if (is(location, "off")) location.len = 0;
    else if (location.len == 0 || location.data[0] != '/') return "must be a location such as /_gate, or off";
    conf->ask = location;
    return NGX_CONF_OK;
}

char *pg_set_cache(ngx_conf_t *cf, ngx_command_t *command, void *data) {
    pg_main_conf *conf = data;
    if (conf->cache_entries != NGX_CONF_UNSET_SIZE) return "is duplicate";
    ngx_str_t number = word(cf, 1);
    ngx_int_t entries = is(number, "off") ? 0 : ngx_atoi(number.data, number.len);
    if (entries == NGX_ERROR || (entries != 0 && (entries < 64 || entries > 1048576)))
        return "must be off, or a number of answers from 64 to 1048576";
    conf->cache_entries = (size_t) entries;
    if (cf->args->nelts == 2) return NGX_CONF_OK;
    ngx_str_t size = value_of(word(cf, 2), "entry=");
    ssize_t bytes = size.len > 0 ? ngx_parse_size(&size) : NGX_ERROR;
    if (entries == 0 || bytes < 512 || bytes > 16384) return "may be followed by entry=SIZE, from 512 to 16k";
    conf->cache_entry_size = (size_t) bytes;
    return NGX_CONF_OK;
}

// MARK: Merging

/// Reports an error of a directive that was read before.
static char *fault(ngx_conf_t *cf, const pg_where *where, const char *directive, const char *message) {
    ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "\"%s\" %s in %V:%ui", directive, message, &where->file, where->line);
    return NGX_CONF_ERROR;
}

static char *merge_sources(ngx_conf_t *cf, const pg_loc_conf *parent, pg_loc_conf *conf) {
    if (parent->sources != NULL && conf->tokens == NGX_CONF_UNSET_PTR && conf->grants == NGX_CONF_UNSET_PTR) {
        conf->tokens = parent->tokens;
        conf->grants = parent->grants;
        conf->sources = parent->sources;
        return NGX_CONF_OK;
    }
    ngx_conf_merge_ptr_value(conf->tokens, parent->tokens, NULL);
    ngx_conf_merge_ptr_value(conf->grants, parent->grants, NULL);
    if (conf->tokens == NULL) conf->tokens = pg_default_sources(cf, 0);
    if (conf->grants == NULL) conf->grants = pg_default_sources(cf, 1);
    conf->sources = ngx_pcalloc(cf->pool, sizeof(pg_sources));
    if (conf->tokens == NULL || conf->grants == NULL || conf->sources == NULL) return NGX_CONF_ERROR;
    conf->sources->tokens = conf->tokens;
    conf->sources->grants = conf->grants;
    const char *wrong = edge_add_rules(&conf->sources->target, conf->tokens);
    if (wrong == NULL) wrong = edge_add_rules(&conf->sources->target, conf->grants);
    return wrong == NULL ? NGX_CONF_OK : fault(cf, &conf->where, "playgate", wrong);
}

static void release_place(void *place) { playgate_place_release(place); }

static char *create_place(ngx_conf_t *cf, pg_main_conf *main, pg_loc_conf *conf) {
    const pg_where *where = conf->resource_where.line != 0 ? &conf->resource_where : &conf->profile_where;
    const char *directive = conf->resource_where.line != 0 ? "playgate_resource" : "playgate_profile";
    playgate_place_rules rules = {
        .size = sizeof(rules),
        .use = conf->use == NGX_CONF_UNSET ? PLAYGATE_USE_ONCE : (int32_t) conf->use,
        .media = pg_slice(conf->media),
        .resource = pg_slice(conf->resource),
        .requestor = pg_slice(conf->requestor),
        .profile = pg_slice(conf->profile),
    };
    playgate_error error;
    ngx_pool_cleanup_t *cleanup = ngx_pool_cleanup_add(cf->pool, 0);
    if (cleanup == NULL) return NGX_CONF_ERROR;
    if (playgate_place_create(&rules, &conf->place, &error) != PLAYGATE_OK)
        return fault(cf, where, directive, error.message);
    cleanup->handler = release_place;
    cleanup->data = conf->place;
    conf->place_number = ++main->places;
    return NGX_CONF_OK;
}

static char *merge_place(ngx_conf_t *cf, pg_main_conf *main, const pg_loc_conf *parent, pg_loc_conf *conf) {
    if (conf->profile.data == NULL && conf->resource_where.line == 0) {
        conf->place = parent->place;
        conf->place_number = parent->place_number;
    }
    if (conf->profile.data == NULL) {
        conf->profile = parent->profile;
        conf->profile_where = parent->profile_where;
    }
    if (conf->resource_where.line == 0) {
        conf->media = parent->media;
        conf->resource = parent->resource;
        conf->requestor = parent->requestor;
        conf->use = parent->use;
        conf->resource_where = parent->resource_where;
    }
    playgate_policy *policy = conf->policy != NULL ? conf->policy->policy : NULL;
    if (policy != NULL && conf->profile.len > 0 && !playgate_policy_has_profile(policy, pg_slice(conf->profile)))
        return fault(cf, &conf->profile_where, "playgate_profile", "names no profile of the policy");
    if (policy != NULL && conf->media.len > 0 && !playgate_policy_has_media(policy, pg_slice(conf->media)))
        return fault(cf, &conf->resource_where, "playgate_resource", "names no media of the policy");
    if (conf->place != NULL || (conf->profile.len == 0 && conf->resource_where.line == 0)) return NGX_CONF_OK;
    return create_place(cf, main, conf);
}

/// Checks what makes a location protected, and notes what its tokens are called.
static char *check_location(ngx_conf_t *cf, pg_main_conf *main, pg_loc_conf *conf) {
    ngx_http_core_loc_conf_t *core = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    if (conf->policy == NULL) return fault(cf, &conf->where, "playgate", "has no playgate_policy");
    if (core->satisfy == NGX_HTTP_SATISFY_ANY) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "\"satisfy any\" in location \"%V\" would open what \"playgate\" protects in %V:%ui",
                      &core->name, &conf->where.file, conf->where.line);
        return NGX_CONF_ERROR;
    }
    if (conf->tokens->count == 0 && conf->grants->count == 0)
        return fault(cf, &conf->where, "playgate", "has neither playgate_token nor playgate_grant");
    main->used = 1;
    const char *wrong = edge_add_rules(&main->secret, conf->tokens);
    if (wrong == NULL) wrong = edge_add_rules(&main->secret, conf->grants);
    if (wrong != NULL) return fault(cf, &conf->where, "playgate, with all other locations,", wrong);
    return NGX_CONF_OK;
}

char *pg_merge_loc_conf(ngx_conf_t *cf, void *before, void *data) {
    pg_loc_conf *parent = before, *conf = data;
    pg_main_conf *main = ngx_http_conf_get_module_main_conf(cf, ngx_http_playgate_module);
    if (conf->mode == NGX_CONF_UNSET_UINT) conf->where = parent->where;
    ngx_conf_merge_uint_value(conf->mode, parent->mode, PG_OFF);
    ngx_conf_merge_ptr_value(conf->policy, parent->policy, NULL);
    ngx_conf_merge_value(conf->set_cookie, parent->set_cookie, 1);
    if (conf->ask.data == NULL) conf->ask = parent->ask;
    for (ngx_uint_t fact = 0; fact < PG_FACTS; fact++)
        if (conf->facts[fact] == NULL) conf->facts[fact] = parent->facts[fact];
    if (merge_sources(cf, parent, conf) != NGX_CONF_OK) return NGX_CONF_ERROR;
    char *placed = merge_place(cf, main, parent, conf);
    if (placed != NGX_CONF_OK || conf->mode == PG_OFF) return placed;
    return check_location(cf, main, conf);
}
