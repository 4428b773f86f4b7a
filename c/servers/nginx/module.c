// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

#define EVERYWHERE (NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF)

static ngx_command_t commands[] = {
    {ngx_string("playgate"), EVERYWHERE | NGX_CONF_TAKE1, pgn_set, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_policy"), EVERYWHERE | NGX_CONF_TAKE12, pgn_set, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_token"), EVERYWHERE | NGX_CONF_1MORE, pgn_set, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_grant"), EVERYWHERE | NGX_CONF_1MORE, pgn_set, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_profile"), EVERYWHERE | NGX_CONF_TAKE1, pgn_set, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_resource"), EVERYWHERE | NGX_CONF_TAKE123, pgn_set, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_fact"), EVERYWHERE | NGX_CONF_TAKE123, pgn_set_facts, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_ask"), EVERYWHERE | NGX_CONF_TAKE1, pgn_set, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_set_cookie"), EVERYWHERE | NGX_CONF_TAKE1, pgn_set, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_cache"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE12, pgn_set_cache, NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL},
    {ngx_string("playgate_status"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, pgn_set_status, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    ngx_null_command,
};

static ngx_int_t add_handler(ngx_http_core_main_conf_t *core, ngx_uint_t phase, ngx_http_handler_pt function) {
    ngx_http_handler_pt *handler = ngx_array_push(&core->phases[phase].handlers);
    if (handler == NULL) return NGX_ERROR;
    *handler = function;
    return NGX_OK;
}

/// Adds a handler before all others of its phase. Those of logs run in the order of their list.
static ngx_int_t add_first_handler(ngx_http_core_main_conf_t *core, ngx_uint_t phase, ngx_http_handler_pt function) {
    if (add_handler(core, phase, function) != NGX_OK) return NGX_ERROR;
    ngx_array_t *list = &core->phases[phase].handlers;
    ngx_http_handler_pt *handlers = list->elts;
    ngx_memmove(handlers + 1, handlers, (list->nelts - 1) * sizeof(*handlers));
    handlers[0] = function;
    return NGX_OK;
}

static ngx_int_t preconfigure(ngx_conf_t *cf) {
    if (playgate_abi() != PLAYGATE_ABI) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "libplaygate %s has interface %uD, and this module was compiled for %d",
                           playgate_version(), playgate_abi(), PLAYGATE_ABI);
        return NGX_ERROR;
    }
    return pgn_add_variables(cf);
}

/// The index of one of nginx's own variables, which is evaluated anew once tokens are cut.
static ngx_int_t index_of(ngx_conf_t *cf, const char *name) {
    ngx_str_t text = {ngx_strlen(name), (u_char *) name};
    return ngx_http_get_variable_index(cf, &text);
}

static ngx_int_t postconfigure(ngx_conf_t *cf) {
    pgn_main_conf *conf = ngx_http_conf_get_module_main_conf(cf, ngx_http_playgate_module);
    ngx_http_core_main_conf_t *core = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
    if (pgn_add_zone(cf, conf) != NGX_OK) return NGX_ERROR;
    if (!conf->used) return NGX_OK;
    conf->request_uri_index = index_of(cf, "request_uri");
    conf->request_index = index_of(cf, "request");
    if (conf->request_uri_index == NGX_ERROR || conf->request_index == NGX_ERROR) return NGX_ERROR;
    if (add_handler(core, NGX_HTTP_POST_READ_PHASE, pgn_hide_tokens) != NGX_OK) return NGX_ERROR;
    if (add_first_handler(core, NGX_HTTP_LOG_PHASE, pgn_hide_in_log) != NGX_OK) return NGX_ERROR;
    // nginx skips the access phase of sub-requests, such as those of SSI: they are checked in the phase before it.
    if (add_handler(core, NGX_HTTP_PREACCESS_PHASE, pgn_preaccess) != NGX_OK) return NGX_ERROR;
    return add_handler(core, NGX_HTTP_ACCESS_PHASE, pgn_access);
}

static ngx_http_module_t context = {
    .preconfiguration = preconfigure,
    .postconfiguration = postconfigure,
    .create_main_conf = pgn_create_main_conf,
    .create_loc_conf = pgn_create_loc_conf,
    .merge_loc_conf = pgn_merge_loc_conf,
};

ngx_module_t ngx_http_playgate_module = {
    NGX_MODULE_V1,
    &context,
    commands,
    NGX_HTTP_MODULE,
    NULL,
    NULL,
    pgn_start_policies,
    NULL,
    NULL,
    pgn_stop_policies,
    NULL,
    NGX_MODULE_V1_PADDING,
};
