// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

// MARK: Configuration

static ngx_int_t kind_of(ngx_str_t word, pg_kind *kind) {
    static const struct { ngx_str_t name; pg_kind kind; } kinds[] = {
        {ngx_string("header"), PG_HEADER},   {ngx_string("cookie"), PG_COOKIE},   {ngx_string("query"), PG_QUERY},
        {ngx_string("segment"), PG_SEGMENT}, {ngx_string("package"), PG_PACKAGE},
    };
    for (ngx_uint_t place = 0; place < sizeof(kinds) / sizeof(kinds[0]); place++) {
        if (!pg_same(word, kinds[place].name)) continue;
        *kind = kinds[place].kind;
        return NGX_OK;
    }
    return NGX_DECLINED;
}

static ngx_int_t parse_source(ngx_str_t text, pg_source *source) {
    u_char *end = text.data + text.len, *mark = ngx_strlchr(text.data, end, '=');
    if (mark == NULL) return NGX_ERROR;
    ngx_str_t word = {(size_t) (mark - text.data), text.data};
    ngx_memzero(source, sizeof(*source));
    if (kind_of(word, &source->kind) != NGX_OK) return NGX_ERROR;
    source->name.data = mark + 1;
    source->name.len = (size_t) (end - source->name.data);
    u_char *colon = source->kind == PG_HEADER ? ngx_strlchr(source->name.data, end, ':') : NULL;
    if (colon != NULL) {
        source->scheme.data = colon + 1;
        source->scheme.len = (size_t) (end - source->scheme.data);
        source->name.len = (size_t) (colon - source->name.data);
        if (source->scheme.len == 0) return NGX_ERROR;
    }
    return source->name.len > 0 ? NGX_OK : NGX_ERROR;
}

char *pg_set_sources(ngx_conf_t *cf, ngx_command_t *command, void *conf) {
    ngx_array_t **sources = (ngx_array_t **) ((char *) conf + command->offset);
    if (*sources != NGX_CONF_UNSET_PTR) return "is duplicate";
    *sources = ngx_array_create(cf->pool, cf->args->nelts, sizeof(pg_source));
    if (*sources == NULL) return NGX_CONF_ERROR;
    ngx_str_t *words = cf->args->elts;
    for (ngx_uint_t place = 1; place < cf->args->nelts; place++) {
        pg_source *source = ngx_array_push(*sources);
        if (source == NULL) return NGX_CONF_ERROR;
        if (parse_source(words[place], source) != NGX_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" names no place of tokens: header=NAME, header=NAME:SCHEME, "
                               "cookie=NAME, query=NAME, segment=PREFIX, package=NAME", &words[place]);
            return NGX_CONF_ERROR;
        }
        if (source->kind == PG_PACKAGE && command->offset == offsetof(pg_loc_conf, tokens))
            return "has a package, which is for grants: a media token is no signed URI";
    }
    return (*sources)->nelts > PG_VALUES_LIMIT ? "names more than 16 places" : NGX_CONF_OK;
}

/// The service's own default of `edge.grants`.
ngx_array_t *pg_default_grants(ngx_conf_t *cf) {
    static const pg_source standard[] = {
        {PG_COOKIE, ngx_string("CTA-Common-Access-Token"), ngx_null_string},
        {PG_HEADER, ngx_string("CTA-Common-Access-Token"), ngx_null_string},
        {PG_SEGMENT, ngx_string("~cat="), ngx_null_string},
        {PG_QUERY, ngx_string("cat"), ngx_null_string},
    };
    ngx_array_t *sources = ngx_array_create(cf->pool, 4, sizeof(pg_source));
    void *places = sources == NULL ? NULL : ngx_array_push_n(sources, 4);
    if (places == NULL) return NULL;
    ngx_memcpy(places, standard, sizeof(standard));
    return sources;
}

static ngx_int_t add_name(playgate_slice *names, uint32_t *count, const pg_target_rules *target, ngx_str_t name) {
    for (uint32_t place = 0; place < *count; place++)
        if (pg_same(pg_string(names[place]), name)) return NGX_OK;
    if (target->rules.parameter_count + target->rules.segment_count == PG_RULES_LIMIT) return NGX_ERROR;
    names[(*count)++] = pg_slice(name);
    return NGX_OK;
}

/// True if a prefix of segments may be in a target of letters, digits and `-._/` alone.
static int is_plain(ngx_str_t prefix) {
    for (size_t place = 0; place < prefix.len; place++)
        if (!pg_is_plain(prefix.data[place])) return 0;
    return 1;
}

ngx_int_t pg_add_rules(pg_target_rules *target, ngx_array_t *sources) {
    pg_source *source = sources->elts;
    target->rules.size = sizeof(target->rules);
    target->rules.parameters = target->parameters;
    target->rules.segments = target->segments;
    for (ngx_uint_t place = 0; place < sources->nelts; place++, source++) {
        ngx_int_t added = NGX_OK;
        if (source->kind == PG_QUERY) {
            added = add_name(target->parameters, &target->rules.parameter_count, target, source->name);
        } else if (source->kind == PG_SEGMENT) {
            added = add_name(target->segments, &target->rules.segment_count, target, source->name);
            if (is_plain(source->name)) target->has_plain_segments = 1;
        } else if (source->kind == PG_PACKAGE) {
            ngx_str_t known = pg_string(target->rules.package);
            if (known.len > 0 && !pg_same(known, source->name)) return NGX_ERROR;
            target->rules.package = pg_slice(source->name);
        }
        if (added != NGX_OK) return NGX_ERROR;
    }
    return NGX_OK;
}

static int are_same(const playgate_slice *one, const playgate_slice *other, uint32_t count) {
    for (uint32_t place = 0; place < count; place++)
        if (!pg_same(pg_string(one[place]), pg_string(other[place]))) return 0;
    return 1;
}

int pg_same_rules(const pg_target_rules *one, const pg_target_rules *other) {
    const playgate_target_rules *first = &one->rules, *second = &other->rules;
    return first->parameter_count == second->parameter_count && first->segment_count == second->segment_count
        && pg_same(pg_string(first->package), pg_string(second->package))
        && are_same(one->parameters, other->parameters, first->parameter_count)
        && are_same(one->segments, other->segments, first->segment_count);
}

// MARK: Values

static int is_blank(u_char byte) { return byte == ' ' || byte == '\t'; }

static ngx_str_t trimmed(ngx_str_t text) {
    while (text.len > 0 && is_blank(text.data[0])) text.data++, text.len--;
    while (text.len > 0 && is_blank(text.data[text.len - 1])) text.len--;
    return text;
}

static int has_prefix(ngx_str_t text, ngx_str_t prefix) {
    return text.len >= prefix.len && ngx_memcmp(text.data, prefix.data, prefix.len) == 0;
}

static ngx_str_t after(ngx_str_t text, size_t length) {
    text.data += length;
    text.len -= length;
    return text;
}

static void show(pg_values *values, ngx_str_t value) {
    if (value.len == 0) return;
    for (size_t place = 0; place < values->count; place++)
        if (pg_same(pg_string(values->values[place]), value)) return;
    if (values->count == PG_VALUES_LIMIT) {
        values->overflow = 1;
        return;
    }
    values->values[values->count++] = pg_slice(value);
}

static void show_field(pg_values *values, const pg_source *source, ngx_str_t value) {
    value = trimmed(value);
    size_t length = source->scheme.len;
    if (length == 0) {
        show(values, value);
        return;
    }
    if (value.len <= length || ngx_strncasecmp(value.data, source->scheme.data, length) != 0) return;
    if (value.data[length] == ' ') show(values, trimmed(after(value, length)));
}

static void show_cookies(pg_values *values, ngx_str_t name, ngx_str_t field) {
    u_char *end = field.data + field.len;
    for (u_char *start = field.data; start < end; start++) {
        u_char *mark = memchr(start, ';', (size_t) (end - start));
        if (mark == NULL) mark = end;
        ngx_str_t pair = {(size_t) (mark - start), start};
        pair = trimmed(pair);
        if (pair.len > name.len && has_prefix(pair, name) && pair.data[name.len] == '=') {
            ngx_str_t value = after(pair, name.len + 1);
            if (value.len >= 2 && value.data[0] == '"' && value.data[value.len - 1] == '"')
                value.data++, value.len -= 2;
            show(values, value);
        }
        start = mark;
    }
}

static void show_fields(ngx_http_request_t *r, const pg_source *source, pg_values *values) {
    ngx_str_t cookie = ngx_string("Cookie"), name = source->kind == PG_HEADER ? source->name : cookie;
    for (ngx_list_part_t *part = &r->headers_in.headers.part; part != NULL; part = part->next) {
        ngx_table_elt_t *fields = part->elts;
        for (ngx_uint_t place = 0; place < part->nelts; place++) {
            ngx_table_elt_t *field = &fields[place];
            if (field->key.len != name.len || ngx_strncasecmp(field->key.data, name.data, name.len) != 0) continue;
            if (source->kind == PG_HEADER) show_field(values, source, field->value);
            else show_cookies(values, source->name, field->value);
        }
    }
}

/// The number of the rule by which the library reports values of a source; UINT32_MAX for a source that has none.
static uint32_t rule_of(const pg_source *source, const pg_target_rules *target) {
    const playgate_target_rules *rules = &target->rules;
    if (source->kind == PG_PACKAGE) return rules->parameter_count + rules->segment_count;
    uint32_t count = source->kind == PG_QUERY ? rules->parameter_count : rules->segment_count;
    const playgate_slice *names = source->kind == PG_QUERY ? target->parameters : target->segments;
    for (uint32_t place = 0; place < count; place++) {
        if (!pg_same(pg_string(names[place]), source->name)) continue;
        return source->kind == PG_QUERY ? place : rules->parameter_count + place;
    }
    return UINT32_MAX;
}

void pg_find_values(ngx_http_request_t *r, ngx_array_t *sources, const pg_target_rules *target, const playgate_cut *cut,
                    pg_values *values) {
    pg_source *source = sources->elts;
    values->count = 0;
    values->overflow = 0;
    for (ngx_uint_t place = 0; place < sources->nelts; place++, source++) {
        if (source->kind != PG_HEADER && source->kind != PG_COOKIE) {
            uint32_t rule = rule_of(source, target);
            for (uint32_t found = 0; found < cut->found_count; found++)
                if (cut->found[found].rule == rule) show(values, pg_string(cut->found[found].value));
        }
        // A package may also be in a cookie of its name.
        if (source->kind != PG_QUERY && source->kind != PG_SEGMENT) show_fields(r, source, values);
    }
}
