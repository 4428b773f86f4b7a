// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_SECOND_OPINION_H
#define PLAYGATE_SECOND_OPINION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Decodes Base64 with OpenSSL and encodes it again, which reveals set bits that are not part of the data.
///
/// `count` is a multiple of 4; `output` has room for 3/4 of it, and `again` for `count + 1` bytes. Returns the number of
/// bytes in `output`, including those that padding stands for, or -1.
int second_base64(const uint8_t *text, size_t count, uint8_t *output, uint8_t *again);

/// Parses XML with libxml2 into a tree, without network access and without substituting entities, and serializes its nodes:
/// records that begin with a letter, with texts that end with a zero byte.
///
/// S namespace name: an element begins. A namespace name value: an attribute. T text. E: an element ends. C: a comment. P: a
/// processing instruction. X: any other node. The memory is freed by `second_free`. NULL if the document is not well-formed
/// or uses an undeclared prefix.
char *second_xml(const uint8_t *bytes, size_t count, size_t *size);

void second_free(char *memory);

/// Parses an address with the C library into `output`. Returns its length in bytes, 4 or 16, or 0 if it is not an address.
int second_address(const char *text, uint8_t output[16]);

/// Converts `seconds` since 1970 to a date in UTC: year, month, day, hour, minute, second. Returns false if there is none.
bool second_date(int64_t seconds, int64_t output[6]);

/// Prints the violated property and aborts the process.
_Noreturn void second_fail(const char *property);

#endif
