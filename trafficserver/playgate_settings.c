// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The parameters of a remap line.

#include "playgate_plugin.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

enum { least_memo = 64, most_memo = 1048576, usual_memo = 16384 };
enum { most_timeout = 60000, usual_timeout = 300, most_idle = 64 };

/// The parameters as they stand in the configuration; null if they do not.
typedef struct {
    const char *policy, *key, *trust, *ask, *ask_timeout, *media, *resource, *requestor, *use, *profile, *memo;
    const char *mode, *scheme, *set_cookie, *is_private, *options;
} settings;

/// The parameters that may be there once.
static const struct { const char *name; size_t offset; } known[] = {
    {"policy", offsetof(settings, policy)},     {"key", offsetof(settings, key)},
    {"trust", offsetof(settings, trust)},
    {"ask", offsetof(settings, ask)},           {"ask_timeout", offsetof(settings, ask_timeout)},
    {"media", offsetof(settings, media)},       {"resource", offsetof(settings, resource)},
    {"requestor", offsetof(settings, requestor)}, {"use", offsetof(settings, use)},
    {"profile", offsetof(settings, profile)},   {"memo", offsetof(settings, memo)},
    {"mode", offsetof(settings, mode)},         {"scheme", offsetof(settings, scheme)},
    {"set_cookie", offsetof(settings, set_cookie)}, {"private", offsetof(settings, is_private)},
    {"options", offsetof(settings, options)},
};

/// A fault, of a parameter if there is one.
typedef struct {
    char *text;
    size_t size;
} fault;

static int fail(const fault *fault, const char *word, const char *message) {
    if (fault->size > 0) snprintf(fault->text, fault->size, "playgate: %s%s%s", word == NULL ? "" : word, word == NULL ? "" : " ", message);
    return -1;
}

// MARK: Reading

/// Adds a place of tokens, by a copy of its word. Returns null, or the fault.
static const char *add_source(pg_rule *rule, const char *text, int is_grant) {
    if (rule->word_count == sizeof(rule->words) / sizeof(rule->words[0])) return "is there more than 16 times";
    char *word = rule->words[rule->word_count] = strdup(text);
    if (word == NULL) return "has no memory";
    rule->word_count++;
    return edge_add_source(is_grant ? &rule->grants : &rule->tokens, edge_slice(word), is_grant);
}

/// Reads `NAME=VALUE`.
static int read_word(const char *word, settings *settings, pg_rule *rule, const fault *fault) {
    const char *mark = strchr(word, '='), *message;
    if (mark == NULL || mark[1] == '\0') return fail(fault, word, "is no NAME=VALUE");
    playgate_slice name = {word, (size_t)(mark - word)};
    if (edge_same(name, edge_slice("token")) || edge_same(name, edge_slice("grant"))) {
        int is_grant = word[0] == 'g';
        message = add_source(rule, mark + 1, is_grant);
        return message == NULL ? 0 : fail(fault, word, message);
    }
    for (size_t place = 0; place < sizeof(known) / sizeof(known[0]); place++) {
        const char **value = (const char **)(void *)((char *)settings + known[place].offset);
        if (!edge_same(name, edge_slice(known[place].name))) continue;
        if (*value != NULL) return fail(fault, word, "is there twice");
        *value = mark + 1;
        return 0;
    }
    return fail(fault, word, "is unknown");
}

/// Reads a number from `least` to `most`. Returns 0, or -1.
static int read_number(const char *text, long least, long most, long *number) {
    char *end;
    errno = 0;
    if (text[0] < '0' || text[0] > '9') return -1;
    *number = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && *number >= least && *number <= most ? 0 : -1;
}

/// Reads one of two words, the first of which is 1. Returns 0, or -1.
static int read_choice(const char *text, const char *first, const char *second, unsigned *value) {
    if (text == NULL) return 0;
    *value = strcmp(text, first) == 0;
    return *value || strcmp(text, second) == 0 ? 0 : -1;
}

static int read_switches(pg_rule *rule, const settings *settings, const fault *fault) {
    unsigned is_https = 0;
    rule->sets_cookie = rule->is_private = 1;
    if (read_choice(settings->mode, "shadow", "on", &rule->is_shadow) != 0) return fail(fault, "mode", "must be on or shadow");
    if (read_choice(settings->scheme, "https", "http", &is_https) != 0) return fail(fault, "scheme", "must be http or https");
    if (settings->scheme != NULL) rule->scheme = edge_slice(is_https ? "https" : "http");
    if (read_choice(settings->set_cookie, "on", "off", &rule->sets_cookie) != 0) return fail(fault, "set_cookie", "must be on or off");
    if (read_choice(settings->is_private, "on", "off", &rule->is_private) != 0) return fail(fault, "private", "must be on or off");
    if (read_choice(settings->options, "on", "off", &rule->answers_options) != 0) return fail(fault, "options", "must be on or off");
    return 0;
}

static int read_use(const char *text, int32_t *use) {
    static const char *const names[] = {"once", "within-ttl", "grant"};
    for (int32_t place = 0; text != NULL && place < 3; place++) {
        if (strcmp(text, names[place]) != 0) continue;
        *use = place;
        return 0;
    }
    return text == NULL ? 0 : -1;
}

// MARK: Rules

static int make_place(pg_rule *rule, const settings *settings, const fault *fault) {
    static atomic_uint_fast64_t places;
    playgate_error error = {0};
    playgate_place_rules rules = {.size = sizeof(rules), .media = edge_slice(settings->media), .resource = edge_slice(settings->resource)};
    rules.requestor = edge_slice(settings->requestor);
    rules.profile = edge_slice(settings->profile);
    if (settings->resource == NULL && (settings->requestor != NULL || settings->use != NULL))
        return fail(fault, settings->use != NULL ? "use" : "requestor", "is for resource=RESOURCE");
    if (read_use(settings->use, &rules.use) != 0) return fail(fault, "use", "must be once, within-ttl or grant");
    if (settings->media == NULL && settings->resource == NULL && settings->profile == NULL) return 0;
    if (playgate_place_create(&rules, &rule->place, &error) != PLAYGATE_OK) return fail(fault, NULL, error.message);
    rule->place_number = atomic_fetch_add(&places, 1) + 1;
    return 0;
}

static int make_asker(pg_rule *rule, const settings *settings, const fault *fault) {
    long timeout = usual_timeout;
    if (settings->ask_timeout != NULL && read_number(settings->ask_timeout, 1, most_timeout, &timeout) != 0)
        return fail(fault, "ask_timeout", "must be a number of milliseconds from 1 to 60000");
    rule->ask_timeout = (uint32_t)timeout;
    if (settings->ask == NULL) return 0;
    if (playgate_asker_create(settings->ask, rule->ask_timeout, most_idle, &rule->asker) == PLAYGATE_OK) return 0;
    return fail(fault, "ask", "must be the path of a unix socket");
}

/// Checks that the policy has what the line names. A service that has not answered yet cannot tell.
static int check_place(const pg_rule *rule, const fault *fault) {
    playgate_error error = {0};
    playgate_engine *engine = pg_engine(rule->policy);
    if (engine == NULL || rule->place == NULL || playgate_engine_has_place(engine, rule->place, &error) == PLAYGATE_OK) return 0;
    return fail(fault, NULL, error.message);
}

static int make_policy(pg_rule *rule, const settings *settings, const fault *fault) {
    playgate_error error = {0};
    long memo = usual_memo;
    if (settings->policy == NULL) return fail(fault, "policy=unix:PATH or policy=FILE", "is missing");
    int is_off = settings->memo != NULL && strcmp(settings->memo, "0") == 0;
    if (settings->memo != NULL && !is_off && read_number(settings->memo, least_memo, most_memo, &memo) != 0)
        return fail(fault, "memo", "must be 0, or a number of answers from 64 to 1048576");
    rule->policy = pg_open_policy(settings->policy, settings->key, settings->trust, is_off ? 0 : (size_t)memo, &error);
    if (rule->policy != NULL) return check_place(rule, fault);
    char message[sizeof(error.message) + 64];
    const char *reason = error.message[0] == '\0' ? "there is no memory" : error.message;
    if (error.line == 0) return fail(fault, settings->policy, reason);
    snprintf(message, sizeof(message), "line %u, column %u: %s", error.line, error.column, reason);
    return fail(fault, settings->policy, message);
}

static int make_sources(pg_rule *rule, const fault *fault) {
    if (rule->grants.count == 0) edge_default_grants(&rule->grants);
    const char *message = edge_add_rules(&rule->target, &rule->tokens);
    if (message == NULL) message = edge_add_rules(&rule->target, &rule->grants);
    return message == NULL ? 0 : fail(fault, "the configuration", message);
}

pg_rule *pg_make_rule(int count, char *const *words, char *text, size_t size) {
    const fault fault = {text, size};
    settings settings = {0};
    pg_rule *rule = calloc(1, sizeof(*rule));
    if (rule == NULL) {
        fail(&fault, NULL, "there is no memory");
        return NULL;
    }
    int failed = 0;
    for (int place = 0; place < count && !failed; place++) failed = read_word(words[place], &settings, rule, &fault);
    if (!failed) failed = read_switches(rule, &settings, &fault);
    if (!failed) failed = make_sources(rule, &fault);
    if (!failed) failed = make_place(rule, &settings, &fault);
    if (!failed) failed = make_asker(rule, &settings, &fault);
    // The policy is last: a thread follows it from then on.
    if (!failed) failed = make_policy(rule, &settings, &fault);
    if (!failed) return rule;
    pg_free_rule(rule);
    return NULL;
}

void pg_free_rule(pg_rule *rule) {
    if (rule == NULL) return;
    pg_close_policy(rule->policy);
    playgate_asker_free(rule->asker);
    playgate_place_release(rule->place);
    for (size_t place = 0; place < rule->word_count; place++) free(rule->words[place]);
    free(rule);
}
