// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

/// The greatest number of a code, and the most codes that are counted apart.
#define PGN_CODE_LIMIT 1000
#define PGN_CODES_LIMIT 512

/// Counters in memory that all workers share, and that stay at a reload.
struct pgn_status {
    playgate_answer_cache_counters cache;
    ngx_atomic_t events[PGN_EVENTS];
    /// Refusals that the shadow mode let pass, and answers whose code the library does not know.
    ngx_atomic_t shadowed;
    ngx_atomic_t others;
    /// Answers by the codes of `codes`: that is what was done, with or without asking.
    ngx_atomic_t answers[PGN_CODES_LIMIT];
};

/// All codes, in ascending order, and the index of each; the same in all processes.
static int32_t codes[PGN_CODES_LIMIT];
static size_t code_count;

static ngx_int_t init_zone(ngx_shm_zone_t *zone, void *old) {
    ngx_slab_pool_t *pool = (ngx_slab_pool_t *) zone->shm.addr;
    if (old != NULL) {
        zone->data = old;
        return NGX_OK;
    }
    if (zone->shm.exists) {
        zone->data = pool->data;
        return NGX_OK;
    }
    zone->data = pool->data = ngx_slab_calloc(pool, sizeof(pgn_status));
    return zone->data != NULL ? NGX_OK : NGX_ERROR;
}

ngx_int_t pgn_add_zone(ngx_conf_t *cf, pgn_main_conf *conf) {
    static ngx_str_t name = ngx_string("playgate");
    code_count = playgate_codes(codes, PGN_CODES_LIMIT);
    if (code_count > PGN_CODES_LIMIT) code_count = PGN_CODES_LIMIT;
    conf->zone = ngx_shared_memory_add(cf, &name, 8 * ngx_pagesize + sizeof(pgn_status), &ngx_http_playgate_module);
    if (conf->zone == NULL) return NGX_ERROR;
    conf->zone->init = init_zone;
    return NGX_OK;
}

static pgn_status *status_of(const pgn_main_conf *conf) { return conf->zone != NULL ? conf->zone->data : NULL; }

playgate_answer_cache_counters *pgn_cache_counters(const pgn_main_conf *conf) {
    pgn_status *status = status_of(conf);
    return status != NULL ? &status->cache : NULL;
}

void pgn_count_event(const pgn_main_conf *conf, pgn_event event) {
    pgn_status *status = status_of(conf);
    if (status != NULL) ngx_atomic_fetch_add(&status->events[event], 1);
}

void pgn_count_answer(const pgn_main_conf *conf, const edge_outcome *outcome, int mode) {
    pgn_status *status = status_of(conf);
    if (status == NULL) return;
    size_t low = 0, high = code_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (codes[middle] < outcome->number) low = middle + 1; else high = middle;
    }
    int is_known = low < code_count && codes[low] == outcome->number;
    ngx_atomic_fetch_add(is_known ? &status->answers[low] : &status->others, 1);
    if (outcome->outcome != PLAYGATE_ALLOW && edge_passes(outcome, mode)) ngx_atomic_fetch_add(&status->shadowed, 1);
}

// MARK: The page

static u_char *write_head(u_char *text, u_char *end, const char *name, const char *kind, const char *help) {
    return ngx_slprintf(text, end, "# HELP playgate_nginx_%s %s\n# TYPE playgate_nginx_%s %s\n", name, help, name, kind);
}

static u_char *write_answers(u_char *text, u_char *end, const pgn_status *status) {
    text = write_head(text, end, "answers_total", "counter", "Requests to protected locations, by the code of the answer.");
    for (size_t at = 0; at < code_count; at++) {
        const char *name = playgate_code_name(codes[at]);
        if (status->answers[at] == 0 || name == NULL) continue;
        text = ngx_slprintf(text, end, "playgate_nginx_answers_total{code=\"%s\"} %uA\n", name, status->answers[at]);
    }
    text = ngx_slprintf(text, end, "playgate_nginx_answers_total{code=\"other\"} %uA\n", status->others);
    text = write_head(text, end, "shadowed_total", "counter", "Refusals that playgate shadow let pass.");
    return ngx_slprintf(text, end, "playgate_nginx_shadowed_total %uA\n", status->shadowed);
}

static u_char *write_events(u_char *text, u_char *end, const pgn_status *status) {
    const playgate_answer_cache_counters *cache = &status->cache;
    text = write_head(text, end, "asks_total", "counter", "Sub-requests to the service, by their result.");
    text = ngx_slprintf(text, end, "playgate_nginx_asks_total{result=\"allow\"} %uA\n", status->events[PGN_ASK_ALLOWED]);
    text = ngx_slprintf(text, end, "playgate_nginx_asks_total{result=\"refuse\"} %uA\n", status->events[PGN_ASK_REFUSED]);
    text = ngx_slprintf(text, end, "playgate_nginx_asks_total{result=\"none\"} %uA\n", status->events[PGN_ASK_FAILED]);
    text = write_head(text, end, "policy_loads_total", "counter", "Policies that workers have read, by the result.");
    text = ngx_slprintf(text, end, "playgate_nginx_policy_loads_total{result=\"ok\"} %uA\n", status->events[PGN_LOADED]);
    text = ngx_slprintf(text, end, "playgate_nginx_policy_loads_total{result=\"error\"} %uA\n", status->events[PGN_LOAD_FAILED]);
    text = write_head(text, end, "cache_lookups_total", "counter", "Look-ups in the workers' memory of answers.");
    text = ngx_slprintf(text, end, "playgate_nginx_cache_lookups_total{result=\"hit\"} %uL\n", cache->hits);
    text = ngx_slprintf(text, end, "playgate_nginx_cache_lookups_total{result=\"miss\"} %uL\n", cache->misses);
    text = write_head(text, end, "cache_answers_total", "counter", "Answers that were to be kept.");
    text = ngx_slprintf(text, end, "playgate_nginx_cache_answers_total{result=\"kept\"} %uL\n", cache->stored);
    return ngx_slprintf(text, end, "playgate_nginx_cache_answers_total{result=\"too_large\"} %uL\n", cache->rejected);
}

static u_char *write_observers(u_char *text, u_char *end, const pgn_main_conf *conf) {
    pgn_policy **policies = conf->policies.elts;
    playgate_observer_counters sum = {0};
    for (ngx_uint_t at = 0; at < conf->policies.nelts; at++) {
        playgate_observer_counters counts = playgate_observer_counts(policies[at]->followed.observer);
        sum.evicted += counts.evicted;
        sum.skipped += counts.skipped;
        sum.dropped += counts.dropped;
        sum.reported += counts.reported;
    }
    text = write_head(text, end, "leak_reports_total", "counter", "Reports about playbacks whose grants may be shared, by their result.");
    text = ngx_slprintf(text, end, "playgate_nginx_leak_reports_total{result=\"sent\"} %uL\n", sum.reported);
    text = ngx_slprintf(text, end, "playgate_nginx_leak_reports_total{result=\"dropped\"} %uL\n", sum.dropped);
    text = write_head(text, end, "leak_records_lost_total", "counter", "Records of playbacks that made room for others, and requests without one.");
    text = ngx_slprintf(text, end, "playgate_nginx_leak_records_lost_total{cause=\"evicted\"} %uL\n", sum.evicted);
    return ngx_slprintf(text, end, "playgate_nginx_leak_records_lost_total{cause=\"busy\"} %uL\n", sum.skipped);
}

static u_char *write_policies(u_char *text, u_char *end, const pgn_main_conf *conf) {
    pgn_policy **policies = conf->policies.elts;
    text = write_head(text, end, "policy_fresh_until_seconds", "gauge",
                      "The time from which on this worker's policy is too old; 0 without one.");
    for (ngx_uint_t at = 0; at < conf->policies.nelts; at++) {
        int64_t until = playgate_engine_fresh_until(edge_policy_engine(&policies[at]->followed));
        text = ngx_slprintf(text, end, "playgate_nginx_policy_fresh_until_seconds{policy=\"%ui\"} %L\n", at, until / 1000);
    }
    return text;
}

static ngx_int_t send_page(ngx_http_request_t *r, ngx_buf_t *page) {
    ngx_chain_t out = {.buf = page};
    ngx_str_set(&r->headers_out.content_type, "text/plain; version=0.0.4");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = page->last - page->pos;
    page->last_buf = r == r->main;
    page->last_in_chain = 1;
    ngx_int_t result = ngx_http_send_header(r);
    if (result == NGX_ERROR || result > NGX_OK || r->header_only) return result;
    return ngx_http_output_filter(r, &out);
}

static ngx_int_t show_status(ngx_http_request_t *r) {
    pgn_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_playgate_module);
    pgn_status *status = status_of(conf);
    if (!(r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD))) return NGX_HTTP_NOT_ALLOWED;
    ngx_int_t result = ngx_http_discard_request_body(r);
    if (result != NGX_OK) return result;
    size_t size = 8192 + 128 * (code_count + conf->policies.nelts);
    ngx_buf_t *page = ngx_create_temp_buf(r->pool, size);
    if (status == NULL || page == NULL) return NGX_HTTP_INTERNAL_SERVER_ERROR;
    page->last = write_answers(page->last, page->end, status);
    page->last = write_events(page->last, page->end, status);
    page->last = write_observers(page->last, page->end, conf);
    page->last = write_policies(page->last, page->end, conf);
    return send_page(r, page);
}

char *pgn_set_status(ngx_conf_t *cf, ngx_command_t *command, void *conf) {
    ngx_http_core_loc_conf_t *core = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    core->handler = show_status;
    return NGX_CONF_OK;
}
