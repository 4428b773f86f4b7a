// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#define _GNU_SOURCE 1

#include "source.h"

#include "playgate_signed.h"

#include "clock.h"
#include "file.h"
#include "wipe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { longest_wait = 55 };

static const char service_prefix[] = "unix:";

// MARK: Messages

static void tell(playgate_source *source, int32_t level, const char *message) {
    if (source->log != NULL) source->log(source->log_context, level, message);
}

// Tells a fault, unless it was the last one too.
static void complain(playgate_source *source, const char *why, const char *more) {
    char text[sizeof source->told];
    snprintf(text, sizeof text, "the policy %.120s stays as it was: %s%s%.120s", source->path, why, *more == '\0' ? "" : ": ", more);
    if (strcmp(text, source->told) == 0) return;
    memcpy(source->told, text, sizeof text);
    tell(source, PLAYGATE_LOG_ERROR, text);
}

static void complain_of(playgate_source *source, const playgate_error *error) {
    char where[320];
    snprintf(where, sizeof where, "%s in line %u, column %u", error->message, error->line, error->column);
    complain(source, "it is invalid", where);
}

// MARK: Documents

static int32_t parse(const playgate_source *source, playgate_slice text, playgate_policy **policy, playgate_error *error) {
    int64_t now = clock_unix();
    if (source->trust == NULL) return playgate_policy_open(text.bytes, text.length, now, policy, error);
    return playgate_policy_open_signed(text.bytes, text.length, source->trust, source->trust_length, now, policy, error);
}

// Keeps a document as the policy that was read, in the place of one that never came into force.
static int32_t read_document(playgate_source *source, playgate_slice text, playgate_error *error) {
    playgate_policy *policy = NULL;
    int32_t result = parse(source, text, &policy, error);
    if (result != PLAYGATE_OK) return result;
    playgate_policy_release(source->policy);
    source->policy = policy;
    return PLAYGATE_OK;
}

int32_t source_enforce(playgate_source *source, playgate_error *error) {
    playgate_engine *engine = atomic_load(&source->engine);
    int32_t result;
    if (engine != NULL) {
        result = playgate_engine_replace(engine, source->policy, error);
    } else {
        result = playgate_engine_create(source->policy, &engine, error);
        if (result == PLAYGATE_OK) atomic_store(&source->engine, engine);
    }
    if (result == PLAYGATE_OK) {
        source->good_for = playgate_policy_good_for(source->policy);
        source->told[0] = '\0';
        tell(source, PLAYGATE_LOG_NOTICE, "the policy was read");
    }
    // The engine has its own reference. What it does not take is not tried again.
    playgate_policy_release(source->policy);
    source->policy = NULL;
    return source->result = result;
}

static int32_t use(playgate_source *source, playgate_slice text, playgate_error *error) {
    source->result = read_document(source, text, error);
    return source->result == PLAYGATE_OK ? source_enforce(source, error) : source->result;
}

// MARK: Files

int32_t source_read(playgate_source *source, playgate_error *error) {
    struct stat facts;
    char *bytes = file_read(source->path, PLAYGATE_POLICY_LIMIT, &facts);
    if (bytes == NULL) {
        snprintf(error->message, sizeof error->message, "the policy cannot be read: %s", strerror(errno));
        return PLAYGATE_E_ARGUMENT;
    }
    int32_t result = read_document(source, (playgate_slice){bytes, (size_t)facts.st_size}, error);
    memory_wipe(bytes, (size_t)facts.st_size);
    free(bytes);
    // A failure that is no fault of the file may be over at the next look.
    if (result != PLAYGATE_E_INTERNAL) source->facts = facts;
    return result;
}

void source_look(playgate_source *source) {
    struct stat facts;
    playgate_error error = {0};
    if (stat(source->path, &facts) != 0) {
        complain(source, "its file cannot be found", strerror(errno));
        return;
    }
    if (file_is_same(&facts, &source->facts)) return;
    int32_t result = source_read(source, &error);
    if (result == PLAYGATE_OK) result = source_enforce(source, &error);
    if (result == PLAYGATE_E_ARGUMENT && error.line == 0) complain(source, error.message, "");
    else if (result != PLAYGATE_OK) complain_of(source, &error);
    if (result == PLAYGATE_E_INTERNAL) memset(&source->facts, 0, sizeof source->facts);
}

// MARK: The service

static uint32_t wait_of(const playgate_source *source) {
    // The policy is confirmed three times within the time for which it is good.
    int64_t seconds = source->good_for / 3000;
    return (uint32_t)(seconds < 1 ? 1 : seconds > longest_wait ? longest_wait : seconds);
}

int64_t source_answer_time(const playgate_source *source) { return 1000 * (int64_t)wait_of(source) + source_patience; }

// The parts have limits, which are together below that of the text.
size_t source_write_request(const playgate_source *source, char text[source_request_limit]) {
    size_t size = source_request_limit, length = 0;
    length += (size_t)snprintf(text, size, "GET /v1/policy");
    if (source->tag[0] != '\0') length += (size_t)snprintf(text + length, size - length, "?wait=%u", wait_of(source));
    length += (size_t)snprintf(text + length, size - length, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    if (source->key[0] != '\0') length += (size_t)snprintf(text + length, size - length, "Authorization: Bearer %s\r\n", source->key);
    if (source->tag[0] != '\0') length += (size_t)snprintf(text + length, size - length, "If-None-Match: %s\r\n", source->tag);
    return length + (size_t)snprintf(text + length, size - length, "\r\n");
}

size_t source_write_report_head(const playgate_source *source, size_t body, char text[source_request_limit]) {
    size_t size = source_request_limit;
    int length = snprintf(text, size,
                          "POST /v1/edge/reports HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/octet-stream\r\n"
                          "Content-Length: %zu\r\n", body);
    if (source->key[0] != '\0') length += snprintf(text + length, size - (size_t)length, "Authorization: Bearer %s\r\n", source->key);
    return (size_t)length + (size_t)snprintf(text + length, size - (size_t)length, "\r\n");
}

static void note_tag(playgate_source *source, playgate_slice tag) {
    source->tag[0] = '\0';
    if (tag.length == 0 || tag.length >= sizeof source->tag) return;
    memcpy(source->tag, tag.bytes, tag.length);
    source->tag[tag.length] = '\0';
}

int64_t source_take(playgate_source *source, int status, playgate_slice body, playgate_slice tag, int64_t sent) {
    playgate_engine *engine = atomic_load(&source->engine);
    playgate_error error = {0};
    char text[16];
    if (status == 304 && engine != NULL && playgate_engine_confirm(engine, sent) == PLAYGATE_OK) {
        source->told[0] = '\0';
        // A service that has too many waiting answers at once.
        return clock_unix() - sent < source_interval ? source_interval : source_soon;
    }
    if (status != 200) {
        snprintf(text, sizeof text, "%d", status);
        complain(source, "the service has answered", text);
        return source_interval;
    }
    if (use(source, body, &error) != PLAYGATE_OK) {
        complain_of(source, &error);
        return source_interval;
    }
    note_tag(source, tag);
    return source_soon;
}

int64_t source_miss(playgate_source *source) {
    complain(source, "the service has not answered", "");
    return source_interval;
}

// MARK: Settings

static int read_key(playgate_source *source, const char *path) {
    struct stat facts;
    char *bytes = file_read(path, 2 * source_key_limit, &facts);
    if (bytes == NULL) return -1;
    size_t length = (size_t)facts.st_size;
    while (length > 0 && (unsigned char)bytes[length - 1] <= ' ') length--;
    int is_key = length > 0 && length <= source_key_limit;
    for (size_t at = 0; at < length; at++) is_key = is_key && bytes[at] > ' ' && bytes[at] <= '~';
    if (is_key) memcpy(source->key, bytes, length);
    memory_wipe(bytes, (size_t)facts.st_size);
    free(bytes);
    return is_key ? 0 : -1;
}

static int read_trust(playgate_source *source, const char *path) {
    struct stat facts;
    source->trust = file_read(path, source_trust_limit, &facts);
    source->trust_length = source->trust == NULL ? 0 : (size_t)facts.st_size;
    return source->trust_length > 0 ? 0 : -1;
}

// Checks the source, and reads the files beside it. Returns null, or the fault.
static const char *read_settings(playgate_source *source, const char *key_file, const char *trust_file) {
    // 104 bytes of path fit into every system's address.
    if (source->path[0] == '\0' || (source->is_service && strlen(source->path) > 103)) return "the source is no path, or too long for a socket";
    if (key_file != NULL && !source->is_service) return "a file needs no key: a key is for unix:PATH";
    if (key_file != NULL && read_key(source, key_file) != 0) return "the file of the key cannot be read, or has none in it";
    if (trust_file != NULL && source->is_service) return "a service needs no keys to trust: they are for a file";
    if (trust_file != NULL && read_trust(source, trust_file) != 0) return "the file of the keys to trust cannot be read, or has none in it";
    return NULL;
}

int32_t source_set_up(playgate_source *source, const playgate_follower_rules *rules, playgate_error *error) {
    size_t prefix = sizeof service_prefix - 1;
    source->log = rules->log;
    source->log_context = rules->log_context;
    source->is_service = strncmp(rules->source, service_prefix, prefix) == 0;
    source->path = strdup(rules->source + (source->is_service ? prefix : 0));
    const char *fault = "there is no memory";
    // Programs that were built before there was a trust_file have no memory for it.
    if (source->path != NULL)
        fault = read_settings(source, rules->key_file, rules->size < PLAYGATE_FOLLOWER_RULES_SIZE_2 ? NULL : rules->trust_file);
    if (fault == NULL) return PLAYGATE_OK;
    snprintf(error->message, sizeof error->message, "%s", fault);
    return source->path == NULL ? PLAYGATE_E_INTERNAL : PLAYGATE_E_ARGUMENT;
}

int32_t source_copy(playgate_source *source, const playgate_source *other) {
    source->path = strdup(other->path);
    if (other->trust != NULL) source->trust = malloc(other->trust_length);
    if (source->path == NULL || (other->trust != NULL && source->trust == NULL)) return PLAYGATE_E_INTERNAL;
    if (other->trust != NULL) memcpy(source->trust, other->trust, other->trust_length);
    source->trust_length = other->trust_length;
    source->is_service = other->is_service;
    memcpy(source->key, other->key, sizeof source->key);
    source->facts = other->facts;
    source->policy = playgate_policy_retain(other->policy);
    return PLAYGATE_OK;
}

void source_clear(playgate_source *source) {
    playgate_policy_release(source->policy);
    memory_wipe(source->key, sizeof source->key);
    free(source->trust);
    free(source->path);
}

// MARK: Sources that are opened before a fork

int32_t playgate_source_open(const playgate_follower_rules *rules, playgate_source **opened, playgate_error *error) {
    playgate_error fault = {0};
    if (error != NULL) *error = fault;
    if (opened == NULL) return PLAYGATE_E_ARGUMENT;
    *opened = NULL;
    if (rules == NULL || rules->size < PLAYGATE_FOLLOWER_RULES_SIZE_1 || rules->source == NULL) return PLAYGATE_E_ARGUMENT;
    playgate_source *source = calloc(1, sizeof *source);
    if (source == NULL) return PLAYGATE_E_INTERNAL;
    int32_t result = source_set_up(source, rules, &fault);
    if (result == PLAYGATE_OK && !source->is_service) result = source_read(source, &fault);
    if (error != NULL) *error = fault;
    if (result == PLAYGATE_OK) *opened = source;
    else playgate_source_close(source);
    return result;
}

playgate_policy *playgate_source_policy(const playgate_source *source) { return source == NULL ? NULL : source->policy; }

void playgate_source_close(playgate_source *source) {
    if (source == NULL) return;
    source_clear(source);
    free(source);
}
