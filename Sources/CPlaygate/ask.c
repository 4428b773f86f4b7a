// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#define _GNU_SOURCE 1

#include "playgate_ask.h"

#include "exchange.h"
#include "fork.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

// The request is stated as nginx's page does it, or as those of edges that forward paths as they are: the facts in fields of the
// edge's own, and the client's fields that have tokens.

enum { most_request = 65536, most_body = 65536, most_headers = 4096 };

struct playgate_asker {
    char *path;
    uint32_t timeout, limit, count;
    // The process that may use the connections and the lock.
    uint32_t forks;
    pthread_mutex_t lock;
    // The idle connections, the latest last.
    int idle[];
};

// MARK: Life

int32_t playgate_asker_create(const char *path, uint32_t timeout, uint32_t connections, playgate_asker **asker) {
    if (asker == NULL) return PLAYGATE_E_ARGUMENT;
    *asker = NULL;
    // 104 bytes of path fit into every system's address.
    if (path == NULL || path[0] == '\0' || strlen(path) > 103 || timeout < 1 || timeout > 60000) return PLAYGATE_E_ARGUMENT;
    if (connections < 1 || connections > 1024) return PLAYGATE_E_ARGUMENT;
    playgate_asker *fresh = calloc(1, sizeof *fresh + connections * sizeof(int));
    if (fresh == NULL) return PLAYGATE_E_INTERNAL;
    fresh->path = strdup(path);
    fresh->timeout = timeout;
    fresh->limit = connections;
    fresh->forks = fork_number();
    if (fresh->path == NULL || pthread_mutex_init(&fresh->lock, NULL) != 0) {
        free(fresh->path);
        free(fresh);
        return PLAYGATE_E_INTERNAL;
    }
    *asker = fresh;
    return PLAYGATE_OK;
}

void playgate_asker_free(playgate_asker *asker) {
    if (asker == NULL) return;
    for (uint32_t place = 0; place < asker->count; place++) close(asker->idle[place]);
    if (asker->forks == fork_number()) pthread_mutex_destroy(&asker->lock);
    free(asker->path);
    free(asker);
}

// Returns an idle connection, or -1.
static int take_idle(playgate_asker *asker) {
    pthread_mutex_lock(&asker->lock);
    int descriptor = asker->count == 0 ? -1 : asker->idle[--asker->count];
    pthread_mutex_unlock(&asker->lock);
    return descriptor;
}

static void keep_idle(playgate_asker *asker, int descriptor) {
    pthread_mutex_lock(&asker->lock);
    int is_kept = asker->count < asker->limit;
    if (is_kept) asker->idle[asker->count++] = descriptor;
    pthread_mutex_unlock(&asker->lock);
    if (!is_kept) close(descriptor);
}

// MARK: The request

typedef struct text {
    char *bytes;
    size_t length;
    int failed;
} text;

static void add(text *text, const char *bytes, size_t length) {
    if (text->failed || length > most_request - text->length) {
        text->failed = 1;
        return;
    }
    if (length > 0) memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

// Adds a field. A value with a control character would be two fields to the service.
static void add_field(text *text, const char *name, playgate_slice value) {
    if (value.length == 0 || value.bytes == NULL) return;
    for (size_t place = 0; place < value.length; place++) {
        unsigned char byte = (unsigned char)value.bytes[place];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7F) text->failed = 1;
    }
    add(text, name, strlen(name));
    add(text, ": ", 2);
    add(text, value.bytes, value.length);
    add(text, "\r\n", 2);
}

// The start of a request, and the fields that state its facts.
typedef struct dialect {
    const char *start, *target, *method, *scheme, *host, *client, *range;
} dialect;

static const dialect dialects[] = {
    // Empty and dot segments are resolved, as nginx does it.
    {"GET /v1/check/nginx HTTP/1.1\r\nHost: gate\r\n", "X-Original-URI", "X-Original-Method", "X-Original-Scheme",
     "X-Original-Host", "X-Original-Client", "X-Original-Range"},
    // They are refused.
    {"GET /v1/check/forward HTTP/1.1\r\nHost: gate\r\n", "X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Proto",
     "X-Forwarded-Host", "X-Forwarded-For", "Range"},
};

// The fields of the client that the service reads, with the names that it reads them by: for a range, that of the dialect.
static const struct { const char *name, *stated; } passed[] = {
    {"authorization", "Authorization"}, {"cookie", "Cookie"}, {"cta-common-access-token", "CTA-Common-Access-Token"},
    {"range", NULL}, {"user-agent", "User-Agent"}, {"x-media-token", "X-Media-Token"},
};

static void add_stated(text *text, const dialect *dialect, size_t place, playgate_slice value) {
    add_field(text, passed[place].stated == NULL ? dialect->range : passed[place].stated, value);
}

static void add_passed(text *text, const dialect *dialect, playgate_slice name, playgate_slice value) {
    for (size_t place = 0; place < sizeof passed / sizeof passed[0]; place++)
        if (name.length == strlen(passed[place].name) && strncasecmp(name.bytes, passed[place].name, name.length) == 0)
            add_stated(text, dialect, place, value);
}

static void add_client_fields(text *text, const dialect *dialect, const playgate_request *request) {
    playgate_slice values[16];
    if (request->headers != NULL) {
        for (size_t place = 0; place < request->header_count; place++)
            if (request->headers[place].name.bytes != NULL)
                add_passed(text, dialect, request->headers[place].name, request->headers[place].value);
        return;
    }
    if (request->header_values == NULL) return;
    for (size_t place = 0; place < sizeof passed / sizeof passed[0]; place++) {
        playgate_slice name = {passed[place].name, strlen(passed[place].name)};
        size_t count = request->header_values(request->header_context, name, values, 16);
        // More than the service would take.
        if (count > 16) text->failed = 1;
        for (size_t value = 0; value < count && value < 16; value++) add_stated(text, dialect, place, values[value]);
    }
}

static void write_request(text *text, const playgate_request *request) {
    const dialect *dialect = &dialects[request->flags & PLAYGATE_REQUEST_AS_IS ? 1 : 0];
    add(text, dialect->start, strlen(dialect->start));
    add_field(text, dialect->target, request->target);
    add_field(text, dialect->method, request->method);
    add_field(text, dialect->scheme, request->scheme);
    add_field(text, dialect->host, request->host);
    add_field(text, dialect->client, request->client);
    add_field(text, "Traceparent", request->traceparent);
    add_client_fields(text, dialect, request);
    add(text, "\r\n", 2);
}

// MARK: The answer

static int is(playgate_slice text, const char *word) {
    return text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}

static int hexadecimal(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

// Copies a text into the caller's buffer, decoded if it is percent-encoded. `used` counts the buffer's bytes.
static playgate_slice copy(playgate_answer *answer, size_t *used, playgate_slice from, int is_encoded) {
    playgate_slice none = {NULL, 0};
    if (from.length == 0) return none;
    if (answer->buffer == NULL || from.length > answer->capacity - *used) {
        answer->flags |= PLAYGATE_ANSWER_TRUNCATED;
        return none;
    }
    playgate_slice copied = {answer->buffer + *used, 0};
    for (size_t place = 0; place < from.length; place++) {
        char byte = from.bytes[place];
        if (is_encoded && byte == '%' && place + 2 < from.length) {
            int high = hexadecimal(from.bytes[place + 1]), low = hexadecimal(from.bytes[place + 2]);
            if (high >= 0 && low >= 0) {
                byte = (char)(16 * high + low);
                place += 2;
            }
        }
        answer->buffer[*used + copied.length++] = byte;
    }
    *used += copied.length;
    return copied;
}

static int64_t number_of(playgate_slice text) {
    int64_t number = 0;
    if (text.length > 16) return 0;
    for (size_t place = 0; place < text.length; place++) {
        if (text.bytes[place] < '0' || text.bytes[place] > '9') return 0;
        number = 10 * number + (text.bytes[place] - '0');
    }
    return number;
}

// Makes an answer a refusal without a reason of the service's.
static void refuse(playgate_answer *answer) {
    char *buffer = answer->buffer;
    size_t capacity = answer->capacity;
    static const char code[] = "internal_failure";
    *answer = (playgate_answer){.size = sizeof *answer, .outcome = PLAYGATE_REFUSE, .status = 503, .buffer = buffer, .capacity = capacity};
    answer->code = playgate_code_number((playgate_slice){code, sizeof code - 1});
}

// Takes what the service has said. Returns 0, or -1 if it is not an answer of a gate.
static int take(const exchange_response *response, playgate_answer *answer) {
    playgate_slice decision = exchange_field(response, "X-Playgate-Decision"), code = exchange_field(response, "X-Playgate-Code");
    int allows = response->status == 200 && (is(decision, "allow") || is(decision, "shadow"));
    int refuses = (response->status == 401 || response->status == 403) && is(decision, "refuse");
    int32_t number = playgate_code_number(code);
    if (number == 0 || (!allows && !refuses)) return -1;
    size_t used = 0;
    int64_t status = number_of(exchange_field(response, "X-Playgate-Status"));
    answer->outcome = allows ? PLAYGATE_ALLOW : PLAYGATE_REFUSE;
    answer->code = number;
    answer->status = allows ? 200 : status >= 400 && status <= 599 ? (int32_t)status : response->status;
    if (allows && is(decision, "shadow")) answer->flags |= PLAYGATE_ANSWER_SHADOW;
    if (exchange_field(response, "CTA-Common-Access-Token").length > 0) answer->flags |= PLAYGATE_ANSWER_GRANT_HEADER;
    answer->expires = number_of(exchange_field(response, "X-Playgate-Expires"));
    answer->trace = copy(answer, &used, exchange_field(response, "X-Playgate-Trace"), 0);
    answer->session = copy(answer, &used, exchange_field(response, "X-Playgate-Session"), 0);
    answer->set_cookie = copy(answer, &used, exchange_field(response, "X-Playgate-Set-Cookie"), 0);
    answer->grant = copy(answer, &used, exchange_field(response, "X-Playgate-Grant"), 0);
    answer->mvpd = copy(answer, &used, exchange_field(response, "X-Playgate-MVPD"), 1);
    answer->resource = copy(answer, &used, exchange_field(response, "X-Playgate-Resource"), 1);
    return 0;
}

// MARK: Asking

// Sends a request on a connection, and reads the response.
static int exchange(int descriptor, const text *request, int64_t deadline, exchange_response *response) {
    if (exchange_send(descriptor, request->bytes, request->length, deadline) != 0) return EXCHANGE_CLOSED;
    return exchange_receive(descriptor, -1, deadline, most_body, response);
}

// Asks on an idle connection if there is one, else on a new one. The service may have closed those that are idle.
static int ask(playgate_asker *asker, const text *request, exchange_response *response) {
    int64_t deadline = exchange_clock() + asker->timeout;
    int descriptor = -1, result = EXCHANGE_CLOSED;
    while (result == EXCHANGE_CLOSED && (descriptor = take_idle(asker)) >= 0) {
        result = exchange(descriptor, request, deadline, response);
        if (result != EXCHANGE_WHOLE) close(descriptor);
    }
    if (result == EXCHANGE_CLOSED) {
        descriptor = exchange_connect(asker->path, deadline);
        if (descriptor < 0) return -1;
        result = exchange(descriptor, request, deadline, response);
        if (result != EXCHANGE_WHOLE) close(descriptor);
    }
    if (result != EXCHANGE_WHOLE) return -1;
    if (is(exchange_field(response, "Connection"), "close")) close(descriptor);
    else keep_idle(asker, descriptor);
    return 0;
}

int32_t playgate_ask(playgate_asker *asker, const playgate_request *request, playgate_answer *answer) {
    if (answer == NULL || answer->size < sizeof *answer) return PLAYGATE_E_ARGUMENT;
    refuse(answer);
    if (asker == NULL || request == NULL || request->size < sizeof *request || request->target.length == 0
        || request->header_count > most_headers)
        return PLAYGATE_E_ARGUMENT;
    // A connection that two processes use gives one the answers of the other.
    if (asker->forks != fork_number()) return PLAYGATE_E_FORK;
    text written = {.bytes = malloc(most_request)};
    exchange_response response = {0};
    if (written.bytes == NULL) return PLAYGATE_E_INTERNAL;
    write_request(&written, request);
    int32_t result = written.failed ? PLAYGATE_E_ARGUMENT : PLAYGATE_E_INTERNAL;
    if (!written.failed && ask(asker, &written, &response) == 0 && take(&response, answer) == 0) result = PLAYGATE_OK;
    if (result != PLAYGATE_OK) refuse(answer);
    exchange_wipe(written.bytes, written.length);
    free(written.bytes);
    exchange_forget(&response);
    return result;
}
