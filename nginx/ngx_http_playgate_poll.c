// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "ngx_http_playgate.h"

#include <sys/un.h>

// The policy of a service behind a unix socket: `GET /v1/policy`, which waits until there is another one.

/// The time after which a failed request is made again, and before which an unchanged policy is not asked for again.
#define PG_RETRY 1000
/// The longest wait for a change, in seconds, and the time beyond it in which the service must answer, in milliseconds.
#define PG_LONGEST_WAIT 55
#define PG_PATIENCE 10000
/// The time for the whole answer before a worker's first request, in milliseconds.
#define PG_FIRST_PATIENCE 1000
/// The largest head of a response.
#define PG_HEAD_LIMIT 16384

struct pg_poll {
    pg_policy *policy;
    ngx_connection_t *connection;
    /// The response so far.
    char *bytes;
    size_t length;
    size_t capacity;
    /// The time at which the request was sent.
    int64_t sent;
};

// MARK: Requests

static uint32_t wait_of(const pg_policy *policy) {
    // The policy is confirmed twice within the time for which it is good.
    int64_t seconds = policy->good_for / 3000;
    return (uint32_t) (seconds < 1 ? 1 : seconds > PG_LONGEST_WAIT ? PG_LONGEST_WAIT : seconds);
}

static ngx_int_t send_request(int descriptor, pg_policy *policy) {
    u_char text[2048], *end = text, *limit = text + sizeof(text);
    end = ngx_slprintf(end, limit, "GET /v1/policy");
    if (policy->tag[0] != '\0') end = ngx_slprintf(end, limit, "?wait=%uD", wait_of(policy));
    end = ngx_slprintf(end, limit, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    if (policy->key.len > 0) end = ngx_slprintf(end, limit, "Authorization: Bearer %V\r\n", &policy->key);
    if (policy->tag[0] != '\0') end = ngx_slprintf(end, limit, "If-None-Match: %s\r\n", policy->tag);
    end = ngx_slprintf(end, limit, "\r\n");
    ssize_t length = end - text, sent = end == limit ? -1 : send(descriptor, text, (size_t) length, MSG_NOSIGNAL);
    explicit_bzero(text, sizeof(text));
    return sent == length ? NGX_OK : NGX_ERROR;
}

/// Connects to the service; -1 if it is away.
static int open_socket(const pg_policy *policy, int flags) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    // The configuration has checked its length.
    ngx_memcpy(address.sun_path, policy->path.data + 5, policy->path.len - 5);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (descriptor < 0) return -1;
    // For a blocking socket: also its connect() ends then.
    struct timeval patience = {1, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(descriptor, (struct sockaddr *) &address, sizeof(address)) == 0) return descriptor;
    ngx_err_t failure = ngx_errno;
    close(descriptor);
    ngx_set_errno(failure);
    return -1;
}

// MARK: Responses

static void forget_response(pg_poll *poll) {
    if (poll->bytes != NULL) explicit_bzero(poll->bytes, poll->capacity);
    ngx_free(poll->bytes);
    poll->bytes = NULL;
    poll->length = poll->capacity = 0;
}

/// Makes room for more of the response.
static ngx_int_t grow(pg_poll *poll) {
    size_t capacity = poll->capacity == 0 ? 65536 : 2 * poll->capacity;
    if (poll->length < poll->capacity) return NGX_OK;
    if (poll->capacity > (size_t) PLAYGATE_POLICY_LIMIT + PG_HEAD_LIMIT) return NGX_ERROR;
    char *bytes = ngx_alloc(capacity, ngx_cycle->log);
    if (bytes == NULL) return NGX_ERROR;
    size_t length = poll->length;
    if (length > 0) ngx_memcpy(bytes, poll->bytes, length);
    forget_response(poll);
    poll->bytes = bytes;
    poll->length = length;
    poll->capacity = capacity;
    return NGX_OK;
}

/// A field of the head; empty if there is none. `length` is that of the head.
static ngx_str_t field_of(const pg_poll *poll, size_t length, const char *name) {
    ngx_str_t value = ngx_null_string;
    u_char *line = (u_char *) poll->bytes, *end = line + length;
    size_t count = ngx_strlen(name);
    while ((line = ngx_strlchr(line, end, '\n')) != NULL) {
        line++;
        if ((size_t) (end - line) <= count || ngx_strncasecmp(line, (u_char *) name, count) != 0 || line[count] != ':') continue;
        value.data = line + count + 1;
        while (value.data < end && *value.data == ' ') value.data++;
        u_char *last = ngx_strlchr(value.data, end, '\r');
        value.len = (size_t) ((last == NULL ? end : last) - value.data);
        return value;
    }
    return value;
}

static void note_tag(pg_policy *policy, ngx_str_t tag) {
    policy->tag[0] = '\0';
    if (tag.len == 0 || tag.len >= sizeof(policy->tag)) return;
    ngx_memcpy(policy->tag, tag.data, tag.len);
    policy->tag[tag.len] = '\0';
}

/// Takes a whole response. Returns NGX_OK for a policy, NGX_DECLINED for one that is confirmed, and NGX_ERROR.
static ngx_int_t take_response(pg_poll *poll) {
    pg_policy *policy = poll->policy;
    char *mark = poll->length == 0 ? NULL : memmem(poll->bytes, poll->length, "\r\n\r\n", 4);
    if (mark == NULL || poll->length < 12 || ngx_strncmp(poll->bytes, "HTTP/1.1 ", 9) != 0) return NGX_ERROR;
    size_t head = (size_t) (mark - poll->bytes) + 2, start = head + 2;
    ngx_int_t status = ngx_atoi((u_char *) poll->bytes + 9, 3);
    if (status == NGX_HTTP_NOT_MODIFIED && policy->engine != NULL)
        return playgate_engine_confirm(policy->engine, poll->sent) == PLAYGATE_OK ? NGX_DECLINED : NGX_ERROR;
    ngx_str_t length = field_of(poll, head, "Content-Length");
    off_t size = ngx_atoof(length.data, length.len);
    if (status != NGX_HTTP_OK || size == NGX_ERROR || (size_t) size != poll->length - start) return NGX_ERROR;
    if (pg_use_document(policy, poll->bytes + start, (size_t) size) != NGX_OK) return NGX_DECLINED;
    note_tag(policy, field_of(poll, head, "ETag"));
    return NGX_OK;
}

// MARK: Polling

static void begin(pg_poll *poll);

static void begin_again(ngx_event_t *timer) { begin(((pg_policy *) timer->data)->poll); }

static void wait_before(pg_poll *poll, ngx_msec_t time) {
    ngx_event_t *timer = &poll->policy->timer;
    timer->handler = begin_again;
    timer->data = poll->policy;
    timer->log = ngx_cycle->log;
    timer->cancelable = 1;
    ngx_add_timer(timer, time);
}

static void close_poll(pg_poll *poll) {
    if (poll->connection != NULL) ngx_close_connection(poll->connection);
    poll->connection = NULL;
    forget_response(poll);
}

static void fail(pg_poll *poll, ngx_err_t failure) {
    close_poll(poll);
    pg_complain(poll->policy, failure == 0 ? NGX_EINVAL : failure, "the service has not answered");
    wait_before(poll, PG_RETRY);
}

static void finish(pg_poll *poll) {
    ngx_int_t result = take_response(poll);
    if (result == NGX_ERROR) {
        fail(poll, 0);
        return;
    }
    close_poll(poll);
    poll->policy->logged = 0;
    // A service that has too many waiting answers at once.
    wait_before(poll, result == NGX_DECLINED && pg_now() - poll->sent < PG_RETRY ? PG_RETRY : 50);
}

static void read_some(ngx_event_t *event) {
    ngx_connection_t *connection = event->data;
    pg_poll *poll = connection->data;
    if (event->timedout) {
        fail(poll, NGX_ETIMEDOUT);
        return;
    }
    for (;;) {
        ssize_t count = grow(poll) == NGX_OK
            ? recv(connection->fd, poll->bytes + poll->length, poll->capacity - poll->length, 0) : -2;
        if (count == 0) {
            finish(poll);
            return;
        }
        if (count > 0) {
            poll->length += (size_t) count;
            continue;
        }
        if (count == -1 && ngx_errno == NGX_EINTR) continue;
        if (count == -1 && ngx_errno == NGX_EAGAIN) break;
        fail(poll, count == -2 ? NGX_ENOMEM : ngx_errno);
        return;
    }
    event->ready = 0;
    if (ngx_handle_read_event(event, 0) != NGX_OK) fail(poll, NGX_EINVAL);
}

static void write_nothing(ngx_event_t *event) {}

static void begin(pg_poll *poll) {
    pg_policy *policy = poll->policy;
    int descriptor = open_socket(policy, SOCK_NONBLOCK);
    if (descriptor < 0) {
        fail(poll, ngx_errno);
        return;
    }
    ngx_connection_t *connection = ngx_get_connection(descriptor, ngx_cycle->log);
    if (connection == NULL) {
        close(descriptor);
        fail(poll, NGX_ENOMEM);
        return;
    }
    poll->connection = connection;
    poll->sent = pg_now();
    connection->data = poll;
    connection->log = connection->read->log = connection->write->log = ngx_cycle->log;
    connection->read->handler = read_some;
    connection->write->handler = write_nothing;
    connection->read->cancelable = 1;
    if (send_request(descriptor, policy) != NGX_OK || ngx_handle_read_event(connection->read, 0) != NGX_OK) {
        fail(poll, NGX_EINVAL);
        return;
    }
    ngx_add_timer(connection->read, 1000 * wait_of(policy) + PG_PATIENCE);
}

/// Milliseconds of a clock that goes on while a worker has no events.
static int64_t monotonic(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t) time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/// Asks once, for at most two seconds: the first requests of a worker need a policy.
static void ask_once(pg_poll *poll) {
    int descriptor = open_socket(poll->policy, 0);
    if (descriptor < 0) return;
    poll->sent = pg_now();
    // nginx's own clock stands still while a worker starts.
    int64_t deadline = monotonic() + PG_FIRST_PATIENCE;
    ssize_t count = send_request(descriptor, poll->policy) == NGX_OK ? 1 : -1;
    while (count > 0 && grow(poll) == NGX_OK) {
        // A service that drips bytes holds up no worker.
        if (monotonic() > deadline) {
            count = -1;
            break;
        }
        count = recv(descriptor, poll->bytes + poll->length, poll->capacity - poll->length, 0);
        if (count > 0) poll->length += (size_t) count;
    }
    close(descriptor);
    if (count == 0) take_response(poll);
    forget_response(poll);
}

void pg_start_poll(pg_policy *policy) {
    if (policy->poll == NULL) policy->poll = ngx_calloc(sizeof(pg_poll), ngx_cycle->log);
    if (policy->poll == NULL) return;
    policy->poll->policy = policy;
    ask_once(policy->poll);
    wait_before(policy->poll, policy->engine == NULL ? PG_RETRY : 50);
}

void pg_stop_poll(pg_policy *policy) {
    if (policy->poll == NULL) return;
    close_poll(policy->poll);
    ngx_free(policy->poll);
    policy->poll = NULL;
}
