// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

#define EVERYWHERE (NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF)

static ngx_command_t commands[] = {
    {ngx_string("playgate"), EVERYWHERE | NGX_CONF_TAKE1, pg_set_mode, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_policy"), EVERYWHERE | NGX_CONF_TAKE12, pg_set_policy, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_token"), EVERYWHERE | NGX_CONF_1MORE, pg_set_sources, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(pg_loc_conf, tokens), NULL},
    {ngx_string("playgate_grant"), EVERYWHERE | NGX_CONF_1MORE, pg_set_sources, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(pg_loc_conf, grants), NULL},
    {ngx_string("playgate_profile"), EVERYWHERE | NGX_CONF_TAKE1, pg_set_profile, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_resource"), EVERYWHERE | NGX_CONF_TAKE123, pg_set_resource, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_fact"), EVERYWHERE | NGX_CONF_TAKE123, pg_set_facts, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_ask"), EVERYWHERE | NGX_CONF_TAKE1, pg_set_ask, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_set_cookie"), EVERYWHERE | NGX_CONF_FLAG, ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(pg_loc_conf, set_cookie), NULL},
    {ngx_string("playgate_cache"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE12, pg_set_cache, NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_status"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, pg_set_status, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    ngx_null_command,
};

static ngx_int_t add_handler(ngx_http_core_main_conf_t *core, ngx_uint_t phase, ngx_http_handler_pt function) {
    ngx_http_handler_pt *handler = ngx_array_push(&core->phases[phase].handlers);
    if (handler == NULL) return NGX_ERROR;
    *handler = function;
    return NGX_OK;
}

static ngx_int_t preconfigure(ngx_conf_t *cf) {
    if (playgate_abi() != PLAYGATE_ABI) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "libplaygate %s has interface %uD, and this module was compiled for %d",
                           playgate_version(), playgate_abi(), PLAYGATE_ABI);
        return NGX_ERROR;
    }
    return pg_add_variables(cf);
}

/// The index of one of nginx's own variables, which is evaluated anew once tokens are cut.
static ngx_int_t index_of(ngx_conf_t *cf, const char *name) {
    ngx_str_t text = {ngx_strlen(name), (u_char *) name};
    return ngx_http_get_variable_index(cf, &text);
}

static ngx_int_t postconfigure(ngx_conf_t *cf) {
    pg_main_conf *conf = ngx_http_conf_get_module_main_conf(cf, ngx_http_playgate_module);
    ngx_http_core_main_conf_t *core = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
    if (pg_add_zone(cf, conf) != NGX_OK) return NGX_ERROR;
    if (!conf->used) return NGX_OK;
    conf->request_uri_index = index_of(cf, "request_uri");
    conf->request_index = index_of(cf, "request");
    if (conf->request_uri_index == NGX_ERROR || conf->request_index == NGX_ERROR) return NGX_ERROR;
    if (add_handler(core, NGX_HTTP_POST_READ_PHASE, pg_hide_tokens) != NGX_OK) return NGX_ERROR;
    // nginx skips the access phase of sub-requests, such as those of SSI: they are checked in the phase before it.
    if (add_handler(core, NGX_HTTP_PREACCESS_PHASE, pg_preaccess) != NGX_OK) return NGX_ERROR;
    return add_handler(core, NGX_HTTP_ACCESS_PHASE, pg_access);
}

static ngx_http_module_t context = {
    .preconfiguration = preconfigure,
    .postconfiguration = postconfigure,
    .create_main_conf = pg_create_main_conf,
    .create_loc_conf = pg_create_loc_conf,
    .merge_loc_conf = pg_merge_loc_conf,
};

ngx_module_t ngx_http_playgate_module = {
    NGX_MODULE_V1,
    &context,
    commands,
    NGX_HTTP_MODULE,
    NULL,
    NULL,
    pg_start_policies,
    NULL,
    NULL,
    pg_stop_policies,
    NULL,
    NGX_MODULE_V1_PADDING,
};
