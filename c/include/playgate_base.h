// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_BASE_H
#define PLAYGATE_BASE_H

#include <stddef.h>
#include <stdint.h>

/// What all headers of the C interface have in common: texts, results and faults. playgate.h includes it.

/// Bytes of the caller, or of an answer. `bytes` may be null if `length` is 0. Not terminated.
typedef struct playgate_slice {
    const char *bytes;
    size_t length;
} playgate_slice;

/// The results of functions: 0, or negative.
enum {
    /// The function has done what it says.
    PLAYGATE_OK = 0,
    /// A pointer that must not be null is, a `size` is too small, or a value is out of range.
    PLAYGATE_E_ARGUMENT = -1,
    /// The document is no policy. `playgate_error` names the line.
    PLAYGATE_E_POLICY = -2,
    /// The process has not called playgate_no_more_forks(), or was forked from one that had.
    PLAYGATE_E_FORK = -3,
    /// The library has met a fault of its own, such as one of OpenSSL.
    PLAYGATE_E_INTERNAL = -4,
    /// The document is of a version of the service that this library does not know.
    PLAYGATE_E_VERSION = -5,
    /// The caller's buffer is too small.
    PLAYGATE_E_BUFFER = -6,
    /// The signature of the document is none of the keys to trust, or there is none.
    PLAYGATE_E_SIGNATURE = -7
};

/// A fault of a document or of settings, for the operator.
typedef struct playgate_error {
    /// The line of the fault in the document, from 1 on; 0 if there is none.
    uint32_t line;
    /// The column in that line, in bytes, from 1 on; 0 if there is none.
    uint32_t column;
    /// A sentence, terminated, in printable UTF-8. Never a part of a key.
    char message[248];
} playgate_error;

#endif
