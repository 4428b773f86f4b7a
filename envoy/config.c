// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "playgate_envoy.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

// MARK: Log

void pe_log(int level, const char *format, ...) {
    char text[512] = "playgate: ";
    size_t start = strlen(text);
    va_list values;
    va_start(values, format);
    vsnprintf(text + start, sizeof(text) - start, format, values);
    va_end(values);
    envoy_dynamic_module_callback_log(level, (envoy_text) {text, strlen(text)});
}

static void log_policy(void *context, int32_t level, const char *message) {
    (void) context;
    pe_log(level == PLAYGATE_LOG_NOTICE ? ENVOY_LOG_INFO : ENVOY_LOG_ERROR, "%s", message);
}

// MARK: Configurations

/// Envoy never forks. The module is never unloaded, since it is linked so: the library's runtime could not be.
const char *envoy_dynamic_module_on_program_init(void) {
    if (playgate_abi() != PLAYGATE_ABI) {
        pe_log(ENVOY_LOG_ERROR, "libplaygate.so has the ABI %u, and the module needs %u", playgate_abi(), PLAYGATE_ABI);
        return NULL;
    }
    return playgate_no_more_forks() == PLAYGATE_OK ? ENVOY_ABI_VERSION : NULL;
}

static void *follow(void *follower) {
    pthread_setname_np(pthread_self(), "playgate");
    playgate_follower_run(follower);
    return NULL;
}

static int start_policy(pe_config *config) {
    playgate_follower_rules rules = {
        .size = sizeof(rules), .source = config->policy, .key_file = config->key_file, .log = log_policy,
        .trust_file = config->trust_file,
    };
    playgate_error error = {0};
    if (playgate_follower_create(&rules, &config->follower, &error) != PLAYGATE_OK) {
        pe_log(ENVOY_LOG_ERROR, "the policy %s: %s in line %u", config->policy, error.message, error.line);
        return -1;
    }
    // A service that has not answered yet cannot tell.
    playgate_engine *engine = playgate_follower_engine(config->follower);
    if (engine != NULL && config->place != NULL && playgate_engine_has_place(engine, config->place, &error) != PLAYGATE_OK) {
        pe_log(ENVOY_LOG_ERROR, "%s in the settings", error.message);
        return -1;
    }
    config->has_thread = pthread_create(&config->thread, NULL, follow, config->follower) == 0;
    if (!config->has_thread) pe_log(ENVOY_LOG_ERROR, "no thread can be started");
    return config->has_thread ? 0 : -1;
}

static int create_place(pe_config *config) {
    playgate_place_rules *demands = &config->demands;
    playgate_error error = {0};
    if (demands->profile.length == 0 && demands->resource.length == 0 && demands->media.length == 0) return 0;
    demands->size = sizeof(*demands);
    if (playgate_place_create(demands, &config->place, &error) == PLAYGATE_OK) return 0;
    pe_log(ENVOY_LOG_ERROR, "%s in the settings", error.message);
    return -1;
}

static int create_workers(pe_config *config) {
    config->worker_count = envoy_dynamic_module_callback_get_concurrency();
    config->workers = calloc(config->worker_count, sizeof(*config->workers));
    return config->workers == NULL ? -1 : 0;
}

static void destroy(pe_config *config) {
    if (config->has_thread) {
        playgate_follower_stop(config->follower);
        pthread_join(config->thread, NULL);
    }
    playgate_follower_free(config->follower);
    playgate_place_release(config->place);
    for (uint32_t number = 0; config->workers != NULL && number < config->worker_count; number++) {
        if (config->workers[number] != NULL) playgate_memo_free(config->workers[number]->memo);
        free(config->workers[number]);
    }
    free(config->workers);
    free(config->text);
    free(config);
}

const void *envoy_dynamic_module_on_http_filter_config_new(void *host, envoy_text name, envoy_text settings) {
    (void) host, (void) name;
    pe_config *config = calloc(1, sizeof(*config));
    if (config == NULL) return NULL;
    if (pe_read_settings(config, settings) == 0 && create_place(config) == 0 && create_workers(config) == 0
        && start_policy(config) == 0)
        return config;
    destroy(config);
    return NULL;
}

/// Envoy destroys a configuration when its last filter has ended, so a policy outlives the requests that it decides.
void envoy_dynamic_module_on_http_filter_config_destroy(const void *config) { destroy((pe_config *) config); }

// MARK: Workers

pe_worker *pe_find_worker(const pe_config *config, void *host) {
    uint32_t number = envoy_dynamic_module_callback_http_filter_get_worker_index(host);
    if (number >= config->worker_count) return NULL;
    pe_worker *worker = config->workers[number];
    if (worker != NULL) return worker;
    worker = calloc(1, sizeof(*worker));
    if (worker == NULL) return NULL;
    // Without memory for a memo, every request is checked.
    if (config->cache_entries > 0) worker->memo = playgate_memo_create(config->cache_entries, config->cache_entry_size, NULL);
    return config->workers[number] = worker;
}
