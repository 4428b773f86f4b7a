// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

// The observer of a policy, in memory that all workers share: a player's requests come to any of them. It stays at a reload.

/// Pages that no playback needs stay untouched: the memory is all zeros as it comes.
static ngx_int_t init_zone(ngx_shm_zone_t *zone, void *old) {
    ngx_slab_pool_t *pool = (ngx_slab_pool_t *) zone->shm.addr;
    zone->data = old != NULL ? old : zone->shm.exists ? pool->data : NULL;
    if (zone->data != NULL) return NGX_OK;
    size_t size = playgate_observer_size(edge_playbacks);
    void *memory = ngx_slab_alloc(pool, size);
    if (memory != NULL) zone->data = pool->data = playgate_observer_create(memory, size, edge_playbacks);
    return zone->data != NULL ? NGX_OK : NGX_ERROR;
}

ngx_shm_zone_t *pgn_add_observer(ngx_conf_t *cf, const char *path) {
    size_t size = playgate_observer_size(edge_playbacks);
    ngx_str_t name = {sizeof("playgate_observer ") + ngx_strlen(path), NULL};
    if ((name.data = ngx_pnalloc(cf->pool, name.len)) == NULL) return NULL;
    name.len = (size_t) (ngx_sprintf(name.data, "playgate_observer %s", path) - name.data);
    // nginx keeps a record of each page.
    size += (size / ngx_pagesize + 16) * sizeof(ngx_slab_page_t) + 16 * ngx_pagesize;
    ngx_shm_zone_t *zone = ngx_shared_memory_add(cf, &name, size, &ngx_http_playgate_module);
    if (zone != NULL) zone->init = init_zone;
    return zone;
}

ngx_int_t pgn_observer_name(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t unused) {
    const pgn_ctx *ctx = pgn_find_ctx(r);
    // A secret: nothing but the sub-request to the service has it.
    const playgate_observer *observer = ctx != NULL && ctx->is_ask && ctx->observed ? ctx->conf->policy->followed.observer : NULL;
    playgate_slice name = playgate_observer_name(observer);
    value->not_found = name.length == 0;
    value->valid = !value->not_found;
    value->no_cacheable = 0;
    value->len = (unsigned) name.length;
    value->data = (u_char *) name.bytes;
    return NGX_OK;
}
