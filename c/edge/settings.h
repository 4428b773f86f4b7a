// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_EDGE_SETTINGS_H
#define PLAYGATE_EDGE_SETTINGS_H

#include "token_sources.h"

/// What an operator sets, in all servers by one table: settings.c says which name is for which server.

#pragma GCC visibility push(hidden)

/// The servers in which a setting may stand.
enum { EDGE_NGINX = 1, EDGE_VARNISH = 2, EDGE_ENVOY = 4, EDGE_TRAFFIC_SERVER = 8 };

typedef enum { EDGE_ON, EDGE_SHADOW, EDGE_OFF } edge_mode;

/// Values of settings. All texts are the caller's, terminated, and must live as long. Null for what was not set.
typedef struct edge_settings {
    /// A bit for each row of the table that was set.
    uint64_t given;
    /// An edge_mode.
    int mode;
    /// `unix:PATH`, or the path of a file.
    const char *policy;
    /// The file of the key for the service.
    const char *key;
    /// The file of the keys that sign a policy.
    const char *trust;
    edge_token_sources tokens;
    edge_token_sources grants;
    /// The demands of a location, if there are any. `size` is 0 until playgate_location_create() needs it.
    playgate_location_rules demands;
    /// Whom to ask: a socket, cluster or location.
    const char *ask;
    /// In milliseconds.
    uint32_t ask_timeout;
    /// The answers that are remembered, 0 for none, and the size of each.
    size_t answers;
    size_t answer_size;
    /// The scheme of clients' requests; null for that of their connections.
    const char *scheme;
    /// 1 if new grants go to the player; if no shared cache may keep responses; if the origin gets no query; if OPTIONS is answered.
    int sets_cookie;
    int is_private;
    int drops_query;
    int answers_options;
} edge_settings;

/// Sets what is usual.
void edge_settings_begin(edge_settings *settings);
/// Sets a parameter `NAME=VALUE`. Returns null, or the fault, which follows the name in a sentence.
const char *edge_set(edge_settings *settings, unsigned server, playgate_slice name, const char *value);
/// Sets a line `NAME VALUE…`, in which further settings follow as `NAME=VALUE`. Returns null, or the fault, which follows the first word in
/// a sentence.
const char *edge_set_line(edge_settings *settings, unsigned server, const char *const *words, size_t count);
/// Puts the sources of a text, between blanks, in place of those of tokens, or of grants. Returns null, or the fault; nothing is changed
/// then.
const char *edge_set_sources(edge_settings *settings, const char *text, int are_grants);
/// Takes the lines that are not set from those of an outer block.
void edge_settings_inherit(edge_settings *settings, const edge_settings *outer);
/// True if a line of this name was set.
int edge_settings_has(const edge_settings *settings, const char *name);
/// Checks what the settings say together, sets the usual sources of grants if none were named, and makes the rules for targets. Returns
/// null, or the fault.
const char *edge_settings_end(edge_settings *settings, edge_rules *rules);
/// True if a location is to be made of the demands.
static inline int edge_settings_has_location(const edge_settings *settings) {
    const playgate_location_rules *demands = &settings->demands;
    return demands->media.length > 0 || demands->resource.length > 0 || demands->profile.length > 0;
}

#pragma GCC visibility pop

#endif
