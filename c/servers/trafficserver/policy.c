// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The policies, which all remap lines share.

#include "playgate_trafficserver.h"

#include <slice.h>

#include <stdlib.h>

struct pgt_policy {
    /// The first member: its thread gives it back at its end.
    edge_policy followed;
    pgt_policy *next;
    char *source;
    /// The files of the key, and of the keys that sign the policy; null for none.
    char *key;
    char *trust;
    size_t answers;
    /// The remap lines with this policy, those of a configuration that is being replaced too.
    size_t users;
};

/// All policies, which only the loading and the end of a configuration look at.
static pgt_policy *policies;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

edge_policy *pgt_followed(pgt_policy *policy) { return &policy->followed; }

static void log_message(void *context, int32_t level, const char *message) {
    const pgt_policy *policy = context;
    if (level == PLAYGATE_LOG_ERROR) TSError("[playgate] %s", message);
    else TSNote("[playgate] %s: %s", policy->source, message);
}

static void free_policy(edge_policy *followed) {
    pgt_policy *policy = (pgt_policy *)(void *)followed;
    edge_policy_clear(followed);
    free(policy->source);
    free(policy->key);
    free(policy->trust);
    free(policy);
}

/// Compares texts that may be null: no setting is an empty one.
static int is_same(const char *one, const char *other) { return slice_is(slice_of(one), slice_of(other)); }

static int is_of(const pgt_policy *policy, const edge_settings *settings) {
    return is_same(policy->source, settings->policy) && is_same(policy->key, settings->key) && is_same(policy->trust, settings->trust)
        && policy->answers == settings->answers;
}

/// Copies a text that may be null. Returns 0, or -1 without memory.
static int copy(char **to, const char *text) {
    *to = text == NULL ? NULL : strdup(text);
    return text != NULL && *to == NULL ? -1 : 0;
}

static int start(pgt_policy *policy, const edge_settings *settings, playgate_error *error) {
    if (copy(&policy->source, settings->policy) != 0 || copy(&policy->key, settings->key) != 0 || copy(&policy->trust, settings->trust) != 0)
        return -1;
    playgate_follower_rules rules = {
        .size = sizeof(rules), .source = policy->source, .key_file = policy->key, .trust_file = policy->trust, .log = log_message,
    };
    rules.log_context = policy;
    policy->answers = settings->answers;
    if (edge_policy_open(&policy->followed, &rules, error) != PLAYGATE_OK) return -1;
    return edge_policy_start(&policy->followed, settings->answers, settings->answer_size, 1, NULL);
}

static pgt_policy *make(const edge_settings *settings, playgate_error *error) {
    pgt_policy *policy = calloc(1, sizeof(*policy));
    if (policy == NULL) return NULL;
    policy->followed.ended = free_policy;
    policy->users = 1;
    if (start(policy, settings, error) == 0) return policy;
    free_policy(&policy->followed);
    return NULL;
}

pgt_policy *pgt_open_policy(const edge_settings *settings, playgate_error *error) {
    pthread_mutex_lock(&lock);
    pgt_policy *policy = policies;
    while (policy != NULL && !is_of(policy, settings)) policy = policy->next;
    if (policy != NULL) {
        policy->users++;
    } else if ((policy = make(settings, error)) != NULL) {
        policy->next = policies;
        policies = policy;
    }
    pthread_mutex_unlock(&lock);
    return policy;
}

void pgt_close_policy(pgt_policy *policy) {
    if (policy == NULL) return;
    pthread_mutex_lock(&lock);
    int is_last = --policy->users == 0;
    pgt_policy **link = &policies;
    while (is_last && *link != policy) link = &(*link)->next;
    if (is_last) *link = policy->next;
    pthread_mutex_unlock(&lock);
    if (is_last) edge_policy_stop(&policy->followed);
}
