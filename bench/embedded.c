// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Checks a media token or a grant by the C interface, COUNT times, for bench/instructions to count.
// Usage: embedded PART COUNT POLICY-FILE TOKEN-FILE. PART is embedded-cached, embedded-kept, which asks for how long the answer is
// good, or embedded-answer-cache with the table of answers in front; with -grant after embedded, the token is shown as a grant.

#include <playgate.h>
#include <playgate_answer_cache.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char buffer[PLAYGATE_BUFFER_SIZE];

static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);
    *length = file != NULL && bytes != NULL ? fread(bytes, 1, 1 << 20, file) : 0;
    if (file != NULL) fclose(file);
    return bytes;
}

static int check(playgate_engine *engine, playgate_answer_cache *cache, const playgate_request *request) {
    playgate_answer answer;
    memset(&answer, 0, sizeof answer);
    answer.size = sizeof answer;
    answer.buffer = buffer;
    answer.capacity = sizeof buffer;
    if (cache != NULL && playgate_answer_cache_find(cache, 0, playgate_engine_generation(engine), request, &answer))
        return answer.outcome == PLAYGATE_ALLOW;
    int32_t result = playgate_check(engine, NULL, request, &answer);
    if (result == PLAYGATE_OK && cache != NULL) playgate_answer_cache_keep(cache, 0, request, &answer);
    if (answer.outcome != PLAYGATE_ALLOW) fprintf(stderr, "embedded: %s\n", playgate_code_name(answer.code));
    return answer.outcome == PLAYGATE_ALLOW;
}

int main(int count, char **arguments) {
    if (count != 5) return 64;
    playgate_policy *policy;
    playgate_engine *engine;
    playgate_error error;
    size_t length;
    char *text = read_file(arguments[3], &length);
    int64_t now = (int64_t) time(NULL) * 1000;
    if (playgate_policy_open(text, length, now, &policy, &error) != PLAYGATE_OK || playgate_no_more_forks() != PLAYGATE_OK
        || playgate_engine_create(policy, &engine, &error) != PLAYGATE_OK) {
        fprintf(stderr, "embedded: %s in line %u\n", error.message, error.line);
        return 1;
    }
    playgate_slice token;
    token.bytes = read_file(arguments[4], &token.length);
    while (token.length > 0 && token.bytes[token.length - 1] == '\n') token.length--;
    playgate_request request;
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.now = now;
    request.method = (playgate_slice) {"GET", 3};
    request.target = (playgate_slice) {"/live/tnt/low/seg1.ts", 21};
    request.scheme = (playgate_slice) {"https", 5};
    request.host = (playgate_slice) {"cdn.example", 11};
    request.traceparent = (playgate_slice) {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", 55};
    if (strstr(arguments[1], "-grant-") != NULL) {
        request.grants = &token;
        request.grant_count = 1;
    } else {
        request.tokens = &token;
        request.token_count = 1;
    }
    playgate_answer_cache *cache = strstr(arguments[1], "-answer-cache") != NULL ? playgate_answer_cache_create(64, 0, NULL) : NULL;
    if (cache == NULL && strstr(arguments[1], "-kept") == NULL) request.flags = PLAYGATE_REQUEST_NOT_KEPT;
    for (long round = atol(arguments[2]); round > 0; round--)
        if (!check(engine, cache, &request)) return 1;
    return 0;
}
