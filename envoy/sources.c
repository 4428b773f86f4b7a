// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "playgate_envoy.h"

#include <strings.h>

// MARK: Settings

static int kind_of(const char *word, size_t length, pe_kind *kind) {
    static const struct { const char *name; pe_kind kind; } kinds[] = {
        {"header", PE_HEADER}, {"cookie", PE_COOKIE}, {"query", PE_QUERY}, {"segment", PE_SEGMENT}, {"package", PE_PACKAGE},
    };
    for (size_t place = 0; place < sizeof(kinds) / sizeof(kinds[0]); place++) {
        if (!pe_is(word, length, kinds[place].name)) continue;
        *kind = kinds[place].kind;
        return 0;
    }
    return -1;
}

static void to_lower(char *text) {
    for (; *text != '\0'; text++)
        if (*text >= 'A' && *text <= 'Z') *text += 'a' - 'A';
}

const char *pe_add_source(pe_sources *sources, char *word) {
    static const char wrong[] = "names no place of tokens: header=NAME, header=NAME:SCHEME, cookie=NAME, query=NAME, "
                                "segment=PREFIX, package=NAME";
    pe_source source = {0};
    char *mark = strchr(word, '=');
    if (mark == NULL || kind_of(word, (size_t) (mark - word), &source.kind) != 0) return wrong;
    char *name = mark + 1, *colon = source.kind == PE_HEADER ? strchr(name, ':') : NULL;
    if (colon != NULL) {
        *colon = '\0';
        source.scheme = pe_slice(colon + 1);
        if (source.scheme.length == 0) return wrong;
    }
    if (source.kind == PE_HEADER) to_lower(name);
    source.name = pe_slice(name);
    if (source.name.length == 0) return wrong;
    if (sources->count == PE_VALUES_LIMIT) return "names more than 16 places";
    sources->all[sources->count++] = source;
    return NULL;
}

/// The service's own default of `edge.grants`.
void pe_add_default_grants(pe_sources *grants) {
    static const pe_source standard[] = {
        {PE_COOKIE, {"CTA-Common-Access-Token", 23}, {NULL, 0}},
        {PE_HEADER, {"cta-common-access-token", 23}, {NULL, 0}},
        {PE_SEGMENT, {"~cat=", 5}, {NULL, 0}},
        {PE_QUERY, {"cat", 3}, {NULL, 0}},
    };
    grants->count = sizeof(standard) / sizeof(standard[0]);
    memcpy(grants->all, standard, sizeof(standard));
}

static int add_name(playgate_slice *names, uint32_t *count, const pe_target_rules *target, playgate_slice name) {
    for (uint32_t place = 0; place < *count; place++)
        if (pe_same(names[place], name)) return 0;
    if (target->rules.parameter_count + target->rules.segment_count == PE_RULES_LIMIT) return -1;
    names[(*count)++] = name;
    return 0;
}

/// True if a prefix of segments may be in a target of letters, digits and `-._/` alone.
static int is_plain(playgate_slice prefix) {
    for (size_t place = 0; place < prefix.length; place++)
        if (!pe_is_plain(prefix.bytes[place])) return 0;
    return 1;
}

int pe_add_rules(pe_target_rules *target, const pe_sources *sources) {
    target->rules.size = sizeof(target->rules);
    target->rules.parameters = target->parameters;
    target->rules.segments = target->segments;
    for (size_t place = 0; place < sources->count; place++) {
        const pe_source *source = &sources->all[place];
        int added = 0;
        if (source->kind == PE_QUERY) {
            added = add_name(target->parameters, &target->rules.parameter_count, target, source->name);
        } else if (source->kind == PE_SEGMENT) {
            added = add_name(target->segments, &target->rules.segment_count, target, source->name);
            if (is_plain(source->name)) target->has_plain_segments = 1;
        } else if (source->kind == PE_PACKAGE) {
            if (target->rules.package.length > 0 && !pe_same(target->rules.package, source->name)) return -1;
            target->rules.package = source->name;
        }
        if (added != 0) return -1;
    }
    return 0;
}

// MARK: Values

static int is_blank(char byte) { return byte == ' ' || byte == '\t'; }

static playgate_slice trimmed(playgate_slice text) {
    while (text.length > 0 && is_blank(text.bytes[0])) text.bytes++, text.length--;
    while (text.length > 0 && is_blank(text.bytes[text.length - 1])) text.length--;
    return text;
}

static playgate_slice after(playgate_slice text, size_t length) {
    return (playgate_slice) {text.bytes + length, text.length - length};
}

static void show(pe_values *values, playgate_slice value) {
    if (value.length == 0) return;
    for (size_t place = 0; place < values->count; place++)
        if (pe_same(values->all[place], value)) return;
    if (values->count == PE_VALUES_LIMIT) {
        values->overflow = 1;
        return;
    }
    values->all[values->count++] = value;
}

static void show_field(pe_values *values, const pe_source *source, playgate_slice value) {
    value = trimmed(value);
    size_t length = source->scheme.length;
    if (length == 0) {
        show(values, value);
        return;
    }
    if (value.length <= length || strncasecmp(value.bytes, source->scheme.bytes, length) != 0) return;
    if (value.bytes[length] == ' ') show(values, trimmed(after(value, length)));
}

static void show_cookies(pe_values *values, playgate_slice name, playgate_slice field) {
    const char *end = field.bytes + field.length;
    for (const char *start = field.bytes; start < end; start++) {
        const char *mark = memchr(start, ';', (size_t) (end - start));
        if (mark == NULL) mark = end;
        playgate_slice pair = trimmed((playgate_slice) {start, (size_t) (mark - start)});
        if (pair.length > name.length && memcmp(pair.bytes, name.bytes, name.length) == 0 && pair.bytes[name.length] == '=') {
            playgate_slice value = after(pair, name.length + 1);
            if (value.length >= 2 && value.bytes[0] == '"' && value.bytes[value.length - 1] == '"')
                value.bytes++, value.length -= 2;
            show(values, value);
        }
        start = mark;
    }
}

/// Envoy has the names of header fields in lower case.
static void show_fields(const pe_worker *worker, const pe_source *source, pe_values *values) {
    playgate_slice name = source->kind == PE_HEADER ? source->name : (playgate_slice) {"cookie", 6};
    for (size_t place = 0; place < worker->field_count; place++) {
        const envoy_field *field = &worker->fields[place];
        if (!pe_same((playgate_slice) {field->name, field->name_length}, name)) continue;
        playgate_slice value = {field->value, field->value_length};
        if (source->kind == PE_HEADER) show_field(values, source, value);
        else show_cookies(values, source->name, value);
    }
}

/// The number of the rule by which the library reports values of a source; UINT32_MAX for a source that has none.
static uint32_t rule_of(const pe_source *source, const pe_target_rules *target) {
    const playgate_target_rules *rules = &target->rules;
    if (source->kind == PE_PACKAGE) return rules->parameter_count + rules->segment_count;
    uint32_t count = source->kind == PE_QUERY ? rules->parameter_count : rules->segment_count;
    const playgate_slice *names = source->kind == PE_QUERY ? target->parameters : target->segments;
    for (uint32_t place = 0; place < count; place++) {
        if (!pe_same(names[place], source->name)) continue;
        return source->kind == PE_QUERY ? place : rules->parameter_count + place;
    }
    return UINT32_MAX;
}

void pe_find_values(const pe_worker *worker, const pe_sources *sources, const pe_target_rules *target, const playgate_cut *cut,
                    pe_values *values) {
    values->count = 0;
    values->overflow = 0;
    for (size_t place = 0; place < sources->count; place++) {
        const pe_source *source = &sources->all[place];
        if (source->kind != PE_HEADER && source->kind != PE_COOKIE) {
            uint32_t rule = rule_of(source, target);
            for (uint32_t found = 0; found < cut->found_count; found++)
                if (cut->found[found].rule == rule) show(values, cut->found[found].value);
        }
        // A package may also be in a cookie of its name.
        if (source->kind != PE_QUERY && source->kind != PE_SEGMENT) show_fields(worker, source, values);
    }
}

// MARK: Names

static int names_field(const pe_sources *sources, playgate_slice name) {
    for (size_t place = 0; place < sources->count; place++)
        if (sources->all[place].kind == PE_HEADER && pe_same(sources->all[place].name, name)) return 1;
    return 0;
}

int pe_is_credential(const pe_config *config, const envoy_field *field) {
    playgate_slice name = {field->name, field->name_length};
    return names_field(&config->tokens, name) || names_field(&config->grants, name);
}

static int is_mark(char byte) { return byte == '-' || byte == '_' || byte == '.'; }

int pe_is_gates(const envoy_field *field) {
    const char *name = field->name;
    return field->name_length >= 11 && name[0] == 'x' && is_mark(name[1]) && memcmp(name + 2, "playgate", 8) == 0 && is_mark(name[10]);
}
