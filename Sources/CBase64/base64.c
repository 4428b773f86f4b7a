// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Base64 in blocks of 32 characters. In C, for Swift cannot compile one function for a newer processor than the rest;
// a 256-bit table lookup makes this four times as fast as a table in memory, and Base64 was the largest part of a
// verification that is not OpenSSL's.

#include "base64.h"

#if defined(__x86_64__) && defined(__clang__)

#include <immintrin.h>

// The same 16 bytes in both halves: a lookup does not cross from one into the other.
#define TABLE(...) _mm256_broadcastsi128_si256(_mm_setr_epi8(__VA_ARGS__))

__attribute__((target("avx2")))
static size_t avx2(const uint8_t *text, size_t count, uint8_t *output, size_t capacity, bool *valid) {
    // A character is valid where the tables of its high and its low half have no bit in common. A bit stands for a high
    // half: 2 (+ - /), 3 (digits), 4 and 6 (letters from the first on), 5 and 7 (to the last; with _ in 5), any other.
    enum { symbol = 1, digit = 2, first = 4, last = 8, last_or_low_line = 16, other = 32 };
    const __m256i high_kinds = TABLE(other, other, symbol, digit, first, last_or_low_line, first, last,
                                     other, other, other, other, other, other, other, other);
    const __m256i low_refuses = TABLE(
        other | symbol | first,                                                  // 0: 0 P p
        other | symbol, other | symbol, other | symbol, other | symbol,          // 1 to 4
        other | symbol, other | symbol, other | symbol, other | symbol,          // 5 to 8
        other | symbol,                                                          // 9
        other | symbol | digit,                                                  // A: J Z j z
        other | digit | last | last_or_low_line,                                 // B: + K k
        other | symbol | digit | last | last_or_low_line,                        // C: L l
        other | digit | last | last_or_low_line,                                 // D: - M m
        other | symbol | digit | last | last_or_low_line,                        // E: N n
        other | digit | last);                                                   // F: / O _ o
    // What makes a character its value, by its high half; of 2 that is for +, and of 5 for letters.
    const __m256i steps = TABLE(0, 0, 62 - '+', 52 - '0', -'A', -'A', 26 - 'a', 26 - 'a', 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i half = _mm256_set1_epi8(0x0F);
    // The three bytes of each group of four, which stand in the order of a little-endian number.
    const __m256i bytes = TABLE(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
    const __m256i together = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
    __m256i refused = _mm256_setzero_si256();
    size_t read = 0, written = 0;
    while (count - read >= 32 && capacity - written >= 32) {
        const __m256i characters = _mm256_loadu_si256((const __m256i *)(text + read));
        const __m256i low = _mm256_and_si256(characters, half);
        const __m256i high = _mm256_and_si256(_mm256_srli_epi16(characters, 4), half);
        refused = _mm256_or_si256(refused, _mm256_and_si256(_mm256_shuffle_epi8(high_kinds, high),
                                                            _mm256_shuffle_epi8(low_refuses, low)));
        __m256i step = _mm256_shuffle_epi8(steps, high);
        const __m256i minus = _mm256_cmpeq_epi8(characters, _mm256_set1_epi8('-'));
        const __m256i slash = _mm256_cmpeq_epi8(characters, _mm256_set1_epi8('/'));
        const __m256i low_line = _mm256_cmpeq_epi8(characters, _mm256_set1_epi8('_'));
        step = _mm256_blendv_epi8(step, _mm256_set1_epi8(62 - '-'), minus);
        step = _mm256_blendv_epi8(step, _mm256_set1_epi8(63 - '/'), slash);
        step = _mm256_blendv_epi8(step, _mm256_set1_epi8(63 - '_'), low_line);
        const __m256i values = _mm256_add_epi8(characters, step);
        // Four times six bits: to two times twelve, to twenty-four.
        const __m256i pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x01400140));
        const __m256i groups = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00011000));
        const __m256i packed = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(groups, bytes), together);
        _mm256_storeu_si256((__m256i *)(output + written), packed);
        read += 32;
        written += 24;
    }
    *valid = _mm256_testz_si256(refused, refused);
    return read;
}

size_t playgate_base64_blocks(const uint8_t *text, size_t count, uint8_t *output, size_t capacity, bool *valid) {
    if (__builtin_cpu_supports("avx2")) return avx2(text, count, output, capacity, valid);
    *valid = true;
    return 0;
}

#else

size_t playgate_base64_blocks(const uint8_t *text, size_t count, uint8_t *output, size_t capacity, bool *valid) {
    (void)text, (void)count, (void)output, (void)capacity;
    *valid = true;
    return 0;
}

#endif
