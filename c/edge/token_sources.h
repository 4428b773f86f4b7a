// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_EDGE_TOKEN_SOURCES_H
#define PLAYGATE_EDGE_TOKEN_SOURCES_H

#include <playgate.h>
#include <playgate_target.h>

/// The sources of tokens and grants in requests, and the values in them. Nothing here allocates, and all texts belong to the caller.

#pragma GCC visibility push(hidden)

/// The most sources of tokens, and of grants, and the most different values that a request may show in them.
#define EDGE_SOURCES_LIMIT 16
/// The most names of parameters and prefixes of segments in all: the library's limit.
#define EDGE_RULES_LIMIT 32
/// The most header fields of one name in which tokens are looked for.
#define EDGE_FIELDS_LIMIT 64

typedef enum { EDGE_HEADER, EDGE_COOKIE, EDGE_QUERY, EDGE_SEGMENT, EDGE_PACKAGE } edge_kind;

/// A source in which a client may show its token, such as `header=Authorization:Bearer`.
typedef struct {
    edge_kind kind;
    playgate_slice name;
    /// The scheme before the token in a header field; empty for none.
    playgate_slice scheme;
} edge_token_source;

typedef struct {
    edge_token_source items[EDGE_SOURCES_LIMIT];
    size_t count;
} edge_token_sources;

/// The parts of targets that are cut out, in the library's form. All zeros to begin with; it may not be moved.
typedef struct {
    playgate_target_rules rules;
    playgate_slice parameters[EDGE_RULES_LIMIT];
    playgate_slice segments[EDGE_RULES_LIMIT];
    /// 1 if a prefix of segments has nothing but letters, digits and `-._/`.
    unsigned has_plain_segments : 1;
} edge_rules;

/// Different values, in the order in which they were found.
typedef struct {
    playgate_slice values[EDGE_SOURCES_LIMIT];
    size_t count;
    /// 1 if there are more.
    unsigned overflow : 1;
} edge_values;

/// Adds a source, by its word. Returns null, or the fault, which follows the word or setting in a sentence.
const char *edge_add_source(edge_token_sources *sources, playgate_slice word, int are_grants);
/// Adds all sources of a text, between blanks. Returns null, or the fault.
const char *edge_add_sources(edge_token_sources *sources, const char *text, int are_grants);
/// Sets the service's own default of `edge.grants`.
void edge_default_grants(edge_token_sources *grants);
/// Adds the parameters, segments and packages of sources. Returns null, or the fault.
const char *edge_add_rules(edge_rules *rules, const edge_token_sources *sources);
/// True if both cut the same, and number it in the same way.
int edge_same_rules(const edge_rules *one, const edge_rules *other);
/// Finds the values of a request in `sources`. `rules` are those that the cut was made with.
void edge_find_values(const edge_token_sources *sources, const edge_rules *rules, const playgate_cut *cut, playgate_header_values fields,
                      void *context, edge_values *values);
/// The header field in which a source is, and a package may be; empty for a source in targets alone.
playgate_slice edge_source_field(const edge_token_source *source);

/// Letters, digits and `-._/`: targets of them have neither queries nor encoded bytes.
static inline int edge_is_plain(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '-' && byte <= '9') || byte == '_';
}

#pragma GCC visibility pop

#endif
