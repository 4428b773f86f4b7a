// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_SOURCE_H
#define PLAYGATE_SOURCE_H

#include "playgate_follow.h"

#include "slice.h"

#include <stdatomic.h>
#include <sys/stat.h>

// The source of a policy as a state machine without sockets, threads and waits: the next request, what a response or a file means, and
// when to look again. follow.c drives it.

enum { source_key_limit = 512, source_trust_limit = 65536, source_tag_limit = 128, source_request_limit = 2048 };
// Milliseconds: between two looks, and before a failed request is made again; between two requests of which the first brought a
// policy; beyond the wait that a request asks for; for the request before there is a policy.
enum { source_interval = 1000, source_soon = 50, source_patience = 10000, source_first_patience = 1000 };

struct playgate_source {
    char *path;
    int is_service;
    char key[source_key_limit + 1];
    // The keys that sign the file; null if it is not signed.
    char *trust;
    size_t trust_length;
    void (*log)(void *context, int32_t level, const char *message);
    void *log_context;
    // The file's policy, until it is in force; null for none.
    playgate_policy *policy;
    // What the file was when it was read.
    struct stat facts;
    // A service's: the tag of the policy, and the time for which that is good.
    char tag[source_tag_limit];
    int64_t good_for;
    _Atomic(playgate_engine *) engine;
    // The last result of taking a document, and the last fault that was told.
    int32_t result;
    char told[320];
};

// Sets a source up, all zeros before, by settings and the files of key and trust. Returns PLAYGATE_OK, _E_ARGUMENT or _E_INTERNAL.
int32_t source_set_up(playgate_source *source, const playgate_follower_rules *rules, playgate_error *error);
// Takes the settings of another source, and its policy. Returns PLAYGATE_OK, or _E_INTERNAL without memory.
int32_t source_copy(playgate_source *source, const playgate_source *other);
// Frees what a source has, but its engine.
void source_clear(playgate_source *source);

// Reads and parses the file. Returns what playgate_policy_open() does, or _E_ARGUMENT for a file that cannot be read.
int32_t source_read(playgate_source *source, playgate_error *error);
// Takes the policy that was read into force. Returns what the functions of the engine do.
int32_t source_enforce(playgate_source *source, playgate_error *error);
// Reads the file again if it is another one, and takes it into force.
void source_look(playgate_source *source);

// Writes the next request to the service. Returns its length.
size_t source_write_request(const playgate_source *source, char text[source_request_limit]);
// Writes the head of a report to the service, whose body has this length. Returns its length.
size_t source_write_report_head(const playgate_source *source, size_t length, char text[source_request_limit]);
// The time within which the service must answer it.
int64_t source_answer_time(const playgate_source *source);
// Takes the service's response to the request that was sent at `sent`. Returns the time until the next request.
int64_t source_take(playgate_source *source, int status, playgate_slice body, playgate_slice tag, int64_t sent);
// Notes that there was no answer. Returns the time until the next request.
int64_t source_miss(playgate_source *source);

#endif
