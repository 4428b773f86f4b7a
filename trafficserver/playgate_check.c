// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The decision about a request.

#include "playgate_plugin.h"

/// Decides by the policy.
static void decide(const pg_rule *rule, const playgate_request *request, playgate_answer *answer) {
    playgate_engine *engine = pg_engine(rule->policy);
    playgate_memo *memo = pg_memo(rule->policy);
    if (engine == NULL) {
        edge_refuse(answer, PLAYGATE_ASK, "ask_policy_stale", 503);
        return;
    }
    if (memo != NULL && playgate_memo_find(memo, rule->place_number, playgate_engine_generation(engine), request, answer)) {
        pg_count(PG_MEMO_HITS);
        return;
    }
    if (memo != NULL) pg_count(PG_MEMO_MISSES);
    int32_t result = playgate_check(engine, rule->place, request, answer);
    if (result == PLAYGATE_OK && memo != NULL) playgate_memo_keep(memo, rule->place_number, request, answer);
}

static void answer_request(TSHttpTxn transaction, const pg_url *client, pg_target *target, pg_facts *facts, pg_ctx *ctx,
                           playgate_answer *answer) {
    const pg_rule *rule = ctx->rule;
    edge_find_values(&rule->tokens, &rule->target, &target->cut, pg_field_values, &facts->fields, &facts->tokens);
    edge_find_values(&rule->grants, &rule->target, &target->cut, pg_field_values, &facts->fields, &facts->grants);
    if (facts->tokens.overflow) {
        edge_refuse(answer, PLAYGATE_REFUSE, "token_conflict", 403);
        return;
    }
    pg_fill_request(transaction, rule, client, target, facts);
    if (pg_memo(rule->policy) == NULL) facts->request.flags |= PLAYGATE_REQUEST_NOT_KEPT;
    decide(rule, &facts->request, answer);
    playgate_slice code = edge_slice(playgate_code_name(answer->code));
    if (rule->asker != NULL && edge_is_asked(answer->outcome, answer->flags, code, rule->place != NULL))
        ctx->question = pg_make_question(transaction, &facts->request, target->whole);
}

/// Removes the header fields in which there are places of tokens.
static void remove_fields(const pg_header *fields, const edge_sources *sources) {
    for (size_t place = 0; place < sources->count; place++) {
        playgate_slice name = edge_field_of(&sources->items[place]);
        if (name.length > 0) pg_remove_field(fields, name);
    }
}

/// Removes tokens from the header and from both URLs, of which the remap line has changed one: that one has the same tokens.
/// Returns 0, or -1 if it has not. `target` is that of the client's, and is used up.
static int strip(const pg_header *fields, const pg_url *client, const pg_url *url, pg_target *target, const pg_rule *rule) {
    uint32_t count = target->cut.found_count;
    remove_fields(fields, &rule->tokens);
    remove_fields(fields, &rule->grants);
    if (count == 0) return 0;
    pg_set_target(client, target->cut.target);
    if (pg_read_target(rule, url, target) != 0 || target->cut.found_count != count) return -1;
    pg_set_target(url, target->cut.target);
    return 0;
}

void pg_check(TSHttpTxn transaction, const pg_header *fields, const pg_url *url, pg_ctx *ctx) {
    char buffer[PLAYGATE_BUFFER_SIZE];
    playgate_answer answer = {.buffer = buffer, .capacity = sizeof(buffer)};
    pg_url client;
    pg_facts facts = {.fields = *fields};
    pg_target target;
    int is_readable = TSHttpTxnPristineUrlGet(transaction, &client.buffer, &client.url) == TS_SUCCESS;
    edge_refuse(&answer, PLAYGATE_REFUSE, is_readable ? "edge_request_invalid" : "internal_failure", is_readable ? 403 : 503);
    if (is_readable && pg_read_target(ctx->rule, &client, &target) == 0) {
        answer_request(transaction, &client, &target, &facts, ctx, &answer);
        is_readable = strip(fields, &client, url, &target, ctx->rule) == 0;
        if (!is_readable) edge_refuse(&answer, PLAYGATE_REFUSE, "internal_failure", 503);
    } else {
        // No log may show what was not read.
        if (is_readable) pg_set_target(&client, edge_slice("/"));
        is_readable = 0;
    }
    if (!is_readable) {
        // Nobody knows what the origin would read, so that this is closed in shadow mode too.
        ctx->is_shadow = 0;
        pg_set_target(url, edge_slice("/"));
        pg_free_question(ctx->question);
        ctx->question = NULL;
    }
    pg_take_answer(ctx, &answer);
}
