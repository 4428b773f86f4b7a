// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The sources of tokens and grants, and the values in them.

#include "token_sources.h"

#include "slice.h"

// MARK: Settings

static int kind_of(playgate_slice word, edge_kind *kind) {
    static const struct { const char *name; edge_kind kind; } kinds[] = {
        {"header", EDGE_HEADER}, {"cookie", EDGE_COOKIE}, {"query", EDGE_QUERY}, {"segment", EDGE_SEGMENT}, {"package", EDGE_PACKAGE},
    };
    for (size_t at = 0; at < sizeof(kinds) / sizeof(kinds[0]); at++) {
        if (!slice_is(word, slice_of(kinds[at].name))) continue;
        *kind = kinds[at].kind;
        return 0;
    }
    return -1;
}

static int parse(playgate_slice word, edge_token_source *source) {
    const char *mark = word.length == 0 ? NULL : memchr(word.bytes, '=', word.length);
    memset(source, 0, sizeof(*source));
    if (mark == NULL || memchr(word.bytes, '\0', word.length) != NULL) return -1;
    playgate_slice kind = {word.bytes, (size_t)(mark - word.bytes)};
    if (kind_of(kind, &source->kind) != 0) return -1;
    source->name = slice_after(word, kind.length + 1);
    if (source->name.length == 0) return -1;
    const char *colon = source->kind == EDGE_HEADER ? memchr(source->name.bytes, ':', source->name.length) : NULL;
    if (colon == NULL) return 0;
    size_t length = (size_t)(colon - source->name.bytes);
    source->scheme = slice_after(source->name, length + 1);
    source->name.length = length;
    return source->scheme.length > 0 && length > 0 ? 0 : -1;
}

const char *edge_add_source(edge_token_sources *sources, playgate_slice word, int are_grants) {
    edge_token_source source;
    if (parse(word, &source) != 0)
        return "names no source of tokens: header=NAME, header=NAME:SCHEME, cookie=NAME, query=NAME, segment=PREFIX, package=NAME";
    if (source.kind == EDGE_PACKAGE && !are_grants) return "has a package, which is for grants: a media token is no signed URI";
    if (sources->count == EDGE_SOURCES_LIMIT) return "names more than 16 sources";
    sources->items[sources->count++] = source;
    return NULL;
}

const char *edge_add_sources(edge_token_sources *sources, const char *text, int are_grants) {
    static const char blanks[] = " \t\r\n";
    const char *fault = NULL;
    for (const char *word = text + strspn(text, blanks); *word != '\0' && fault == NULL; word += strspn(word, blanks)) {
        playgate_slice part = {word, strcspn(word, blanks)};
        fault = edge_add_source(sources, part, are_grants);
        word += part.length;
    }
    return fault == NULL && sources->count == 0 ? "names no source of tokens" : fault;
}

void edge_default_grants(edge_token_sources *grants) {
    grants->count = 0;
    edge_add_sources(grants, "cookie=CTA-Common-Access-Token header=CTA-Common-Access-Token segment=~cat= query=cat", 1);
}

// MARK: Rules

static int add_name(playgate_slice *names, uint32_t *count, const edge_rules *rules, playgate_slice name) {
    for (uint32_t at = 0; at < *count; at++)
        if (slice_is(names[at], name)) return 0;
    if (rules->rules.parameter_count + rules->rules.segment_count == EDGE_RULES_LIMIT) return -1;
    names[(*count)++] = name;
    return 0;
}

/// True if a prefix of segments may be in a target of plain bytes alone.
static int is_plain(playgate_slice prefix) {
    for (size_t at = 0; at < prefix.length; at++)
        if (!edge_is_plain(prefix.bytes[at])) return 0;
    return 1;
}

const char *edge_add_rules(edge_rules *rules, const edge_token_sources *sources) {
    playgate_target_rules *target = &rules->rules;
    target->size = sizeof(*target);
    target->parameters = rules->parameters;
    target->segments = rules->segments;
    for (size_t at = 0; at < sources->count; at++) {
        const edge_token_source *source = &sources->items[at];
        int added = 0;
        if (source->kind == EDGE_QUERY) {
            added = add_name(rules->parameters, &target->parameter_count, rules, source->name);
        } else if (source->kind == EDGE_SEGMENT) {
            added = add_name(rules->segments, &target->segment_count, rules, source->name);
            if (is_plain(source->name)) rules->has_plain_segments = 1;
        } else if (source->kind == EDGE_PACKAGE) {
            if (target->package.length > 0 && !slice_is(target->package, source->name)) return "names two packages";
            target->package = source->name;
        }
        if (added != 0) return "names more than 32 parameters and segments in all";
    }
    return NULL;
}

static int are_same(const playgate_slice *one, const playgate_slice *other, uint32_t count) {
    for (uint32_t at = 0; at < count; at++)
        if (!slice_is(one[at], other[at])) return 0;
    return 1;
}

int edge_same_rules(const edge_rules *one, const edge_rules *other) {
    const playgate_target_rules *first = &one->rules, *second = &other->rules;
    return first->parameter_count == second->parameter_count && first->segment_count == second->segment_count
        && slice_is(first->package, second->package) && are_same(one->parameters, other->parameters, first->parameter_count)
        && are_same(one->segments, other->segments, first->segment_count);
}

/// The number of the rule by which the library reports values of a source; UINT32_MAX for a source that has none.
static uint32_t rule_of(const edge_token_source *source, const edge_rules *rules) {
    const playgate_target_rules *target = &rules->rules;
    if (source->kind == EDGE_PACKAGE) return target->parameter_count + target->segment_count;
    if (source->kind != EDGE_QUERY && source->kind != EDGE_SEGMENT) return UINT32_MAX;
    uint32_t count = source->kind == EDGE_QUERY ? target->parameter_count : target->segment_count;
    const playgate_slice *names = source->kind == EDGE_QUERY ? rules->parameters : rules->segments;
    for (uint32_t at = 0; at < count; at++) {
        if (!slice_is(names[at], source->name)) continue;
        return source->kind == EDGE_QUERY ? at : target->parameter_count + at;
    }
    return UINT32_MAX;
}

// MARK: Values

static void show(edge_values *values, playgate_slice value) {
    if (value.length == 0) return;
    for (size_t at = 0; at < values->count; at++)
        if (slice_is(values->values[at], value)) return;
    if (values->count == EDGE_SOURCES_LIMIT) values->overflow = 1;
    else values->values[values->count++] = value;
}

static void show_field(edge_values *values, const edge_token_source *source, playgate_slice value) {
    size_t length = source->scheme.length;
    value = slice_trimmed(value);
    if (length == 0) {
        show(values, value);
        return;
    }
    if (value.length <= length || strncasecmp(value.bytes, source->scheme.bytes, length) != 0) return;
    if (value.bytes[length] == ' ') show(values, slice_trimmed(slice_after(value, length)));
}

static void show_cookies(edge_values *values, playgate_slice name, playgate_slice field) {
    while (field.length > 0) {
        const char *mark = memchr(field.bytes, ';', field.length);
        size_t length = mark == NULL ? field.length : (size_t)(mark - field.bytes);
        playgate_slice pair = slice_trimmed((playgate_slice){field.bytes, length});
        field = slice_after(field, mark == NULL ? length : length + 1);
        if (pair.length <= name.length || memcmp(pair.bytes, name.bytes, name.length) != 0 || pair.bytes[name.length] != '=') continue;
        playgate_slice value = slice_after(pair, name.length + 1);
        if (value.length >= 2 && value.bytes[0] == '"' && value.bytes[value.length - 1] == '"')
            value = (playgate_slice){value.bytes + 1, value.length - 2};
        show(values, value);
    }
}

playgate_slice edge_source_field(const edge_token_source *source) {
    if (source->kind == EDGE_HEADER) return source->name;
    return slice_of(source->kind == EDGE_COOKIE || source->kind == EDGE_PACKAGE ? "cookie" : NULL);
}

/// Every field of a name counts: two with tokens that differ are refused.
static void show_fields(edge_values *values, const edge_token_source *source, playgate_header_values fields, void *context) {
    playgate_slice found[EDGE_FIELDS_LIMIT], name = edge_source_field(source);
    if (name.length == 0) return;
    size_t count = fields(context, name, found, EDGE_FIELDS_LIMIT);
    if (count > EDGE_FIELDS_LIMIT) values->overflow = 1;
    for (size_t at = 0; at < count && at < EDGE_FIELDS_LIMIT; at++) {
        if (source->kind == EDGE_HEADER) show_field(values, source, found[at]);
        else show_cookies(values, source->name, found[at]);
    }
}

void edge_find_values(const edge_token_sources *sources, const edge_rules *rules, const playgate_cut *cut, playgate_header_values fields, void *context,
                      edge_values *values) {
    values->count = 0;
    values->overflow = 0;
    for (size_t at = 0; at < sources->count; at++) {
        const edge_token_source *source = &sources->items[at];
        uint32_t rule = cut->found_count == 0 ? UINT32_MAX : rule_of(source, rules);
        for (uint32_t found = 0; rule != UINT32_MAX && found < cut->found_count; found++)
            if (cut->found[found].rule == rule) show(values, cut->found[found].value);
        show_fields(values, source, fields, context);
    }
}
