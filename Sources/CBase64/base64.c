// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Base64 in blocks of 32 characters. Written in C, because Swift cannot compile one function for a newer processor than
// the rest. A 256-bit table lookup makes this four times as fast as a table in memory, and Base64 was the largest part of
// a verification outside OpenSSL.

#include "base64.h"

#if defined(__x86_64__) && defined(__clang__)

#include <immintrin.h>

// The same 16 bytes in both halves, because a lookup does not cross from one half into the other.
#define TABLE(...) _mm256_broadcastsi128_si256(_mm_setr_epi8(__VA_ARGS__))

__attribute__((target("avx2")))
static size_t avx2(const uint8_t *text, size_t count, uint8_t *output, size_t capacity, bool *valid) {
    // A character is valid if the table entries for its high and its low half have no bit in common. Each bit represents
    // a high half: 2 (+ - /), 3 (digits), 4 and 6 (first letters), 5 and 7 (last letters; 5 also has _), any other.
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
    // The difference between a character's value and its code, by its high half. The entry of 2 is for +, of 5 for letters.
    const __m256i steps = TABLE(0, 0, 62 - '+', 52 - '0', -'A', -'A', 26 - 'a', 26 - 'a', 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i half = _mm256_set1_epi8(0x0F);
    // The positions of the three bytes of each group, which is stored as a little-endian number of four bytes.
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
        // Joins four values of 6 bits to two of 12 bits, and those to one of 24 bits.
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
