// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "trace.h"

#include <string.h>

static void write_digits(char *digits, uint64_t number) {
    for (int at = 0; at < 16; at++) digits[at] = "0123456789abcdef"[number >> (60 - 4 * at) & 15];
}

// Without a branch for each, so that a compiler compares several digits at once.
static int are_digits(const char *text, size_t count, int *is_zero) {
    unsigned char others = 0, digits = 0;
    for (size_t at = 0; at < count; at++) {
        unsigned char digit = (unsigned char)text[at];
        others |= (unsigned char)(((unsigned char)(digit - '0') > 9) & ((unsigned char)(digit - 'a') > 5));
        digits |= digit ^ '0';
    }
    *is_zero = digits == 0;
    return others == 0;
}

void playgate_write_trace(playgate_slice parent, uint64_t seed, uint64_t *count, char *digits) {
    const char *text = parent.bytes;
    int is_zero, ignored;
    if (text != NULL && parent.length >= 55 && text[2] == '-' && text[35] == '-' && text[52] == '-'
        && are_digits(text, 2, &ignored) && memcmp(text, "ff", 2) != 0
        && (parent.length == 55 || (memcmp(text, "00", 2) != 0 && text[55] == '-')) && are_digits(text + 53, 2, &ignored)
        && are_digits(text + 36, 16, &is_zero) && !is_zero && are_digits(text + 3, 32, &is_zero) && !is_zero) {
        memcpy(digits, text + 3, 32);
        return;
    }
    ++*count;
    write_digits(digits, seed);
    write_digits(digits + 16, (*count * UINT64_C(0x9E3779B97F4A7C15)) ^ seed);
}
