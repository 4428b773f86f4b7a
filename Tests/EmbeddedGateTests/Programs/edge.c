// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The parts of the servers' modules that need no server, by tables: settings, Cache-Control, names of fields, what is asked.

#include <check.h>
#include <slice.h>

#include <stdio.h>
#include <stdlib.h>

static int failures;

static void expect(int is_met, const char *table, const char *row, const char *found) {
    if (is_met) return;
    failures++;
    printf("%s: %s: %s\n", table, row, found == NULL ? "(none)" : found);
}

// MARK: Cache-Control

static void check_cache_control(void) {
    static const struct { int status; const char *fields[3]; const char *wanted; } rows[] = {
        {200, {NULL}, "private, no-cache"},
        {200, {"max-age=60"}, "private, max-age=60"},
        {200, {"public, s-maxage=600, max-age=7"}, "private, max-age=7"},
        {206, {"max-age=60", "max-age=5"}, "private, max-age=5"},
        {200, {"max-age=5, max-age=60"}, "private, max-age=5"},
        {200, {"no-cache, max-age=60"}, "private, no-cache, max-age=60"},
        {200, {"max-age=60", "no-cache"}, "private, no-cache, max-age=60"},
        {200, {"no-cache=\"Set-Cookie, max-age=9\", max-age=60"}, "private, no-cache, max-age=60"},
        {200, {"MAX-AGE=\"60\", Must-Revalidate"}, "private, max-age=60, must-revalidate"},
        {200, {"max-age=60,immutable, no-transform"}, "private, max-age=60, no-transform, immutable"},
        {200, {"max-age=a"}, "private, no-cache"},
        {200, {"max-age=-1"}, "private, no-cache"},
        {200, {"max-age=60, max-age=x"}, "private, no-cache, max-age=60"},
        {200, {"max-age=60, no-store"}, "no-store"},
        {200, {"max-age=60", ",, NO-STORE ,"}, "no-store"},
        {404, {"max-age=60"}, "no-store"},
        {0, {"max-age=60"}, "no-store"},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        playgate_slice values[3];
        char text[EDGE_CACHE_CONTROL_SIZE], name[128] = "";
        size_t count = 0;
        for (; count < 3 && rows[row].fields[count] != NULL; count++) {
            values[count] = slice_of(rows[row].fields[count]);
            strncat(name, rows[row].fields[count], sizeof(name) - strlen(name) - 1);
        }
        edge_cache_control(rows[row].status, values, count, text);
        expect(strcmp(text, rows[row].wanted) == 0, "Cache-Control", name, text);
    }
}

// MARK: Settings

/// A line or parameter, and the beginning of its fault; null for none.
static void check_settings(void) {
    static const struct { unsigned server; const char *words[5]; const char *fault; } rows[] = {
        {EDGE_NGINX, {"mode", "off"}, NULL},
        {EDGE_ENVOY, {"mode", "off"}, "must be on or shadow"},
        {EDGE_VARNISH, {"mode", "on"}, "is no setting"},
        {EDGE_ENVOY, {"policy", "unix:/a", "key=b"}, NULL},
        {EDGE_ENVOY, {"policy", "unix:/a", "trust=b"}, "must be unix:PATH"},
        {EDGE_NGINX, {"policy", "a", "key=b"}, "must be unix:PATH"},
        {EDGE_NGINX, {"policy", "a", "trust=b"}, NULL},
        {EDGE_NGINX, {"policy", "a", "other=b"}, "must be unix:PATH"},
        {EDGE_ENVOY, {"resource", "media=a"}, NULL},
        {EDGE_ENVOY, {"resource", "media=a", "admits=once"}, "must be media=ID alone"},
        {EDGE_ENVOY, {"resource", "TNT", "requestor=a", "admits=grant"}, NULL},
        {EDGE_ENVOY, {"resource", "TNT", "requestor=a", "requestor=b"}, "may be followed by"},
        {EDGE_ENVOY, {"resource", "TNT"}, "needs requestor=ID"},
        {EDGE_NGINX, {"cache", "off"}, NULL},
        {EDGE_NGINX, {"cache", "off", "entry=512"}, "may be followed by entry"},
        {EDGE_NGINX, {"cache", "64", "entry=16k"}, NULL},
        {EDGE_NGINX, {"cache", "64", "entry=17k"}, "may be followed by entry"},
        {EDGE_NGINX, {"cache", "1048577"}, "must be off"},
        {EDGE_NGINX, {"cache", "99999999999999999999"}, "must be off"},
        {EDGE_ENVOY, {"ask", "gate", "timeout=60001"}, "may be followed by timeout"},
        {EDGE_NGINX, {"ask", "@gate"}, "must be a location"},
        {EDGE_ENVOY, {"set_cookie", "on", "off"}, "must be on or off"},
        {EDGE_NGINX, {"token", "query=a", "cookie=b"}, NULL},
        {EDGE_NGINX, {"token", "package=a"}, "has a package"},
        {EDGE_NGINX, {"query", "drop"}, "is no setting"},
        {EDGE_ENVOY, {"query"}, "needs a value"},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        edge_settings settings;
        size_t count = 0;
        edge_settings_begin(&settings);
        while (count < 5 && rows[row].words[count] != NULL) count++;
        const char *fault = edge_set_line(&settings, rows[row].server, rows[row].words, count), *wanted = rows[row].fault;
        int is_met = wanted == NULL ? fault == NULL : fault != NULL && strncmp(fault, wanted, strlen(wanted)) == 0;
        expect(is_met, "settings", rows[row].words[0], fault);
        if (fault != NULL || count < 2) continue;
        fault = edge_set_line(&settings, rows[row].server, rows[row].words, count);
        expect(fault != NULL && strcmp(fault, "is duplicate") == 0, "twice", rows[row].words[0], fault);
    }
}

/// An inner block has what it does not set from the outer one, and a line as a whole.
static void check_inheritance(void) {
    static const char *const outer_policy[] = {"policy", "unix:/a", "key=b"}, *const inner_policy[] = {"policy", "c"};
    static const char *const outer_resource[] = {"resource", "TNT", "requestor=a"}, *const outer_mode[] = {"mode", "shadow"};
    edge_settings outer, inner;
    edge_settings_begin(&outer);
    edge_settings_begin(&inner);
    edge_set_line(&outer, EDGE_NGINX, outer_policy, 3);
    edge_set_line(&outer, EDGE_NGINX, outer_resource, 3);
    edge_set_line(&outer, EDGE_NGINX, outer_mode, 2);
    edge_set_line(&inner, EDGE_NGINX, inner_policy, 2);
    edge_settings_inherit(&inner, &outer);
    expect(strcmp(inner.policy, "c") == 0 && inner.key == NULL, "inheritance", "policy", inner.key);
    expect(inner.mode == EDGE_SHADOW, "inheritance", "mode", NULL);
    expect(slice_is(inner.demands.resource, slice_of("TNT")) && slice_is(inner.demands.requestor, slice_of("a")), "inheritance", "resource", NULL);
    expect(edge_settings_has(&inner, "resource") && edge_settings_has(&inner, "mode"), "inheritance", "given", NULL);
}

// MARK: Names and sub-requests

static void check_own_names(void) {
    static const struct { const char *name; int is_own; } rows[] = {
        {"X-Playgate-Code", 1}, {"x_playgate_mvpd", 1}, {"X.Playgate.Trace", 1}, {"x!playgate", 1}, {"X-Playgat", 0}, {"XaPlaygate", 0}, {"Range", 0},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        expect(edge_is_own_name(slice_of(rows[row].name)) == rows[row].is_own, "own names", rows[row].name, NULL);
}

static size_t values(void *context, playgate_slice name, playgate_slice *found, size_t capacity) {
    (void)context;
    if (capacity > 0) found[0] = slice_of("value");
    return slice_is_name(name, slice_of("x-secret")) || slice_is_name(name, slice_of("x-token")) || slice_is_name(name, slice_of("range"));
}

/// Fields in which tokens are reach the service, and no others of the client.
static void check_subrequest(void) {
    const playgate_slice token_fields[] = {slice_of("X-Token"), slice_of("Range")};
    playgate_request request = {.size = sizeof(request), .target = slice_of("/a?b"), .method = slice_of("GET"), .header_values = values};
    playgate_subrequest subrequest = {.size = sizeof(subrequest)};
    request.token_fields = token_fields;
    request.token_field_count = 2;
    expect(playgate_subrequest_make(PLAYGATE_ENVOY, &request, &subrequest) == PLAYGATE_OK, "sub-request", "made", NULL);
    expect(subrequest.field_count == 2 && slice_is(subrequest.target, slice_of("/a?b")), "sub-request", "fields", NULL);
    expect(slice_is(subrequest.fields[0].name, slice_of("Range")), "sub-request", "range", NULL);
    expect(slice_is(subrequest.fields[1].name, slice_of("X-Token")), "sub-request", "token", NULL);
    request.target = slice_of("/a\r\nX: y");
    expect(playgate_subrequest_make(PLAYGATE_FORWARD, &request, &subrequest) == PLAYGATE_E_ARGUMENT, "sub-request", "two lines", NULL);
    expect(playgate_subrequest_make(PLAYGATE_ENVOY, &request, &subrequest) == PLAYGATE_E_ARGUMENT, "sub-request", "two lines in the path", NULL);
    expect(subrequest.field_count == 0, "sub-request", "nothing is left", NULL);
}

int main(void) {
    check_cache_control();
    check_settings();
    check_inheritance();
    check_own_names();
    check_subrequest();
    if (failures == 0) printf("all rows hold\n");
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
