// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The places of tokens and grants, and the values in them.

#include "playgate_plugin.h"

// MARK: Settings

static int kind_of(playgate_slice word, pg_kind *kind) {
    static const struct { const char *name; pg_kind kind; } kinds[] = {
        {"header", PG_HEADER}, {"cookie", PG_COOKIE}, {"query", PG_QUERY}, {"segment", PG_SEGMENT}, {"package", PG_PACKAGE},
    };
    for (size_t place = 0; place < sizeof(kinds) / sizeof(kinds[0]); place++) {
        if (!pg_same(word, pg_slice(kinds[place].name))) continue;
        *kind = kinds[place].kind;
        return 0;
    }
    return -1;
}

static int parse_source(playgate_slice text, pg_source *source) {
    const char *mark = memchr(text.bytes, '=', text.length);
    if (mark == NULL) return -1;
    playgate_slice word = {text.bytes, (size_t)(mark - text.bytes)};
    if (kind_of(word, &source->kind) != 0) return -1;
    source->name = pg_after(text, word.length + 1);
    if (source->name.length == 0) return -1;
    const char *colon = source->kind == PG_HEADER ? memchr(source->name.bytes, ':', source->name.length) : NULL;
    if (colon == NULL) return 0;
    size_t length = (size_t)(colon - source->name.bytes);
    source->scheme = pg_after(source->name, length + 1);
    source->name.length = length;
    return source->scheme.length > 0 && length > 0 ? 0 : -1;
}

const char *pg_add_source(const char *text, int are_grants, pg_sources *sources) {
    pg_source source = {.rule = UINT32_MAX, .text = strdup(text)};
    const char *fault = NULL;
    if (source.text == NULL) return "has no memory";
    if (sources->count == PG_VALUES_LIMIT) fault = "is there more than 16 times";
    else if (parse_source(pg_slice(source.text), &source) != 0)
        fault = "names no place of tokens: header=NAME, header=NAME:SCHEME, cookie=NAME, query=NAME, segment=PREFIX, package=NAME";
    else if (source.kind == PG_PACKAGE && !are_grants) fault = "is a package, which is for grants: a media token is no signed URI";
    if (fault == NULL) sources->items[sources->count++] = source;
    else free(source.text);
    return fault;
}

void pg_free_sources(pg_sources *sources) {
    for (size_t place = 0; place < sources->count; place++) free(sources->items[place].text);
    sources->count = 0;
}

/// Adds a name unless it is known. Returns its number.
static uint32_t add_name(playgate_slice *names, uint32_t *count, playgate_slice name) {
    uint32_t place = 0;
    while (place < *count && !pg_same(names[place], name)) place++;
    if (place == *count) names[(*count)++] = name;
    return place;
}

static const char *add_sources(pg_target_rules *target, pg_sources *sources) {
    for (size_t place = 0; place < sources->count; place++) {
        pg_source *source = &sources->items[place];
        if (source->kind == PG_QUERY) {
            source->rule = add_name(target->parameters, &target->rules.parameter_count, source->name);
        } else if (source->kind == PG_SEGMENT) {
            source->rule = add_name(target->segments, &target->rules.segment_count, source->name);
        } else if (source->kind == PG_PACKAGE) {
            if (target->rules.package.length > 0 && !pg_same(target->rules.package, source->name)) return "two packages are named";
            target->rules.package = source->name;
        }
    }
    return NULL;
}

/// Segments are numbered after all parameters, and the package after these.
static void number_sources(const pg_target_rules *target, pg_sources *sources) {
    for (size_t place = 0; place < sources->count; place++) {
        pg_source *source = &sources->items[place];
        if (source->kind == PG_SEGMENT) source->rule += target->rules.parameter_count;
        if (source->kind == PG_PACKAGE) source->rule = target->rules.parameter_count + target->rules.segment_count;
    }
}

const char *pg_make_rules(pg_target_rules *target, pg_sources *tokens, pg_sources *grants) {
    memset(target, 0, sizeof(*target));
    target->rules.size = sizeof(target->rules);
    target->rules.parameters = target->parameters;
    target->rules.segments = target->segments;
    const char *fault = add_sources(target, tokens);
    if (fault == NULL) fault = add_sources(target, grants);
    number_sources(target, tokens);
    number_sources(target, grants);
    return fault;
}

// MARK: Values

static void show(pg_values *values, playgate_slice value) {
    if (value.length == 0) return;
    for (size_t place = 0; place < values->count; place++)
        if (pg_same(values->values[place], value)) return;
    if (values->count == PG_VALUES_LIMIT) values->overflow = 1;
    else values->values[values->count++] = value;
}

static void show_field(pg_values *values, const pg_source *source, playgate_slice value) {
    size_t length = source->scheme.length;
    if (length == 0) {
        show(values, value);
        return;
    }
    if (value.length <= length || strncasecmp(value.bytes, source->scheme.bytes, length) != 0) return;
    if (value.bytes[length] == ' ') show(values, pg_trimmed(pg_after(value, length)));
}

static void show_cookies(pg_values *values, playgate_slice name, playgate_slice field) {
    while (field.length > 0) {
        const char *mark = memchr(field.bytes, ';', field.length);
        size_t length = mark == NULL ? field.length : (size_t)(mark - field.bytes);
        playgate_slice pair = pg_trimmed((playgate_slice){field.bytes, length});
        field = pg_after(field, mark == NULL ? length : length + 1);
        if (pair.length <= name.length || memcmp(pair.bytes, name.bytes, name.length) != 0 || pair.bytes[name.length] != '=') continue;
        playgate_slice value = pg_after(pair, name.length + 1);
        if (value.length >= 2 && value.bytes[0] == '"' && value.bytes[value.length - 1] == '"')
            value = (playgate_slice){value.bytes + 1, value.length - 2};
        show(values, value);
    }
}

/// The header field in which a source has its place: a package may also be in a cookie of its name. Empty for a place in URLs alone.
static playgate_slice field_of(const pg_source *source) {
    if (source->kind == PG_HEADER) return source->name;
    return pg_slice(source->kind == PG_COOKIE || source->kind == PG_PACKAGE ? "Cookie" : NULL);
}

/// Every field of a name counts: two with tokens that differ are refused.
static void show_fields(const pg_header *fields, const pg_source *source, pg_values *values) {
    playgate_slice found[PG_VALUES_LIMIT], wanted = field_of(source);
    if (wanted.length == 0) return;
    size_t count = pg_field_values((void *)(uintptr_t)fields, wanted, found, PG_VALUES_LIMIT);
    if (count > PG_VALUES_LIMIT) values->overflow = 1;
    for (size_t place = 0; place < count && place < PG_VALUES_LIMIT; place++) {
        if (source->kind == PG_HEADER) show_field(values, source, found[place]);
        else show_cookies(values, source->name, found[place]);
    }
}

void pg_find_values(const pg_header *fields, const pg_sources *sources, const playgate_cut *cut, pg_values *values) {
    values->count = 0;
    values->overflow = 0;
    for (size_t place = 0; place < sources->count; place++) {
        const pg_source *source = &sources->items[place];
        for (uint32_t found = 0; found < cut->found_count; found++)
            if (cut->found[found].rule == source->rule) show(values, cut->found[found].value);
        show_fields(fields, source, values);
    }
}

void pg_remove_sources(const pg_header *fields, const pg_sources *sources) {
    for (size_t place = 0; place < sources->count; place++) {
        playgate_slice name = field_of(&sources->items[place]);
        if (name.length > 0) pg_remove_field(fields, name);
    }
}
