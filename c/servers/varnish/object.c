// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The object of VCL: its settings, and its life with the VCL.

#include "vmod_playgate.h"

#include <slice.h>

#include <stdio.h>
#include <stdlib.h>
#include <vsb.h>

VTAILQ_HEAD(pgv_policies, vmod_playgate_policy);

/// The most idle connections to the service.
enum { most_idle = 64 };

// MARK: Warm and cold

/// Receives messages of the follower, on its thread.
static void log_message(void *context, int32_t level, const char *message) {
    const struct vmod_playgate_policy *gate = context;
    VSL(level == PLAYGATE_LOG_ERROR ? SLT_Error : SLT_Debug, 0, "playgate: %s: %s", gate->name, message);
    if (level == PLAYGATE_LOG_ERROR) PGV_COUNT(gate, policy_faults);
    else PGV_COUNT(gate, policy_loads);
}

static playgate_follower_rules follower_rules(struct vmod_playgate_policy *gate) {
    return (playgate_follower_rules){
        .size = sizeof(playgate_follower_rules), .source = gate->texts[PGV_SOURCE], .key_file = gate->texts[PGV_KEY],
        .trust_file = gate->texts[PGV_TRUST], .log = log_message, .log_context = gate,
    };
}

/// The cache's counters are the first four, in its order.
static playgate_answer_cache_counters *cache_counters(struct VSC_playgate *counters) {
    _Static_assert(offsetof(struct VSC_playgate, cache_hits) == offsetof(playgate_answer_cache_counters, hits), "counters in another order");
    _Static_assert(offsetof(struct VSC_playgate, cache_misses) == offsetof(playgate_answer_cache_counters, misses), "counters in another order");
    _Static_assert(offsetof(struct VSC_playgate, cache_stored) == offsetof(playgate_answer_cache_counters, stored), "counters in another order");
    _Static_assert(offsetof(struct VSC_playgate, cache_rejected) == offsetof(playgate_answer_cache_counters, rejected), "counters in another order");
    return (playgate_answer_cache_counters *)(void *)counters;
}

static void forget_source(struct vmod_playgate_policy *gate) {
    playgate_source_close(gate->source);
    gate->source = NULL;
}

/// Ends what is there of a warm object: a cold VCL keeps no policy, no thread, no connection's secret and no answer cache.
static void cool(struct vmod_playgate_policy *gate) {
    gate->is_warm = 0;
    edge_policy_stop(&gate->policy);
    forget_source(gate);
    gate->counters = NULL;
    if (gate->segment != NULL) VSC_playgate_Destroy(&gate->segment);
}

/// Checks that the policy has what all locations name. Returns 0, or -1 with the fault. A service that has not answered yet cannot tell.
static int check_locations(const struct vmod_playgate_policy *gate, playgate_error *error) {
    const playgate_engine *engine = edge_policy_engine(&gate->policy);
    for (size_t at = 0; engine != NULL && at < gate->location_count; at++)
        if (playgate_engine_has_location(engine, gate->locations[at].location, error) != PLAYGATE_OK) return -1;
    return 0;
}

/// Reads the policy anew, since a VCL may have been cold for days, and follows it. Returns 0, or 1 with a message for the command that warms
/// the VCL.
static int warm(VRT_CTX, struct vmod_playgate_policy *gate) {
    playgate_error error = {0};
    playgate_follower_rules rules = follower_rules(gate);
    if (gate->is_warm) return 0;
    gate->counters = VSC_playgate_New(NULL, &gate->segment, "%s", gate->name);
    int failed = edge_policy_open(&gate->policy, &rules, &error) != PLAYGATE_OK || check_locations(gate, &error) != 0;
    if (!failed) {
        const edge_settings *settings = &gate->rule.settings;
        failed = edge_policy_start(&gate->policy, settings->answers, settings->answer_size, 1, cache_counters(gate->counters)) != 0;
        if (failed) snprintf(error.message, sizeof(error.message), "there is no memory");
    }
    if (failed) {
        VSB_printf(ctx->msg, "playgate: %s: line %u: %s", gate->texts[PGV_SOURCE], error.line, error.message);
        cool(gate);
        return 1;
    }
    forget_source(gate);
    gate->is_warm = 1;
    return 0;
}

/// Ends the list of a VCL's objects, which are gone before it.
static void free_list(VRT_CTX, void *list) {
    (void)ctx;
    free(list);
}

static const struct vmod_priv_methods list_methods[1] = {
    {.magic = VMOD_PRIV_METHODS_MAGIC, .type = "playgate_policies", .fini = free_list},
};

int vmod_pgv_event(VRT_CTX, struct vmod_priv *private, enum vcl_event_e event) {
    struct vmod_playgate_policy *gate;
    struct pgv_policies *policies = private->priv;
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
    int failed = 0;
    VTAILQ_FOREACH(gate, policies, list)
        if (event == VCL_EVENT_WARM && !failed) failed = warm(ctx, gate);
    // The VCL stays cold, with all of its objects.
    VTAILQ_FOREACH(gate, policies, list)
        if (event == VCL_EVENT_COLD || failed) cool(gate);
    return failed;
}

// MARK: Life

static void free_policy(struct vmod_playgate_policy *gate) {
    cool(gate);
    playgate_asker_free(gate->asker);
    for (size_t at = 0; at < gate->location_count; at++) {
        playgate_location_release(gate->locations[at].location);
        free(gate->locations[at].name);
    }
    edge_rule_free(&gate->rule);
    for (size_t text = 0; text < PGV_TEXTS; text++) free(gate->texts[text]);
    free(gate->name);
    free(gate);
}

/// True if a text of VCL is there.
static int has(VCL_STRING text) { return text != NULL && *text != '\0'; }

/// Sets a parameter by a copy of its text. Returns 0, or -1 with the fault.
static int set(struct vmod_playgate_policy *gate, int text, const char *name, const char *value, playgate_error *error) {
    const char *fault = "has no memory";
    if (!has(value)) return 0;
    gate->texts[text] = strdup(value);
    if (gate->texts[text] != NULL) fault = edge_set(&gate->rule.settings, EDGE_VARNISH, slice_of(name), gate->texts[text]);
    if (fault != NULL) snprintf(error->message, sizeof(error->message), "%s %s", name, fault);
    return fault == NULL ? 0 : -1;
}

static int set_number(struct vmod_playgate_policy *gate, const char *name, long value, playgate_error *error) {
    char text[32];
    snprintf(text, sizeof(text), "%ld", value);
    const char *fault = edge_set(&gate->rule.settings, EDGE_VARNISH, slice_of(name), text);
    if (fault != NULL) snprintf(error->message, sizeof(error->message), "%s %s", name, fault);
    return fault == NULL ? 0 : -1;
}

static int make_asker(struct vmod_playgate_policy *gate, playgate_error *error) {
    const edge_settings *settings = &gate->rule.settings;
    if (settings->ask == NULL || playgate_asker_create(settings->ask, settings->ask_timeout, most_idle, &gate->asker) == PLAYGATE_OK) return 0;
    snprintf(error->message, sizeof(error->message), "ask must be the path of a unix socket");
    return -1;
}

/// Makes the rule of the settings. Returns 0, or -1 with the fault.
static int make_rule(struct vmod_playgate_policy *gate, playgate_error *error) {
    const char *fault = edge_rule_make(&gate->rule, 0, error);
    if (fault != NULL && fault != error->message) snprintf(error->message, sizeof(error->message), "%s", fault);
    return fault == NULL ? 0 : -1;
}

/// Opens the source, to have it checked though the VCL may stay cold. Returns 0, or -1 with the fault.
static int open_source(struct vmod_playgate_policy *gate, playgate_error *error) {
    playgate_follower_rules rules = follower_rules(gate);
    if (playgate_source_open(&rules, &gate->source, error) == PLAYGATE_OK) return 0;
    if (error->message[0] == '\0') snprintf(error->message, sizeof(error->message), "there is no memory");
    return -1;
}

VCL_VOID vmod_policy__init(VRT_CTX, struct vmod_playgate_policy **created, const char *name, struct vmod_priv *private,
                           VCL_STRING source, VCL_STRING key, VCL_STRING ask, VCL_DURATION timeout, VCL_INT cache,
                           VCL_STRING trust) {
    playgate_error error = {0};
    struct vmod_playgate_policy *gate = calloc(1, sizeof(*gate));
    if (gate == NULL || !has(source) || asprintf(&gate->name, "%s.%s", VCL_Name(ctx->vcl), name) < 0) {
        VRT_fail(ctx, "playgate.policy(): %s", has(source) ? "there is no memory" : "there is no source");
        free(gate);
        return;
    }
    gate->magic = PGV_POLICY_MAGIC;
    gate->rule.policy = &gate->policy;
    edge_settings_begin(&gate->rule.settings);
    // What is no time of at most a minute is no number either.
    long milliseconds = timeout >= 0 && timeout <= 61 ? (long)(timeout * 1000 + 0.5) : 0;
    if (set(gate, PGV_SOURCE, "policy", source, &error) != 0 || set(gate, PGV_KEY, "key", key, &error) != 0
        || set(gate, PGV_TRUST, "trust", trust, &error) != 0 || set(gate, PGV_ASK, "ask", ask, &error) != 0
        || set_number(gate, "ask_timeout", milliseconds, &error) != 0 || set_number(gate, "cache", cache, &error) != 0
        || make_asker(gate, &error) != 0 || make_rule(gate, &error) != 0 || open_source(gate, &error) != 0) {
        if (error.line > 0) VRT_fail(ctx, "playgate.policy(\"%s\"): line %u, column %u: %s", source, error.line, error.column, error.message);
        else VRT_fail(ctx, "playgate.policy(\"%s\"): %s", source, error.message);
        free_policy(gate);
        return;
    }
    VTAILQ_INSERT_TAIL((struct pgv_policies *)private->priv, gate, list);
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

// MARK: Sources and locations

/// True in vcl_init, where alone an object may be changed.
static int may_set(VRT_CTX, const char *method) {
    if (ctx->method == VCL_MET_INIT) return 1;
    VRT_fail(ctx, "playgate: %s() is for vcl_init", method);
    return 0;
}

/// Puts sources in place of those that were named before.
static void set_sources(VRT_CTX, struct vmod_playgate_policy *gate, const char *method, VCL_STRING sources, int are_grants) {
    playgate_error error = {0};
    if (!may_set(ctx, method)) return;
    char *own = strdup(sources == NULL ? "" : sources), **text = &gate->texts[are_grants ? PGV_GRANTS : PGV_TOKENS];
    const char *fault = own == NULL ? "has no memory" : edge_set_sources(&gate->rule.settings, own, are_grants);
    if (fault != NULL) {
        free(own);
        VRT_fail(ctx, "playgate: %s(\"%s\") %s", method, sources == NULL ? "" : sources, fault);
        return;
    }
    free(*text);
    *text = own;
    // A fault ends the load of the VCL.
    if (make_rule(gate, &error) != 0) VRT_fail(ctx, "playgate: %s(\"%s\") %s", method, own, error.message);
}

VCL_VOID vmod_policy_token(VRT_CTX, struct vmod_playgate_policy *gate, VCL_STRING sources) { set_sources(ctx, gate, "token", sources, 0); }

VCL_VOID vmod_policy_grant(VRT_CTX, struct vmod_playgate_policy *gate, VCL_STRING sources) { set_sources(ctx, gate, "grant", sources, 1); }

static int32_t use_of(VCL_ENUM use) {
    if (use == VENUM(ttl)) return PLAYGATE_USE_WITHIN_TTL;
    return use == VENUM(grant) ? PLAYGATE_USE_GRANT : PLAYGATE_USE_ONCE;
}

/// True if the policy has what a location names, as far as that is known. A service is asked when the VCL becomes warm.
static int is_known(const struct vmod_playgate_policy *gate, const playgate_location_rules *rules, playgate_error *error) {
    const playgate_policy *policy = playgate_source_policy(gate->source);
    const char *kind = NULL, *name = NULL;
    if (policy == NULL) return 1;
    if (rules->media.length > 0 && !playgate_policy_has_media(policy, rules->media)) kind = "media", name = rules->media.bytes;
    if (rules->profile.length > 0 && !playgate_policy_has_profile(policy, rules->profile)) kind = "profile", name = rules->profile.bytes;
    if (kind != NULL) snprintf(error->message, sizeof(error->message), "the policy has no %s %s", kind, name);
    return kind == NULL;
}

VCL_VOID vmod_policy_location(VRT_CTX, struct vmod_playgate_policy *gate, VCL_STRING name, VCL_STRING media, VCL_STRING resource,
                           VCL_STRING requestor, VCL_ENUM use, VCL_STRING profile) {
    playgate_error error = {0};
    playgate_location_rules rules = {.size = sizeof(rules), .use = has(resource) ? use_of(use) : 0, .media = slice_of(media)};
    rules.resource = slice_of(resource);
    rules.requestor = slice_of(requestor);
    rules.profile = slice_of(profile);
    if (!may_set(ctx, "location")) return;
    if (!has(name) || gate->location_count == PGV_LOCATIONS_LIMIT) {
        VRT_fail(ctx, "playgate: location() needs a name, and there may be at most %d", PGV_LOCATIONS_LIMIT);
        return;
    }
    for (size_t known = 0; known < gate->location_count; known++) {
        if (strcmp(gate->locations[known].name, name) != 0) continue;
        VRT_fail(ctx, "playgate: location(\"%s\") is there twice", name);
        return;
    }
    pgv_location *location = &gate->locations[gate->location_count];
    if (playgate_location_create(&rules, &location->location, &error) != PLAYGATE_OK || !is_known(gate, &rules, &error)
        || (location->name = strdup(name)) == NULL) {
        VRT_fail(ctx, "playgate: location(\"%s\"): %s", name, error.message[0] == '\0' ? "there is no memory" : error.message);
        playgate_location_release(location->location);
        location->location = NULL;
        return;
    }
    gate->location_count++;
}
