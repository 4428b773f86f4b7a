// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The check of a request in a server.

#include "check.h"

#include "clock.h"
#include "refusal.h"

#include <ctype.h>

// MARK: Rules

static void add_token_field(edge_rule *rule, playgate_slice name) {
    for (size_t at = 0; at < rule->token_field_count; at++)
        if (slice_is_name(rule->token_fields[at], name)) return;
    rule->token_fields[rule->token_field_count++] = name;
}

static void add_token_fields(edge_rule *rule, const edge_token_sources *sources) {
    for (size_t at = 0; at < sources->count; at++)
        if (sources->items[at].kind == EDGE_HEADER) add_token_field(rule, sources->items[at].name);
}

const char *edge_rule_make(edge_rule *rule, uint64_t number, playgate_error *error) {
    const char *fault = edge_settings_end(&rule->settings, &rule->cut);
    if (fault != NULL) return fault;
    rule->token_field_count = 0;
    add_token_fields(rule, &rule->settings.tokens);
    add_token_fields(rule, &rule->settings.grants);
    if (rule->location != NULL || !edge_settings_has_location(&rule->settings)) return NULL;
    rule->settings.demands.size = sizeof(rule->settings.demands);
    if (playgate_location_create(&rule->settings.demands, &rule->location, error) != PLAYGATE_OK) return error->message;
    rule->location_number = number;
    return NULL;
}

int edge_rule_check(const edge_rule *rule, playgate_error *error) {
    const playgate_engine *engine = edge_policy_engine(rule->policy);
    if (engine == NULL || rule->location == NULL) return 0;
    return playgate_engine_has_location(engine, rule->location, error) == PLAYGATE_OK ? 0 : -1;
}

void edge_rule_free(edge_rule *rule) {
    playgate_location_release(rule->location);
    rule->location = NULL;
}

static int are_same(const edge_token_sources *one, const edge_token_sources *other) {
    if (one->count != other->count) return 0;
    for (size_t at = 0; at < one->count; at++) {
        const edge_token_source *first = &one->items[at], *second = &other->items[at];
        if (first->kind != second->kind || !slice_is(first->name, second->name) || !slice_is(first->scheme, second->scheme)) return 0;
    }
    return 1;
}

int edge_rule_is_same(const edge_rule *one, const edge_rule *other) {
    return one == other
        || (one->policy == other->policy && one->location == other->location && are_same(&one->settings.tokens, &other->settings.tokens)
            && are_same(&one->settings.grants, &other->settings.grants));
}

// MARK: Facts

playgate_slice edge_first_value(playgate_header_values values, void *context, const char *name) {
    playgate_slice value = {NULL, 0};
    return values(context, slice_of(name), &value, 1) > 0 ? value : (playgate_slice){NULL, 0};
}

int edge_is_own_name(playgate_slice name) {
    static const char own[] = "x-playgate";
    if (name.length < sizeof(own) - 1) return 0;
    // Some origins read every character but letters and digits as `_`.
    for (size_t at = 0; at < sizeof(own) - 1; at++)
        if (own[at] == '-' ? isalnum((unsigned char)name.bytes[at]) : (name.bytes[at] | 0x20) != own[at]) return 0;
    return 1;
}

/// True if `Range` asks for anything but the whole.
static int is_partial(playgate_header_values fields, void *context) {
    playgate_slice values[8];
    size_t count = fields(context, slice_of("range"), values, 8);
    for (size_t at = 0; at < count && at < 8; at++)
        if (values[at].length > 0 && !slice_is_name(values[at], slice_of("bytes=0-"))) return 1;
    return count > 8;
}

/// States the request to the library. Returns 0, or -1 without memory.
static int state(edge_check *check) {
    const edge_server *server = check->server;
    playgate_request *request = &check->request;
    memset(request, 0, sizeof(*request));
    request->size = sizeof(*request);
    request->flags = check->cut.flags | server->flags;
    if (is_partial(server->values, check->context)) request->flags |= PLAYGATE_REQUEST_PARTIAL;
    if (check->rule->policy->answers == NULL) request->flags |= PLAYGATE_REQUEST_NOT_KEPT;
    request->target = check->cut.target;
    request->tokens = check->tokens.values;
    request->token_count = check->tokens.count;
    request->grants = check->grants.values;
    request->grant_count = check->grants.count;
    request->header_values = server->values;
    request->header_context = check->context;
    request->traceparent = edge_first_value(server->values, check->context, "traceparent");
    request->token_fields = check->rule->token_fields;
    request->token_field_count = check->rule->token_field_count;
    if (server->state(check->context, request) != 0) return -1;
    if (request->now == 0) request->now = clock_unix();
    return 0;
}

// MARK: The decision

static void count(const edge_check *check, edge_event event) {
    if (check->server->count != NULL) check->server->count(check->context, event);
}

static void decide(edge_check *check) {
    const edge_rule *rule = check->rule;
    playgate_engine *engine = edge_policy_engine(rule->policy);
    edge_answers *answers = rule->policy->answers;
    if (engine == NULL) {
        refuse(&check->answer, PLAYGATE_ASK, "ask_policy_stale", 503);
        return;
    }
    if (answers != NULL) {
        uint64_t generation = playgate_engine_generation(engine);
        int is_found = edge_answers_find(answers, check->location_number, generation, &check->request, &check->answer);
        count(check, is_found ? EDGE_FOUND : EDGE_MISSED);
        if (is_found) return;
    }
    int32_t result = playgate_check(engine, check->location, &check->request, &check->answer);
    if (result == PLAYGATE_OK && answers != NULL) edge_answers_keep(answers, check->location_number, &check->request, &check->answer);
}

/// Counts a request that was allowed, by its segment. A viewer who is to get a new grant has one that is due.
static void observe(edge_check *check) {
    playgate_observer *observer = check->rule->policy->observer;
    if (observer == NULL || check->answer.outcome != PLAYGATE_ALLOW || check->answer.playback == 0) return;
    // The service counts what is not counted here.
    check->request.observer = playgate_observer_name(observer);
    if (check->is_repeated) return;
    if (playgate_observe(observer, &check->request, &check->answer)) check->answer.flags |= PLAYGATE_ANSWER_RENEWAL_DUE;
}

/// True if the service is to be asked: for what it alone can tell, and to renew a grant if the policy lets no edge do it. It decides by the
/// path, and knows nothing of a location, whose demands only a policy can check.
static int is_asked(const edge_check *check) {
    const playgate_answer *answer = &check->answer;
    if (check->rule->settings.ask == NULL) return 0;
    if (answer->outcome == PLAYGATE_ALLOW) return (answer->flags & PLAYGATE_ANSWER_RENEWAL_DUE) != 0;
    if (answer->outcome != PLAYGATE_ASK) return 0;
    const char *code = playgate_code_name(answer->code);
    return check->location == NULL || code == NULL || strcmp(code, "ask_policy_stale") != 0;
}

/// Without a code, edge_take() makes the answer a failure.
static void begin(edge_check *check) {
    check->answer.size = sizeof(check->answer);
    check->is_asked = check->is_unreadable = 0;
    refuse_without_code(&check->answer);
}

void edge_check_decide(edge_check *check) {
    const edge_rule *rule = check->rule;
    begin(check);
    edge_find_values(&rule->settings.tokens, &rule->cut, &check->cut, check->server->values, check->context, &check->tokens);
    edge_find_values(&rule->settings.grants, &rule->cut, &check->cut, check->server->values, check->context, &check->grants);
    if (check->issued != NULL && check->grants.count < EDGE_SOURCES_LIMIT) check->grants.values[check->grants.count++] = slice_of(check->issued);
    if (state(check) != 0) {
        check->is_unreadable = 1;
        return;
    }
    if (check->tokens.overflow) refuse(&check->answer, PLAYGATE_REFUSE, "token_conflict", 403);
    else decide(check);
    observe(check);
    check->is_asked = is_asked(check);
}

void edge_check_run(edge_check *check, char *memory, size_t size) {
    if (edge_cut(&check->rule->cut, check->target, memory, size, &check->cut) == 0) {
        edge_check_decide(check);
        return;
    }
    begin(check);
    check->is_unreadable = 1;
    refuse(&check->answer, PLAYGATE_REFUSE, "edge_request_invalid", 403);
}

// MARK: The service

void edge_check_ask(edge_check *check, playgate_asker *asker, char *spare) {
    playgate_subrequest subrequest = {.size = sizeof(subrequest)};
    playgate_answer asked = {.size = sizeof(asked), .buffer = spare, .capacity = spare == NULL ? 0 : PLAYGATE_BUFFER_SIZE};
    count(check, EDGE_ASKED);
    if (spare != NULL && edge_check_subrequest(check, &subrequest) == 0 && playgate_ask_subrequest(asker, &subrequest, &asked) == PLAYGATE_OK)
        check->answer = asked;
    else
        count(check, EDGE_ASK_FAILED);
}

int edge_check_subrequest(const edge_check *check, playgate_subrequest *subrequest) {
    playgate_request request = check->request;
    // With its tokens: the service finds them by itself.
    request.target = check->target;
    return playgate_subrequest_make(check->server->dialect, &request, subrequest) == PLAYGATE_OK ? 0 : -1;
}

// MARK: Outcomes

static void remove_fields(const edge_check *check, const edge_token_sources *sources, int with_cookies) {
    for (size_t at = 0; at < sources->count; at++) {
        playgate_slice name = edge_source_field(&sources->items[at]);
        if (name.length > 0 && (with_cookies || sources->items[at].kind == EDGE_HEADER)) check->server->remove_field(check->context, name);
    }
}

void edge_check_remove_fields(const edge_check *check, int with_cookies) {
    remove_fields(check, &check->rule->settings.tokens, with_cookies);
    remove_fields(check, &check->rule->settings.grants, with_cookies);
}

int edge_check_take(const edge_check *check, edge_outcome *outcome) {
    outcome->is_unreadable = check->is_unreadable;
    return edge_take(outcome, &check->answer, check->server->allocate, check->context);
}
