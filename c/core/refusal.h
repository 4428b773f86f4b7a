// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_REFUSAL_H
#define PLAYGATE_REFUSAL_H

#include "slice.h"

/// Makes an answer a refusal without a code. Its buffer stays.
static inline void refuse_without_code(playgate_answer *answer) {
    uint32_t size = answer->size;
    char *buffer = answer->buffer;
    size_t capacity = answer->capacity;
    // Not more: a caller of the first version has no memory for later members.
    memset(answer, 0, size < sizeof *answer ? PLAYGATE_ANSWER_SIZE_1 : sizeof *answer);
    answer->size = size;
    answer->buffer = buffer;
    answer->capacity = capacity;
}

/// Makes an answer a refusal by a code of the library, or a sub-request to the service.
static inline void refuse(playgate_answer *answer, int32_t outcome, const char *code, int32_t status) {
    refuse_without_code(answer);
    answer->outcome = outcome;
    answer->status = status;
    answer->code = playgate_code_number(slice_of(code));
}

/// Makes an answer a refusal without a reason of the service's.
static inline void refuse_for_failure(playgate_answer *answer) { refuse(answer, PLAYGATE_REFUSE, "internal_failure", 503); }

#endif
