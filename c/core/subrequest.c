// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "playgate_subrequest.h"

#include "refusal.h"
#include "slice.h"

// The one list of what is asked, the one writer of it, and the one reader of answers.

// MARK: The sub-request

// The path, and the names of the fields that state facts; null for a target that follows the path.
typedef struct dialect {
    const char *path, *target, *method, *scheme, *host, *client, *range;
} dialect;

static const dialect dialects[] = {
    [PLAYGATE_RESOLVED] = {"/v1/check/nginx", "X-Original-URI", "X-Original-Method", "X-Original-Scheme", "X-Original-Host",
                           "X-Original-Client", "X-Original-Range"},
    [PLAYGATE_FORWARD] = {"/v1/check/forward", "X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Proto", "X-Forwarded-Host",
                          "X-Forwarded-For", "Range"},
    [PLAYGATE_ENVOY] = {"/v1/check/envoy", NULL, NULL, "X-Forwarded-Proto", NULL, "X-Envoy-External-Address", "Range"},
};

// The fields of the client that the service reads, as they are looked up, and as they are written: a range has the dialect's own name.
static const struct { const char *name, *written; } passed[] = {
    {"authorization", "Authorization"}, {"cookie", "Cookie"}, {"cta-common-access-token", "CTA-Common-Access-Token"},
    {"dpop", "DPoP"}, {"range", NULL}, {"user-agent", "User-Agent"}, {"x-media-token", "X-Media-Token"},
};

enum { passed_count = sizeof passed / sizeof passed[0], most_values = 16, most_headers = 4096 };

// True if a target is one in a request line too.
static int is_target(playgate_slice target) {
    for (size_t at = 0; at < target.length; at++)
        if ((unsigned char)target.bytes[at] <= 0x20 || target.bytes[at] == 0x7F) return 0;
    return target.length > 0 && target.bytes != NULL;
}

// Adds a field. Returns 0, or -1. A value with a control character would be two fields to the service.
static int add(playgate_subrequest *subrequest, playgate_slice name, playgate_slice value) {
    if (value.length == 0 || value.bytes == NULL) return 0;
    if (subrequest->field_count == PLAYGATE_SUBREQUEST_FIELDS) return -1;
    for (size_t at = 0; at < value.length; at++) {
        unsigned char byte = (unsigned char)value.bytes[at];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7F) return -1;
    }
    subrequest->fields[subrequest->field_count++] = (playgate_header){name, value};
    return 0;
}

static int state(playgate_subrequest *subrequest, const char *name, playgate_slice value) {
    return name == NULL ? 0 : add(subrequest, slice_of(name), value);
}

// The index among the fields that the service always reads; `passed_count` for another one.
static size_t passed_index(playgate_slice name) {
    size_t index = 0;
    while (index < passed_count && !slice_is_name(name, slice_of(passed[index].name))) index++;
    return index;
}

// The name by which the service reads a field of the client; empty if it reads none of this name.
static playgate_slice written_name(const dialect *dialect, const playgate_request *request, playgate_slice name) {
    size_t index = passed_index(name);
    if (index < passed_count) return slice_of(passed[index].written == NULL ? dialect->range : passed[index].written);
    if (request->size < PLAYGATE_REQUEST_SIZE_2) return slice_of(NULL);
    for (size_t at = 0; at < request->token_field_count; at++)
        if (slice_is_name(name, request->token_fields[at])) return request->token_fields[at];
    return slice_of(NULL);
}

// Passes on what a request has as an array, in its order.
static int pass_headers(playgate_subrequest *subrequest, const dialect *dialect, const playgate_request *request) {
    for (size_t at = 0; at < request->header_count; at++) {
        const playgate_header *header = &request->headers[at];
        playgate_slice written = header->name.bytes == NULL ? slice_of(NULL) : written_name(dialect, request, header->name);
        if (written.length > 0 && add(subrequest, written, header->value) != 0) return -1;
    }
    return 0;
}

// Passes on the values of one field that a request has behind a function.
static int pass_values(playgate_subrequest *subrequest, const dialect *dialect, const playgate_request *request, playgate_slice name) {
    playgate_slice values[most_values], written = written_name(dialect, request, name);
    size_t count = request->header_values(request->header_context, name, values, most_values);
    // More than the service would take.
    if (count > most_values) return -1;
    for (size_t at = 0; at < count; at++)
        if (add(subrequest, written, values[at]) != 0) return -1;
    return 0;
}

static int pass_client_fields(playgate_subrequest *subrequest, const dialect *dialect, const playgate_request *request) {
    if (request->headers != NULL) return pass_headers(subrequest, dialect, request);
    if (request->header_values == NULL) return 0;
    for (size_t at = 0; at < passed_count; at++)
        if (pass_values(subrequest, dialect, request, slice_of(passed[at].name)) != 0) return -1;
    if (request->size < PLAYGATE_REQUEST_SIZE_2) return 0;
    for (size_t at = 0; at < request->token_field_count; at++) {
        playgate_slice name = request->token_fields[at];
        if (name.length > 0 && name.bytes != NULL && passed_index(name) == passed_count && pass_values(subrequest, dialect, request, name) != 0) return -1;
    }
    return 0;
}

int32_t playgate_subrequest_make(int32_t which, const playgate_request *request, playgate_subrequest *subrequest) {
    if (subrequest == NULL || subrequest->size < PLAYGATE_SUBREQUEST_SIZE_1) return PLAYGATE_E_ARGUMENT;
    subrequest->field_count = 0;
    subrequest->path = subrequest->target = slice_of(NULL);
    if (which < PLAYGATE_RESOLVED || which > PLAYGATE_ENVOY || request == NULL || request->size < PLAYGATE_REQUEST_SIZE_1)
        return PLAYGATE_E_ARGUMENT;
    if (request->target.bytes == NULL || !is_target(request->target) || request->header_count > most_headers) return PLAYGATE_E_ARGUMENT;
    const dialect *dialect = &dialects[which];
    subrequest->path = slice_of(dialect->path);
    if (dialect->target == NULL) subrequest->target = request->target;
    if (state(subrequest, dialect->target, request->target) != 0 || state(subrequest, dialect->method, request->method) != 0
        || state(subrequest, dialect->scheme, request->scheme) != 0 || state(subrequest, dialect->host, request->host) != 0
        || state(subrequest, dialect->client, request->client) != 0 || state(subrequest, "Traceparent", request->traceparent) != 0
        || (request->size >= sizeof *request && state(subrequest, "X-Original-Observer", request->observer) != 0)
        || pass_client_fields(subrequest, dialect, request) != 0) {
        subrequest->field_count = 0;
        return PLAYGATE_E_ARGUMENT;
    }
    return PLAYGATE_OK;
}

// MARK: The answer

// A response, and the caller's buffer as far as it is used.
typedef struct reading {
    playgate_header_values values;
    void *context;
    playgate_answer *answer;
    size_t used;
} reading;

static playgate_slice field(const reading *reading, const char *name) {
    playgate_slice value = {NULL, 0};
    return reading->values(reading->context, slice_of(name), &value, 1) == 1 ? value : (playgate_slice){NULL, 0};
}

static int hexadecimal(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

// Copies a field's value into the caller's buffer.
static playgate_slice copy(reading *reading, const char *name) {
    playgate_answer *answer = reading->answer;
    playgate_slice from = field(reading, name);
    if (from.length == 0) return slice_of(NULL);
    if (answer->buffer == NULL || from.length > answer->capacity - reading->used) {
        answer->flags |= PLAYGATE_ANSWER_TRUNCATED;
        return slice_of(NULL);
    }
    playgate_slice copied = {answer->buffer + reading->used, from.length};
    memcpy(answer->buffer + reading->used, from.bytes, from.length);
    reading->used += from.length;
    return copied;
}

// Copies a value that the service has percent-encoded, decoded.
static playgate_slice decoded(reading *reading, const char *name) {
    playgate_slice text = copy(reading, name);
    char *end = (char *)(uintptr_t)text.bytes;
    for (size_t at = 0; at < text.length; at++) {
        char byte = text.bytes[at];
        int high = byte == '%' && at + 2 < text.length ? hexadecimal(text.bytes[at + 1]) : -1;
        int low = high >= 0 ? hexadecimal(text.bytes[at + 2]) : -1;
        if (low >= 0) {
            byte = (char)(16 * high + low);
            at += 2;
        }
        *end++ = byte;
    }
    if (text.length > 0) text.length = (size_t)(end - text.bytes);
    return text;
}

static int64_t number(const reading *reading, const char *name) {
    int64_t found = slice_number(field(reading, name), INT64_C(9999999999999999));
    return found < 0 ? 0 : found;
}

int32_t playgate_subrequest_read(int32_t status, playgate_header_values values, void *context, playgate_answer *answer) {
    if (answer == NULL || answer->size < PLAYGATE_ANSWER_SIZE_1) return PLAYGATE_E_ARGUMENT;
    refuse_for_failure(answer);
    if (values == NULL) return PLAYGATE_E_ARGUMENT;
    reading from = {.values = values, .context = context, .answer = answer};
    playgate_slice decision = field(&from, "x-playgate-decision");
    int is_shadow = slice_is(decision, slice_of("shadow"));
    int allows = status == 200 && (is_shadow || slice_is(decision, slice_of("allow")));
    int refuses = (status == 401 || status == 403) && slice_is(decision, slice_of("refuse"));
    int32_t code = playgate_code_number(field(&from, "x-playgate-code"));
    if (code == 0 || (!allows && !refuses)) return PLAYGATE_E_INTERNAL;
    int64_t stated = number(&from, "x-playgate-status");
    answer->outcome = allows ? PLAYGATE_ALLOW : PLAYGATE_REFUSE;
    answer->code = code;
    answer->status = allows ? 200 : stated >= 400 && stated <= 599 ? (int32_t)stated : status;
    if (allows && is_shadow) answer->flags |= PLAYGATE_ANSWER_SHADOW;
    if (field(&from, "cta-common-access-token").length > 0) answer->flags |= PLAYGATE_ANSWER_GRANT_HEADER;
    answer->expires = number(&from, "x-playgate-expires");
    answer->trace = copy(&from, "x-playgate-trace");
    answer->session = copy(&from, "x-playgate-session");
    answer->set_cookie = copy(&from, "x-playgate-set-cookie");
    answer->grant = copy(&from, "x-playgate-grant");
    answer->mvpd = decoded(&from, "x-playgate-mvpd");
    answer->resource = decoded(&from, "x-playgate-resource");
    return PLAYGATE_OK;
}
