// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_SECOND_OPINION_H
#define PLAYGATE_SECOND_OPINION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Decodes Base64 by OpenSSL and encodes it again, which tells bits that do not count.
///
/// `count` is a multiple of 4; `output` has 3/4 of it, and `again` `count + 1` bytes. Returns how many bytes `output`
/// has, those that padding stands for among them, or -1.
int second_base64(const uint8_t *text, size_t count, uint8_t *output, uint8_t *again);

/// Reads XML by libxml2 into a tree, without network and entities, and writes down what is in it: records that begin with
/// a letter, of texts that end with a zero byte.
///
/// S namespace name: an element begins. A namespace name value: an attribute. T text. E: an element ends. C: a comment.
/// P: a processing instruction. X: anything else. The memory is freed by `second_free`. NULL where it is not well-formed,
/// or uses a prefix that it does not declare.
char *second_xml(const uint8_t *bytes, size_t count, size_t *size);

void second_free(char *memory);

/// Reads an address by the C library: 4 or 16 for its length in bytes, which `output` gets; 0 for what is none.
int second_address(const char *text, uint8_t output[16]);

/// The date of `seconds` since 1970 in UTC: year, month, day, hour, minute, second. False where there is none.
bool second_date(int64_t seconds, int64_t output[6]);

/// Tells which property is violated, and ends the process as a fault does.
_Noreturn void second_fail(const char *property);

#endif
