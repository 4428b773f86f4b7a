// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "playgate_envoy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/// The most words of a line.
enum { words_limit = EDGE_SOURCES_LIMIT + 2 };

typedef struct {
    char *all[words_limit];
    size_t count;
} words;

/// The value of a word `name=value`; null if it is another one.
static char *value_of(char *word, const char *name) {
    size_t length = strlen(name);
    return strncmp(word, name, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

/// Reads a number of decimal digits within bounds; 0 if it is none.
static uint64_t number_of(const char *text, uint64_t least, uint64_t most) {
    char *end = NULL;
    if (text == NULL || *text < '0' || *text > '9') return 0;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' && number >= least && number <= most ? number : 0;
}

/// Sets one of two values. Returns a fault, or null.
static const char *choose(const words *line, const char *yes, const char *no, int *value, const char *fault) {
    if (line->count != 2) return fault;
    *value = strcmp(line->all[1], yes) == 0;
    return *value || strcmp(line->all[1], no) == 0 ? NULL : fault;
}

// MARK: Directives

static const char *set_mode(pe_config *config, words *line) {
    return choose(line, "shadow", "on", &config->is_shadow, "must be on or shadow");
}

static const char *set_policy(pe_config *config, words *line) {
    static const char wrong[] = "must be unix:PATH, with or without key=FILE, or a path, with or without trust=FILE";
    config->policy = line->all[1];
    if (line->count == 2) return NULL;
    int is_service = strncmp(config->policy, "unix:", 5) == 0;
    char *file = line->count == 3 ? value_of(line->all[2], is_service ? "key" : "trust") : NULL;
    if (file == NULL || *file == '\0') return wrong;
    if (is_service) config->key_file = file;
    else config->trust_file = file;
    return NULL;
}

static const char *add_sources(pe_config *config, const words *line, int are_grants) {
    edge_sources *sources = are_grants ? &config->grants : &config->tokens;
    const char *fault = NULL;
    for (size_t place = 1; place < line->count && fault == NULL; place++)
        fault = edge_add_source(sources, edge_slice(line->all[place]), are_grants);
    return fault == NULL ? edge_add_rules(&config->target, sources) : fault;
}

static const char *set_tokens(pe_config *config, words *line) { return add_sources(config, line, 0); }

static const char *set_grants(pe_config *config, words *line) {
    config->has_grants = 1;
    return add_sources(config, line, 1);
}

static const char *set_profile(pe_config *config, words *line) {
    config->demands.profile = edge_slice(line->all[1]);
    return line->count == 2 ? NULL : "must be one name";
}

static int set_use(pe_config *config, const char *use) {
    static const struct { const char *name; int32_t use; } uses[] = {
        {"once", PLAYGATE_USE_ONCE}, {"within-ttl", PLAYGATE_USE_WITHIN_TTL}, {"grant", PLAYGATE_USE_GRANT},
    };
    for (size_t place = 0; place < sizeof(uses) / sizeof(uses[0]); place++) {
        if (strcmp(use, uses[place].name) != 0) continue;
        config->demands.use = uses[place].use;
        return 0;
    }
    return -1;
}

static const char *set_resource(pe_config *config, words *line) {
    char *media = value_of(line->all[1], "media");
    if (media != NULL) {
        config->demands.media = edge_slice(media);
        return *media != '\0' && line->count == 2 ? NULL : "must be media=ID alone: the catalogue says the rest";
    }
    config->demands.resource = edge_slice(line->all[1]);
    for (size_t place = 2; place < line->count; place++) {
        char *requestor = value_of(line->all[place], "requestor"), *use = value_of(line->all[place], "use");
        if (requestor != NULL) config->demands.requestor = edge_slice(requestor);
        else if (use == NULL || set_use(config, use) != 0)
            return "may be followed by requestor=ID and by use=once, use=within-ttl or use=grant";
    }
    return config->demands.requestor.length > 0 ? NULL : "needs requestor=ID";
}

static const char *set_ask(pe_config *config, words *line) {
    config->ask = edge_slice(line->all[1]);
    if (line->count == 2) return NULL;
    config->ask_timeout = line->count == 3 ? number_of(value_of(line->all[2], "timeout"), 1, 60000) : 0;
    return config->ask_timeout > 0 ? NULL : "may be followed by timeout=MILLISECONDS, from 1 to 60000";
}

static const char *set_cache(pe_config *config, words *line) {
    config->cache_entries = number_of(line->all[1], 64, 1048576);
    if (config->cache_entries == 0 && strcmp(line->all[1], "off") != 0) return "must be off, or a number of answers from 64 to 1048576";
    if (line->count == 2) return NULL;
    config->cache_entry_size = line->count == 3 ? number_of(value_of(line->all[2], "entry"), 512, 16384) : 0;
    return config->cache_entry_size > 0 && config->cache_entries > 0 ? NULL : "may be followed by entry=BYTES, from 512 to 16384";
}

static const char *set_cookie(pe_config *config, words *line) {
    return choose(line, "on", "off", &config->hands_over_grants, "must be on or off");
}

static const char *set_query(pe_config *config, words *line) {
    return choose(line, "drop", "keep", &config->drops_query, "must be keep or drop");
}

static const char *set_private(pe_config *config, words *line) {
    return choose(line, "on", "off", &config->is_private, "must be on or off");
}

static const struct { const char *name; const char *(*set)(pe_config *config, words *line); } directives[] = {
    {"mode", set_mode},         {"policy", set_policy},     {"token", set_tokens}, {"grant", set_grants},
    {"profile", set_profile},   {"resource", set_resource}, {"ask", set_ask},      {"cache", set_cache},
    {"set_cookie", set_cookie}, {"query", set_query},       {"private", set_private},
};

enum { directive_count = sizeof(directives) / sizeof(directives[0]) };

// MARK: Lines

/// Splits a line at blanks. Returns a fault, or null.
static const char *split(char *line, words *found) {
    char *rest = NULL;
    found->count = 0;
    for (char *word = strtok_r(line, " \t\r", &rest); word != NULL; word = strtok_r(NULL, " \t\r", &rest)) {
        if (found->count == words_limit) return "has too many words";
        found->all[found->count++] = word;
    }
    return NULL;
}

/// Obeys a line. `seen` has the directives before it. Returns a fault, or null.
static const char *obey(pe_config *config, words *line, int *seen) {
    for (size_t place = 0; place < directive_count; place++) {
        if (strcmp(line->all[0], directives[place].name) != 0) continue;
        if (seen[place]++) return "is duplicate";
        return line->count > 1 ? directives[place].set(config, line) : "needs a value";
    }
    return "is no setting";
}

/// Checks what the lines say together.
static const char *check(pe_config *config) {
    if (config->policy == NULL) return "there is no policy";
    if (config->has_grants) return NULL;
    edge_default_grants(&config->grants);
    return edge_add_rules(&config->target, &config->grants) == NULL ? NULL : "there are more than 32 names of parameters and segments";
}

int pe_read_settings(pe_config *config, envoy_text settings) {
    int seen[directive_count] = {0};
    config->hands_over_grants = config->is_private = 1;
    config->ask_timeout = 300;
    config->cache_entries = 16384;
    config->cache_entry_size = 2048;
    if (settings.length > 0 && memchr(settings.bytes, '\0', settings.length) == NULL)
        config->text = strndup(settings.bytes, settings.length);
    if (config->text == NULL) {
        pe_log(ENVOY_LOG_ERROR, "there are no settings, or they are no text");
        return -1;
    }
    unsigned number = 0;
    for (char *line = config->text, *end; line != NULL; line = end) {
        words found;
        if ((end = strchr(line, '\n')) != NULL) *end++ = '\0';
        number++;
        const char *fault = split(line, &found);
        if (found.count == 0 || found.all[0][0] == '#') continue;
        if (fault == NULL) fault = obey(config, &found, seen);
        if (fault == NULL) continue;
        pe_log(ENVOY_LOG_ERROR, "\"%.40s\" %s in line %u of the settings", found.all[0], fault, number);
        return -1;
    }
    const char *fault = check(config);
    if (fault != NULL) pe_log(ENVOY_LOG_ERROR, "%s in the settings", fault);
    return fault == NULL ? 0 : -1;
}
