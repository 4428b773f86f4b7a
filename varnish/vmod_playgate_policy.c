// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The object of VCL: its settings, and its life with the VCL.

#include "vmod_playgate.h"

#include <stdio.h>
#include <vsb.h>

VTAILQ_HEAD(pg_policies, vmod_playgate_policy);

/// The size of the memo's limits, and the most idle connections to the service.
enum { least_memo = 64, most_memo = 1048576, most_idle = 64 };

// MARK: Warm and cold

/// Receives messages of the follower, on its thread.
static void log_message(void *context, int32_t level, const char *message) {
    const struct vmod_playgate_policy *gate = context;
    VSL(level == PLAYGATE_LOG_ERROR ? SLT_Error : SLT_Debug, 0, "playgate: %s: %s", gate->name, message);
    // The first policy is read before there are counters.
    if (gate->counters == NULL) return;
    if (level == PLAYGATE_LOG_ERROR) PG_COUNT(gate, policy_faults);
    else PG_COUNT(gate, policy_loads);
}

static int32_t open_follower(struct vmod_playgate_policy *gate, playgate_error *error) {
    playgate_follower_rules rules = {.size = sizeof(rules), .source = gate->source, .key_file = gate->key, .trust_file = gate->trust};
    rules.log = log_message;
    rules.log_context = gate;
    return playgate_follower_create(&rules, &gate->follower, error);
}

static void *follow(void *argument) {
    const struct vmod_playgate_policy *gate = argument;
    pthread_setname_np(pthread_self(), "playgate-policy");
    if (playgate_follower_run(gate->follower) != PLAYGATE_OK) VSL(SLT_Error, 0, "playgate: %s: no policy is followed", gate->name);
    return NULL;
}

/// The memo's counters are the first four, in its order.
static playgate_memo_counters *memo_counters(struct VSC_playgate *counters) {
    _Static_assert(offsetof(struct VSC_playgate, memo_hits) == offsetof(playgate_memo_counters, hits), "counters in another order");
    _Static_assert(offsetof(struct VSC_playgate, memo_misses) == offsetof(playgate_memo_counters, misses), "counters in another order");
    _Static_assert(offsetof(struct VSC_playgate, memo_stored) == offsetof(playgate_memo_counters, stored), "counters in another order");
    _Static_assert(offsetof(struct VSC_playgate, memo_rejected) == offsetof(playgate_memo_counters, rejected), "counters in another order");
    return (playgate_memo_counters *)(void *)counters;
}

/// Ends what is there of a warm object: a cold VCL keeps no thread, no connection's secret and no memory of answers.
static void cool(struct vmod_playgate_policy *gate) {
    if (gate->is_warm) {
        playgate_follower_stop(gate->follower);
        AZ(pthread_join(gate->thread, NULL));
    }
    gate->is_warm = 0;
    playgate_follower_free(gate->follower);
    gate->follower = NULL;
    pg_memo_free(gate->memo);
    gate->memo = NULL;
    gate->counters = NULL;
    if (gate->segment != NULL) VSC_playgate_Destroy(&gate->segment);
}

/// Returns 0, or 1 with a message for the command that warms the VCL.
static int warm(VRT_CTX, struct vmod_playgate_policy *gate) {
    playgate_error error = {0};
    if (gate->is_warm) return 0;
    // The constructor has read a policy, unless the VCL was cold in between.
    if (gate->follower == NULL && open_follower(gate, &error) != PLAYGATE_OK) {
        VSB_printf(ctx->msg, "playgate: %s: line %u: %s", gate->source, error.line, error.message);
        return 1;
    }
    gate->counters = VSC_playgate_New(NULL, &gate->segment, "%s", gate->name);
    if (gate->memo_entries > 0) gate->memo = pg_memo_create(gate->memo_entries, memo_counters(gate->counters));
    int has_memo = gate->memo != NULL || gate->memo_entries == 0;
    if (has_memo && pthread_create(&gate->thread, NULL, follow, gate) == 0) {
        gate->is_warm = 1;
        return 0;
    }
    cool(gate);
    VSB_cat(ctx->msg, "playgate: there is no memory");
    return 1;
}

/// Ends the list of a VCL's objects, which are gone before it.
static void free_list(VRT_CTX, void *list) {
    (void)ctx;
    free(list);
}

static const struct vmod_priv_methods list_methods[1] = {
    {.magic = VMOD_PRIV_METHODS_MAGIC, .type = "playgate_policies", .fini = free_list},
};

int vmod_pg_event(VRT_CTX, struct vmod_priv *private, enum vcl_event_e event) {
    struct vmod_playgate_policy *gate;
    struct pg_policies *policies = private->priv;
    if (event == VCL_EVENT_LOAD) {
        policies = calloc(1, sizeof(*policies));
        // This is varnishd's child, which forks no more.
        if (policies == NULL || playgate_abi() != PLAYGATE_ABI || playgate_no_more_forks() != PLAYGATE_OK) {
            VSB_cat(ctx->msg, "playgate: libplaygate is of another version, or there is no memory");
            free(policies);
            return 1;
        }
        VTAILQ_INIT(policies);
        private->priv = policies;
        private->methods = list_methods;
        return 0;
    }
    if (policies == NULL) return 0;
    VTAILQ_FOREACH(gate, policies, list) {
        if (event == VCL_EVENT_WARM && warm(ctx, gate) != 0) return 1;
        if (event == VCL_EVENT_COLD) cool(gate);
    }
    return 0;
}

// MARK: Life

static void free_policy(struct vmod_playgate_policy *gate) {
    cool(gate);
    playgate_asker_free(gate->asker);
    for (size_t place = 0; place < gate->place_count; place++) {
        playgate_place_release(gate->places[place].place);
        free(gate->places[place].name);
    }
    free(gate->token_text);
    free(gate->grant_text);
    free(gate->name);
    free(gate->source);
    free(gate->key);
    free(gate->trust);
    free(gate);
}

/// True if a text of VCL is there.
static int has(VCL_STRING text) { return text != NULL && *text != '\0'; }

/// Makes the rules for targets. Returns null, or the fault.
static const char *make_rules(struct vmod_playgate_policy *gate) {
    memset(&gate->target, 0, sizeof(gate->target));
    const char *fault = edge_add_rules(&gate->target, &gate->tokens);
    return fault == NULL ? edge_add_rules(&gate->target, &gate->grants) : fault;
}

/// Sets an object up. Returns null, or the fault, which may be in `error`.
static const char *set_up(struct vmod_playgate_policy *gate, VCL_STRING key, VCL_STRING trust, VCL_STRING ask, VCL_DURATION timeout,
                          VCL_INT memo, playgate_error *error) {
    if (memo != 0 && (memo < least_memo || memo > most_memo)) return "memo must be 0, or a number of answers from 64 to 1048576";
    if (!(timeout >= 0.001 && timeout <= 60)) return "ask_timeout must be a time from 1ms to 60s";
    gate->memo_entries = (size_t)memo;
    if (has(key) && (gate->key = strdup(key)) == NULL) return "there is no memory";
    if (has(trust) && (gate->trust = strdup(trust)) == NULL) return "there is no memory";
    if (has(ask) && playgate_asker_create(ask, (uint32_t)(timeout * 1000 + 0.5), most_idle, &gate->asker) != PLAYGATE_OK)
        return "ask must be the path of a unix socket";
    edge_default_grants(&gate->grants);
    const char *fault = make_rules(gate);
    if (fault != NULL) return fault;
    if (open_follower(gate, error) == PLAYGATE_OK) return NULL;
    return error->message[0] == '\0' ? "there is no memory" : error->message;
}

VCL_VOID vmod_policy__init(VRT_CTX, struct vmod_playgate_policy **created, const char *name, struct vmod_priv *private,
                           VCL_STRING source, VCL_STRING key, VCL_STRING ask, VCL_DURATION timeout, VCL_INT memo,
                           VCL_STRING trust) {
    playgate_error error = {0};
    struct vmod_playgate_policy *gate = calloc(1, sizeof(*gate));
    if (gate == NULL || !has(source) || asprintf(&gate->name, "%s.%s", VCL_Name(ctx->vcl), name) < 0
        || (gate->source = strdup(source)) == NULL) {
        VRT_fail(ctx, "playgate.policy(): %s", has(source) ? "there is no memory" : "there is no source");
        if (gate != NULL) free(gate->name);
        free(gate);
        return;
    }
    gate->magic = PG_POLICY_MAGIC;
    const char *fault = set_up(gate, key, trust, ask, timeout, memo, &error);
    if (fault != NULL) {
        if (error.line > 0) VRT_fail(ctx, "playgate.policy(\"%s\"): line %u, column %u: %s", source, error.line, error.column, fault);
        else VRT_fail(ctx, "playgate.policy(\"%s\"): %s", source, fault);
        free_policy(gate);
        return;
    }
    VTAILQ_INSERT_TAIL((struct pg_policies *)private->priv, gate, list);
    // `fini` has no context to find the list by.
    gate->policies = private->priv;
    *created = gate;
}

VCL_VOID vmod_policy__fini(struct vmod_playgate_policy **freed) {
    struct vmod_playgate_policy *gate = *freed;
    *freed = NULL;
    if (gate == NULL) return;
    VTAILQ_REMOVE(gate->policies, gate, list);
    free_policy(gate);
}

// MARK: Settings

/// True in vcl_init, where alone an object may be changed.
static int may_set(VRT_CTX, const char *method) {
    if (ctx->method == VCL_MET_INIT) return 1;
    VRT_fail(ctx, "playgate: %s() is for vcl_init", method);
    return 0;
}

/// Puts places in the place of those that were named before. Returns null, or the fault; nothing is changed then.
static const char *replace_sources(struct vmod_playgate_policy *gate, VCL_STRING places, int are_grants) {
    edge_sources *sources = are_grants ? &gate->grants : &gate->tokens, fresh = {.count = 0}, old = *sources;
    char **text = are_grants ? &gate->grant_text : &gate->token_text, *own = strdup(places == NULL ? "" : places);
    if (own == NULL) return "has no memory";
    const char *fault = edge_add_sources(&fresh, own, are_grants);
    if (fault == NULL) {
        *sources = fresh;
        if ((fault = make_rules(gate)) == NULL) {
            free(*text);
            *text = own;
            return NULL;
        }
        *sources = old;
        make_rules(gate);
    }
    free(own);
    return fault;
}

static void set_sources(VRT_CTX, struct vmod_playgate_policy *gate, const char *method, VCL_STRING places, int are_grants) {
    if (!may_set(ctx, method)) return;
    const char *fault = replace_sources(gate, places, are_grants);
    if (fault != NULL) VRT_fail(ctx, "playgate: %s(\"%s\") %s", method, places == NULL ? "" : places, fault);
}

VCL_VOID vmod_policy_token(VRT_CTX, struct vmod_playgate_policy *gate, VCL_STRING places) {
    set_sources(ctx, gate, "token", places, 0);
}

VCL_VOID vmod_policy_grant(VRT_CTX, struct vmod_playgate_policy *gate, VCL_STRING places) {
    set_sources(ctx, gate, "grant", places, 1);
}

static int32_t use_of(VCL_ENUM use) {
    if (use == VENUM(within_ttl)) return PLAYGATE_USE_WITHIN_TTL;
    return use == VENUM(grant) ? PLAYGATE_USE_GRANT : PLAYGATE_USE_ONCE;
}

VCL_VOID vmod_policy_place(VRT_CTX, struct vmod_playgate_policy *gate, VCL_STRING name, VCL_STRING media, VCL_STRING resource,
                           VCL_STRING requestor, VCL_ENUM use, VCL_STRING profile) {
    playgate_error error = {0};
    playgate_place_rules rules = {.size = sizeof(rules), .use = has(resource) ? use_of(use) : 0, .media = edge_slice(media)};
    rules.resource = edge_slice(resource);
    rules.requestor = edge_slice(requestor);
    rules.profile = edge_slice(profile);
    if (!may_set(ctx, "place")) return;
    if (!has(name) || gate->place_count == PG_PLACES_LIMIT) {
        VRT_fail(ctx, "playgate: place() needs a name, and there may be at most %d", PG_PLACES_LIMIT);
        return;
    }
    pg_place *place = &gate->places[gate->place_count];
    for (size_t known = 0; known < gate->place_count; known++) {
        if (strcmp(gate->places[known].name, name) != 0) continue;
        VRT_fail(ctx, "playgate: place(\"%s\") is there twice", name);
        return;
    }
    // A service that has not answered yet cannot tell.
    playgate_engine *engine = playgate_follower_engine(gate->follower);
    if (playgate_place_create(&rules, &place->place, &error) != PLAYGATE_OK
        || (engine != NULL && playgate_engine_has_place(engine, place->place, &error) != PLAYGATE_OK) || (place->name = strdup(name)) == NULL) {
        VRT_fail(ctx, "playgate: place(\"%s\"): %s", name, error.message[0] == '\0' ? "there is no memory" : error.message);
        playgate_place_release(place->place);
        place->place = NULL;
        return;
    }
    gate->place_count++;
}
