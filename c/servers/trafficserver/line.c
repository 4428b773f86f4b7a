// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The parameters of a remap line.

#include "playgate_trafficserver.h"

#include <slice.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_idle = 64 };

/// A fault, of a parameter if there is one.
typedef struct {
    char *text;
    size_t size;
} fault;

static int fail(const fault *fault, const char *word, const char *message) {
    if (fault->size > 0) snprintf(fault->text, fault->size, "playgate: %s%s%s", word == NULL ? "" : word, word == NULL ? "" : " ", message);
    return -1;
}

/// Reads `NAME=VALUE`. A fault of a value names the setting, and one of the word all of it.
static int read_word(pgt_line *line, const char *word, const fault *fault) {
    const char *mark = strchr(word, '=');
    if (mark == NULL || mark[1] == '\0') return fail(fault, word, "is no NAME=VALUE");
    playgate_slice name = {word, (size_t)(mark - word)};
    const char *message = edge_set(&line->rule.settings, EDGE_TRAFFIC_SERVER, name, mark + 1);
    if (message == NULL) return 0;
    if (strncmp(message, "must", 4) != 0) return fail(fault, word, message);
    char text[64];
    snprintf(text, sizeof(text), "%.*s", (int)name.length, word);
    return fail(fault, text, message);
}

static int read_words(pgt_line *line, int count, char *const *words, const fault *fault) {
    line->words = calloc((size_t)(count > 0 ? count : 1), sizeof(*line->words));
    if (line->words == NULL) return fail(fault, NULL, "there is no memory");
    for (int at = 0; at < count; at++) {
        char *word = line->words[at] = strdup(words[at]);
        if (word == NULL) return fail(fault, NULL, "there is no memory");
        line->word_count++;
        if (read_word(line, word, fault) != 0) return -1;
    }
    if (line->rule.settings.policy == NULL) return fail(fault, "policy=unix:PATH or policy=FILE", "is missing");
    return 0;
}

static int make_rule(pgt_line *line, const fault *fault) {
    static atomic_uint_fast64_t locations;
    playgate_error error = {0};
    const char *message = edge_rule_make(&line->rule, atomic_fetch_add(&locations, 1) + 1, &error);
    return message == NULL ? 0 : fail(fault, strncmp(message, "names", 5) == 0 ? "the configuration" : NULL, message);
}

static int make_asker(pgt_line *line, const fault *fault) {
    const edge_settings *settings = &line->rule.settings;
    if (settings->ask == NULL || playgate_asker_create(settings->ask, settings->ask_timeout, most_idle, &line->asker) == PLAYGATE_OK) return 0;
    return fail(fault, "ask", "must be the path of a unix socket");
}

static int open_policy(pgt_line *line, const fault *fault) {
    playgate_error error = {0};
    line->policy = pgt_open_policy(&line->rule.settings, &error);
    if (line->policy == NULL) {
        char message[sizeof(error.message) + 64];
        const char *reason = error.message[0] == '\0' ? "there is no memory" : error.message;
        if (error.line == 0) return fail(fault, line->rule.settings.policy, reason);
        snprintf(message, sizeof(message), "line %u, column %u: %s", error.line, error.column, reason);
        return fail(fault, line->rule.settings.policy, message);
    }
    line->rule.policy = pgt_followed(line->policy);
    return edge_rule_check(&line->rule, &error) == 0 ? 0 : fail(fault, NULL, error.message);
}

pgt_line *pgt_make_line(int count, char *const *words, char *text, size_t size) {
    const fault fault = {text, size};
    pgt_line *line = calloc(1, sizeof(*line));
    if (line == NULL) {
        fail(&fault, NULL, "there is no memory");
        return NULL;
    }
    edge_settings_begin(&line->rule.settings);
    // The policy is last: a thread follows it from then on.
    if (read_words(line, count, words, &fault) == 0 && make_rule(line, &fault) == 0 && make_asker(line, &fault) == 0
        && open_policy(line, &fault) == 0)
        return line;
    pgt_free_line(line);
    return NULL;
}

void pgt_free_line(pgt_line *line) {
    if (line == NULL) return;
    pgt_close_policy(line->policy);
    playgate_asker_free(line->asker);
    edge_rule_free(&line->rule);
    for (int at = 0; at < line->word_count; at++) free(line->words[at]);
    free(line->words);
    free(line);
}
