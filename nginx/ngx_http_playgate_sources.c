// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

char *pg_set_sources(ngx_conf_t *cf, ngx_command_t *command, void *conf) {
    edge_sources **sources = (edge_sources **) ((char *) conf + command->offset);
    if (*sources != NGX_CONF_UNSET_PTR) return "is duplicate";
    *sources = ngx_pcalloc(cf->pool, sizeof(edge_sources));
    if (*sources == NULL) return NGX_CONF_ERROR;
    ngx_str_t *words = cf->args->elts;
    for (ngx_uint_t place = 1; place < cf->args->nelts; place++) {
        const char *fault = edge_add_source(*sources, pg_slice(words[place]), command->offset == offsetof(pg_loc_conf, grants));
        if (fault == NULL) continue;
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" %s", &words[place], fault);
        return NGX_CONF_ERROR;
    }
    return NGX_CONF_OK;
}

edge_sources *pg_default_sources(ngx_conf_t *cf, int are_grants) {
    edge_sources *sources = ngx_pcalloc(cf->pool, sizeof(edge_sources));
    if (sources != NULL && are_grants) edge_default_grants(sources);
    return sources;
}
