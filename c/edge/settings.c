// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The one table of settings.

#include "settings.h"

#include "answers.h"
#include "slice.h"

#include <stddef.h>

enum { most_timeout = 60000, usual_timeout = 300 };

// MARK: Values

/// A word, and the number that it sets.
typedef struct {
    const char *word;
    int number;
} choice;

typedef struct row row;

struct row {
    const char *name;
    /// The line in which this follows; null for a line or parameter of its own.
    const char *line;
    unsigned servers;
    const char *(*set)(const row *row, edge_settings *settings, const char *value);
    /// The member that is set, and its size.
    size_t offset, size;
    const choice *choices;
    /// The bounds of a number.
    int64_t least, most;
    const char *fault;
    /// What is wrong with what follows in the line.
    const char *follow;
};

static void *member(const row *row, edge_settings *settings) { return (char *)settings + row->offset; }

static const char *set_text(const row *row, edge_settings *settings, const char *value) {
    if (*value == '\0') return row->fault;
    *(const char **)member(row, settings) = value;
    return NULL;
}

static const char *set_scheme(const row *row, edge_settings *settings, const char *value) {
    settings->scheme = value;
    return strcmp(value, "http") == 0 || strcmp(value, "https") == 0 ? NULL : row->fault;
}

static const char *set_slice(const row *row, edge_settings *settings, const char *value) {
    if (*value == '\0') return row->fault;
    *(playgate_slice *)member(row, settings) = slice_of(value);
    return NULL;
}

static const char *set_choice(const row *row, edge_settings *settings, const char *value) {
    for (const choice *choice = row->choices; choice->word != NULL; choice++) {
        if (strcmp(choice->word, value) != 0) continue;
        *(int *)member(row, settings) = choice->number;
        return NULL;
    }
    return row->fault;
}

static int64_t number_of(const row *row, const char *value) {
    playgate_slice text = slice_of(value);
    int has_unit = text.length > 1 && (text.bytes[text.length - 1] | 0x20) == 'k' && row->offset == offsetof(edge_settings, answer_size);
    if (has_unit) text.length--;
    int64_t number = slice_number(text, INT32_MAX);
    if (has_unit) number *= 1024;
    return number >= row->least && number <= row->most ? number : -1;
}

static const char *set_timeout(const row *row, edge_settings *settings, const char *value) {
    int64_t number = number_of(row, value);
    if (number < 0) return row->fault;
    settings->ask_timeout = (uint32_t)number;
    return NULL;
}

/// A number of answers, or the word for none.
static const char *set_count(const row *row, edge_settings *settings, const char *value) {
    int64_t number = strcmp(value, row->choices->word) == 0 ? 0 : number_of(row, value);
    if (number < 0) return row->fault;
    settings->answers = (size_t)number;
    return NULL;
}

static const char *set_size(const row *row, edge_settings *settings, const char *value) {
    int64_t number = number_of(row, value);
    if (number < 0 || settings->answers == 0) return row->fault;
    settings->answer_size = (size_t)number;
    return NULL;
}

static const char *set_source(const row *row, edge_settings *settings, const char *value) {
    return edge_add_source(member(row, settings), slice_of(value), row->offset == offsetof(edge_settings, grants));
}

/// A location of nginx, or none.
static const char *set_location(const row *row, edge_settings *settings, const char *value) {
    settings->ask = strcmp(value, "off") == 0 ? NULL : value;
    return settings->ask == NULL || value[0] == '/' ? NULL : row->fault;
}

// MARK: The table

static const choice modes[] = {{"on", EDGE_ON}, {"shadow", EDGE_SHADOW}, {NULL, 0}};
static const choice nginx_modes[] = {{"on", EDGE_ON}, {"shadow", EDGE_SHADOW}, {"off", EDGE_OFF}, {NULL, 0}};
static const choice switches[] = {{"on", 1}, {"off", 0}, {NULL, 0}};
static const choice queries[] = {{"drop", 1}, {"keep", 0}, {NULL, 0}};
static const choice uses[] = {{"once", PLAYGATE_USE_ONCE}, {"ttl", PLAYGATE_USE_WITHIN_TTL}, {"grant", PLAYGATE_USE_GRANT}, {NULL, 0}};
static const choice off[] = {{"off", 0}, {NULL, 0}};
static const choice zero[] = {{"0", 0}, {NULL, 0}};

#define MEMBER(name) offsetof(edge_settings, name), sizeof(((edge_settings *)NULL)->name)
#define DEMAND(name) offsetof(edge_settings, demands.name), sizeof(((edge_settings *)NULL)->demands.name)

enum {
    lines = EDGE_NGINX | EDGE_ENVOY,
    parameters = EDGE_VARNISH | EDGE_TRAFFIC_SERVER,
    everywhere = lines | parameters,
};

static const char one_name[] = "must be one name";
static const char on_or_off[] = "must be on or off";
static const char one_use[] = "must be once, ttl or grant";
static const char one_source[] = "must be unix:PATH, with or without key=FILE, or a path, with or without trust=FILE";
static const char one_media[] = "must be media=ID alone: the catalogue says the rest";
static const char after_ask[] = "may be followed by timeout=MILLISECONDS, from 1 to 60000";
static const char after_cache[] = "may be followed by entry=BYTES, from 512 to 16384 (16k)";
static const char after_resource[] = "may be followed by requestor=ID and by admits=once, admits=ttl or admits=grant";

static const row table[] = {
    {"mode", NULL, EDGE_ENVOY | EDGE_TRAFFIC_SERVER, set_choice, MEMBER(mode), modes, 0, 0, "must be on or shadow", NULL},
    {"mode", NULL, EDGE_NGINX, set_choice, MEMBER(mode), nginx_modes, 0, 0, "must be on, off or shadow", NULL},
    {"policy", NULL, everywhere, set_text, MEMBER(policy), NULL, 0, 0, one_source, one_source},
    {"key", "policy", lines, set_text, MEMBER(key), NULL, 0, 0, one_source, NULL},
    {"key", NULL, parameters, set_text, MEMBER(key), NULL, 0, 0, "must be a file", NULL},
    {"trust", "policy", lines, set_text, MEMBER(trust), NULL, 0, 0, one_source, NULL},
    {"trust", NULL, parameters, set_text, MEMBER(trust), NULL, 0, 0, "must be a file", NULL},
    {"token", NULL, lines | EDGE_TRAFFIC_SERVER, set_source, MEMBER(tokens), NULL, 0, 0, NULL, NULL},
    {"grant", NULL, lines | EDGE_TRAFFIC_SERVER, set_source, MEMBER(grants), NULL, 0, 0, NULL, NULL},
    {"profile", NULL, lines | EDGE_TRAFFIC_SERVER, set_slice, DEMAND(profile), NULL, 0, 0, one_name, one_name},
    {"resource", NULL, lines | EDGE_TRAFFIC_SERVER, set_slice, DEMAND(resource), NULL, 0, 0, "is empty", after_resource},
    {"media", "resource", lines, set_slice, DEMAND(media), NULL, 0, 0, one_media, NULL},
    {"media", NULL, EDGE_TRAFFIC_SERVER, set_slice, DEMAND(media), NULL, 0, 0, one_name, NULL},
    {"requestor", "resource", lines, set_slice, DEMAND(requestor), NULL, 0, 0, after_resource, NULL},
    {"requestor", NULL, EDGE_TRAFFIC_SERVER, set_slice, DEMAND(requestor), NULL, 0, 0, one_name, NULL},
    {"admits", "resource", lines, set_choice, DEMAND(use), uses, 0, 0, after_resource, NULL},
    {"admits", NULL, EDGE_TRAFFIC_SERVER, set_choice, DEMAND(use), uses, 0, 0, one_use, NULL},
    {"ask", NULL, EDGE_NGINX, set_location, MEMBER(ask), NULL, 0, 0, "must be a location such as /_gate, or off", NULL},
    {"ask", NULL, EDGE_ENVOY, set_text, MEMBER(ask), NULL, 0, 0, one_name, after_ask},
    {"ask", NULL, parameters, set_text, MEMBER(ask), NULL, 0, 0, "must be the path of a unix socket", NULL},
    {"timeout", "ask", EDGE_ENVOY, set_timeout, MEMBER(ask_timeout), NULL, 1, most_timeout, after_ask, NULL},
    {"ask_timeout", NULL, EDGE_VARNISH, set_timeout, MEMBER(ask_timeout), NULL, 1, most_timeout, "must be a time from 1ms to 60s", NULL},
    {"ask_timeout", NULL, EDGE_TRAFFIC_SERVER, set_timeout, MEMBER(ask_timeout), NULL, 1, most_timeout,
     "must be a number of milliseconds from 1 to 60000", NULL},
    {"cache", NULL, lines, set_count, MEMBER(answers), off, edge_least_answers, edge_most_answers,
     "must be off, or a number of answers from 64 to 1048576", after_cache},
    {"entry", "cache", lines, set_size, MEMBER(answer_size), NULL, edge_least_answer, edge_most_answer, after_cache, NULL},
    {"cache", NULL, parameters, set_count, MEMBER(answers), zero, edge_least_answers, edge_most_answers,
     "must be 0, or a number of answers from 64 to 1048576", NULL},
    {"set_cookie", NULL, lines | EDGE_TRAFFIC_SERVER, set_choice, MEMBER(sets_cookie), switches, 0, 0, on_or_off, NULL},
    {"private", NULL, EDGE_ENVOY | EDGE_TRAFFIC_SERVER, set_choice, MEMBER(is_private), switches, 0, 0, on_or_off, NULL},
    {"query", NULL, EDGE_ENVOY, set_choice, MEMBER(drops_query), queries, 0, 0, "must be keep or drop", NULL},
    {"options", NULL, EDGE_TRAFFIC_SERVER, set_choice, MEMBER(answers_options), switches, 0, 0, on_or_off, NULL},
    {"scheme", NULL, EDGE_TRAFFIC_SERVER, set_scheme, MEMBER(scheme), NULL, 0, 0, "must be http or https", NULL},
};

enum { row_count = sizeof(table) / sizeof(table[0]) };

_Static_assert(row_count <= 64, "edge_settings.given has a bit for each row");

/// The row of a name, in a line or on its own; null if there is none.
static const row *find(unsigned server, playgate_slice name, const char *line) {
    for (size_t at = 0; at < row_count; at++) {
        const row *row = &table[at];
        if (!(row->servers & server) || !slice_is(name, slice_of(row->name)) || (row->line == NULL) != (line == NULL)) continue;
        if (line == NULL || strcmp(line, row->line) == 0) return row;
    }
    return NULL;
}

static uint64_t bit(const row *row) { return UINT64_C(1) << (row - table); }

/// Sets the value of a row, once. Sources of tokens add up.
static const char *set_row(const row *row, edge_settings *settings, const char *value) {
    if (row->set != set_source && (settings->given & bit(row))) return "is duplicate";
    settings->given |= bit(row);
    return row->set(row, settings, value);
}

// MARK: Setting

void edge_settings_begin(edge_settings *settings) {
    memset(settings, 0, sizeof(*settings));
    settings->ask_timeout = usual_timeout;
    settings->answers = edge_usual_answers;
    settings->answer_size = edge_usual_answer;
    settings->sets_cookie = settings->is_private = 1;
}

const char *edge_set(edge_settings *settings, unsigned server, playgate_slice name, const char *value) {
    const row *row = find(server, name, NULL);
    return row == NULL ? "is unknown" : set_row(row, settings, value);
}

/// Sets one `NAME=VALUE` of a line. Returns 0, or -1 if the word is no such thing, or has a fault.
static int set_word(edge_settings *settings, unsigned server, const char *line, const char *word) {
    const char *mark = strchr(word, '=');
    const row *row = mark == NULL ? NULL : find(server, (playgate_slice){word, (size_t)(mark - word)}, line);
    return row != NULL && set_row(row, settings, mark + 1) == NULL ? 0 : -1;
}

static const char *set_sources(const row *row, edge_settings *settings, const char *const *words, size_t count) {
    const char *fault = settings->given & bit(row) ? "is duplicate" : NULL;
    for (size_t at = 1; at < count && fault == NULL; at++) fault = set_row(row, settings, words[at]);
    return fault;
}

/// Checks what the words of a line say together.
static const char *check_line(const row *row, const edge_settings *settings) {
    const playgate_location_rules *demands = &settings->demands;
    if (row->offset == offsetof(edge_settings, demands.resource)) return demands->requestor.length == 0 ? "needs requestor=ID" : NULL;
    if (row->offset != offsetof(edge_settings, policy)) return NULL;
    int is_service = strncmp(settings->policy, "unix:", 5) == 0;
    return (is_service ? settings->trust : settings->key) == NULL ? NULL : one_source;
}

const char *edge_set_line(edge_settings *settings, unsigned server, const char *const *words, size_t count) {
    const row *row = find(server, slice_of(words[0]), NULL);
    if (row == NULL) return "is no setting";
    if (count < 2) return "needs a value";
    if (row->set == set_source) return set_sources(row, settings, words, count);
    if (settings->given & bit(row)) return "is duplicate";
    settings->given |= bit(row);
    // The catalogue says what a media id needs: it stands in the place of a resource.
    if (row->offset == offsetof(edge_settings, demands.resource) && strncmp(words[1], "media=", 6) == 0)
        return count == 2 && set_word(settings, server, row->name, words[1]) == 0 ? NULL : one_media;
    const char *fault = row->set(row, settings, words[1]);
    if (fault == NULL && count > 2 && row->follow == NULL) return row->fault;
    for (size_t at = 2; at < count && fault == NULL; at++)
        if (set_word(settings, server, row->name, words[at]) != 0) fault = row->follow;
    return fault == NULL ? check_line(row, settings) : fault;
}

const char *edge_set_sources(edge_settings *settings, const char *text, int are_grants) {
    edge_token_sources fresh = {.count = 0};
    const char *fault = edge_add_sources(&fresh, text, are_grants);
    if (fault != NULL) return fault;
    *(are_grants ? &settings->grants : &settings->tokens) = fresh;
    settings->given |= bit(find(EDGE_NGINX, slice_of(are_grants ? "grant" : "token"), NULL));
    return NULL;
}

int edge_settings_has(const edge_settings *settings, const char *name) {
    for (size_t at = 0; at < row_count; at++)
        if ((settings->given & bit(&table[at])) && strcmp(table[at].name, name) == 0) return 1;
    return 0;
}

void edge_settings_inherit(edge_settings *settings, const edge_settings *outer) {
    uint64_t taken = 0;
    for (size_t at = 0; at < row_count; at++) {
        const row *row = &table[at];
        // What follows in a line belongs to it.
        if ((outer->given & bit(row)) && !edge_settings_has(settings, row->line == NULL ? row->name : row->line)) taken |= bit(row);
    }
    for (size_t at = 0; at < row_count; at++)
        if (taken & bit(&table[at])) memcpy(member(&table[at], settings), (const char *)outer + table[at].offset, table[at].size);
    settings->given |= taken;
}

const char *edge_settings_end(edge_settings *settings, edge_rules *rules) {
    int has_resource = settings->demands.resource.length > 0;
    if (!has_resource && edge_settings_has(settings, "admits")) return "admits is for resource=RESOURCE";
    if (!has_resource && edge_settings_has(settings, "requestor")) return "requestor is for resource=RESOURCE";
    if (!edge_settings_has(settings, "grant")) edge_default_grants(&settings->grants);
    memset(rules, 0, sizeof(*rules));
    const char *fault = edge_add_rules(rules, &settings->tokens);
    return fault == NULL ? edge_add_rules(rules, &settings->grants) : fault;
}
