// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The lines of a filter's settings, and its policy.

#include "playgate_envoy.h"

#include <slice.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

// MARK: Log

void pge_log(int level, const char *format, ...) {
    char text[512] = "playgate: ";
    size_t start = strlen(text);
    va_list values;
    va_start(values, format);
    vsnprintf(text + start, sizeof(text) - start, format, values);
    va_end(values);
    envoy_dynamic_module_callback_log(level, (envoy_text){text, strlen(text)});
}

static void log_policy(void *context, int32_t level, const char *message) {
    (void)context;
    pge_log(level == PLAYGATE_LOG_NOTICE ? ENVOY_LOG_INFO : ENVOY_LOG_ERROR, "%s", message);
}

// MARK: Lines

/// The most words of a line.
enum { words_limit = EDGE_SOURCES_LIMIT + 2 };

/// Obeys a line. Returns null, or the fault. `words` receives its first word.
static const char *obey(pge_config *config, char *line, const char **words) {
    char *rest = NULL;
    size_t count = 0;
    for (char *word = strtok_r(line, " \t\r", &rest); word != NULL; word = strtok_r(NULL, " \t\r", &rest)) {
        if (count == words_limit) return "has too many words";
        words[count++] = word;
        if (words[0][0] == '#') return NULL;
    }
    return count == 0 ? NULL : edge_set_line(&config->rule.settings, EDGE_ENVOY, words, count);
}

static int read_settings(pge_config *config, envoy_text settings) {
    edge_settings_begin(&config->rule.settings);
    if (settings.length > 0 && memchr(settings.bytes, '\0', settings.length) == NULL)
        config->text = strndup(settings.bytes, settings.length);
    if (config->text == NULL) {
        pge_log(ENVOY_LOG_ERROR, "there are no settings, or they are no text");
        return -1;
    }
    unsigned number = 0;
    for (char *line = config->text, *end; line != NULL; line = end) {
        const char *words[words_limit] = {""};
        if ((end = strchr(line, '\n')) != NULL) *end++ = '\0';
        number++;
        const char *fault = obey(config, line, words);
        if (fault == NULL) continue;
        pge_log(ENVOY_LOG_ERROR, "\"%.40s\" %s in line %u of the settings", words[0], fault, number);
        return -1;
    }
    return 0;
}

static int make_rule(pge_config *config) {
    playgate_error error = {0};
    const char *fault = edge_rule_make(&config->rule, 1, &error);
    if (fault == NULL && config->rule.settings.policy == NULL) fault = "there is no policy";
    if (fault != NULL) pge_log(ENVOY_LOG_ERROR, "%s in the settings", fault);
    return fault == NULL ? 0 : -1;
}

// MARK: Configurations

/// Envoy never forks. The module is never unloaded, since it is linked so: the library's runtime could not be.
const char *envoy_dynamic_module_on_program_init(void) {
    if (playgate_abi() != PLAYGATE_ABI) {
        pge_log(ENVOY_LOG_ERROR, "libplaygate.so has the ABI %u, and the module needs %u", playgate_abi(), PLAYGATE_ABI);
        return NULL;
    }
    return playgate_no_more_forks() == PLAYGATE_OK ? ENVOY_ABI_VERSION : NULL;
}

static int start_policy(pge_config *config) {
    const edge_settings *settings = &config->rule.settings;
    playgate_follower_rules rules = {
        .size = sizeof(rules), .source = settings->policy, .key_file = settings->key, .trust_file = settings->trust, .log = log_policy,
    };
    playgate_error error = {0};
    if (edge_policy_open(&config->policy, &rules, &error) != PLAYGATE_OK) {
        pge_log(ENVOY_LOG_ERROR, "the policy %s: %s in line %u", settings->policy, error.message, error.line);
        return -1;
    }
    if (edge_rule_check(&config->rule, &error) != 0) {
        pge_log(ENVOY_LOG_ERROR, "%s in the settings", error.message);
        return -1;
    }
    if (edge_policy_start(&config->policy, settings->answers, settings->answer_size, 1, NULL) == 0) return 0;
    pge_log(ENVOY_LOG_ERROR, "there is no memory, or no thread");
    return -1;
}

static int create_workers(pge_config *config) {
    config->worker_count = envoy_dynamic_module_callback_get_concurrency();
    config->workers = calloc(config->worker_count, sizeof(*config->workers));
    return config->workers == NULL ? -1 : 0;
}

static void destroy(pge_config *config) {
    edge_policy_stop(&config->policy);
    edge_rule_free(&config->rule);
    for (uint32_t number = 0; config->workers != NULL && number < config->worker_count; number++) free(config->workers[number]);
    free(config->workers);
    free(config->text);
    free(config);
}

const void *envoy_dynamic_module_on_http_filter_config_new(void *host, envoy_text name, envoy_text settings) {
    (void)host, (void)name;
    pge_config *config = calloc(1, sizeof(*config));
    if (config == NULL) return NULL;
    config->rule.policy = &config->policy;
    if (read_settings(config, settings) == 0 && make_rule(config) == 0 && create_workers(config) == 0 && start_policy(config) == 0)
        return config;
    destroy(config);
    return NULL;
}

/// Envoy destroys a configuration when its last filter has ended, so a policy outlives the requests that it decides.
void envoy_dynamic_module_on_http_filter_config_destroy(const void *config) { destroy((pge_config *)config); }

// MARK: Workers

pge_worker *pge_find_worker(const pge_config *config, void *host) {
    uint32_t number = envoy_dynamic_module_callback_http_filter_get_worker_index(host);
    if (number >= config->worker_count) return NULL;
    if (config->workers[number] == NULL) config->workers[number] = calloc(1, sizeof(pge_worker));
    return config->workers[number];
}
