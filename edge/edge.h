// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_EDGE_H
#define PLAYGATE_EDGE_H

#include <playgate.h>
#include <playgate_target.h>

#include <stddef.h>
#include <string.h>
#include <strings.h>

/// Parts that the modules of all edges compile into themselves: nginx's, Varnish's, Envoy's, Traffic Server's.
///
///     sources  the places of tokens and grants, and the values in them
///     cut      a request's target without them
///     answer   the decision in terms of HTTP: status, header fields, what caches may keep
///
/// Nothing here allocates, and all texts belong to the caller.

#pragma GCC visibility push(hidden)

/// The longest target, in bytes: more than the service's, which refuses what is longer.
#define EDGE_TARGET_LIMIT 32768
/// The most places of tokens, and of grants, and the most different values that a request may show in them.
#define EDGE_SOURCES_LIMIT 16
/// The most names of parameters and prefixes of segments in all: the library's limit.
#define EDGE_RULES_LIMIT 32
/// The most header fields of one name in which tokens are looked for.
#define EDGE_FIELDS_LIMIT 64

// MARK: Sources

typedef enum { EDGE_HEADER, EDGE_COOKIE, EDGE_QUERY, EDGE_SEGMENT, EDGE_PACKAGE } edge_kind;

/// A place in which a client may show its token, such as `header=Authorization:Bearer`.
typedef struct {
    edge_kind kind;
    playgate_slice name;
    /// The scheme before the token in a header field; empty for none.
    playgate_slice scheme;
} edge_source;

typedef struct {
    edge_source items[EDGE_SOURCES_LIMIT];
    size_t count;
} edge_sources;

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

/// The header fields of a request, as in playgate_request: copies the first values of a name, and returns how many there are.
typedef size_t (*edge_fields)(void *context, playgate_slice name, playgate_slice *values, size_t capacity);

/// Adds a place, by its word. Returns null, or the fault, which follows the word or directive in a sentence.
const char *edge_add_source(edge_sources *sources, playgate_slice word, int are_grants);
/// Adds all places of a text, between blanks. Returns null, or the fault.
const char *edge_add_sources(edge_sources *sources, const char *text, int are_grants);
/// Sets the service's own default of `edge.grants`.
void edge_default_grants(edge_sources *grants);
/// Adds the parameters, segments and packages of places. Returns null, or the fault.
const char *edge_add_rules(edge_rules *rules, const edge_sources *sources);
/// True if both cut the same, and number it in the same way.
int edge_same_rules(const edge_rules *one, const edge_rules *other);
/// Finds the values of a request in `sources`. `rules` are those that the cut was made with.
void edge_find_values(const edge_sources *sources, const edge_rules *rules, const playgate_cut *cut, edge_fields fields, void *context,
                      edge_values *values);
/// The header field in which a source has its place, and a package may be; empty for a place in targets alone.
playgate_slice edge_field_of(const edge_source *source);
/// True if a header field of this name has nothing but a token.
int edge_is_credential(const edge_sources *sources, playgate_slice name);

// MARK: Cut

/// Cuts tokens and grants out of a target. Returns 0, or -1 for one that no request may have.
///
/// buffer, capacity: Memory for what is left, as much as the target has; it is not used if nothing can be cut.
int edge_cut(const edge_rules *rules, playgate_slice target, char *buffer, size_t capacity, playgate_cut *cut);

// MARK: Requests

/// True if `Range` asks for anything but the whole.
int edge_is_partial(edge_fields fields, void *context);
/// The first value of a header field; empty if there is none.
playgate_slice edge_first_value(edge_fields fields, void *context, const char *name);
/// True for the name of a field of the gate, with any of `-`, `_` and `.`, which many origins take for one another.
int edge_is_own_name(playgate_slice name);

// MARK: Answers

/// Makes an answer a refusal by a code of the library, or a question. Its buffer stays.
void edge_refuse(playgate_answer *answer, int32_t outcome, const char *code, int32_t status);
/// True if the service is to be asked.
///
/// code: The name of the answer's code.
/// has_place: 1 if the request was checked with a place.
int edge_is_asked(int32_t outcome, uint32_t flags, playgate_slice code, int has_place);
/// The status of a refusal, as the service states it: 401, 403, 404 or 503.
int edge_status(int32_t status, const char *code);
/// True if a text can be a header field's value. The library and the service write no others.
int edge_is_field_text(playgate_slice text);
/// Percent-encodes a text, but for letters, digits and the bytes in `kept`. Returns its length, or 0 if it has no room.
size_t edge_encode(playgate_slice text, const char *kept, char *buffer, size_t capacity);

/// The longest value that edge_cache_control() writes, with its end.
#define EDGE_CACHE_CONTROL_SIZE 40
/// Writes `Cache-Control` for what is protected: a player may keep it as the origin says, but no shared cache, and no one an error.
///
/// values, count: The origin's fields. All must be there: `count` above EDGE_FIELDS_LIMIT forbids to keep the response.
void edge_cache_control(int status, const playgate_slice *values, size_t count, char text[EDGE_CACHE_CONTROL_SIZE]);

// MARK: Texts

static inline playgate_slice edge_slice(const char *text) {
    playgate_slice slice = {text, text == NULL ? 0 : strlen(text)};
    return slice;
}

static inline int edge_same(playgate_slice one, playgate_slice other) {
    return one.length == other.length && (one.length == 0 || memcmp(one.bytes, other.bytes, one.length) == 0);
}

/// Compares names of header fields, in any case.
static inline int edge_same_name(playgate_slice one, playgate_slice other) {
    return one.length == other.length && (one.length == 0 || strncasecmp(one.bytes, other.bytes, one.length) == 0);
}

static inline playgate_slice edge_after(playgate_slice text, size_t length) {
    playgate_slice rest = {text.bytes + length, text.length - length};
    return rest;
}

static inline int edge_is_blank(char byte) { return byte == ' ' || byte == '\t'; }

static inline playgate_slice edge_trimmed(playgate_slice text) {
    while (text.length > 0 && edge_is_blank(text.bytes[0])) text = edge_after(text, 1);
    while (text.length > 0 && edge_is_blank(text.bytes[text.length - 1])) text.length--;
    return text;
}

/// Letters, digits and `-._/`: targets of them have neither queries nor encoded bytes.
static inline int edge_is_plain(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '-' && byte <= '9') || byte == '_';
}

#pragma GCC visibility pop

#endif
