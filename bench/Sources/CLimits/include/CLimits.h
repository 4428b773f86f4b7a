// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// What the hot path is measured against, the C libraries alone; and what measuring needs of the system.

#ifndef PLAYGATE_CLIMITS_H
#define PLAYGATE_CLIMITS_H

#include <stddef.h>
#include <stdint.h>

/// Nanoseconds of a clock that does not jump.
uint64_t limits_now(void);

/// Reads a file of at most `size` bytes. Returns its size, or -1.
ptrdiff_t limits_read(const char *path, uint8_t *bytes, size_t size);

/// Keeps this thread on the last core.
void limits_use_last_core(void);

/// A connection to a port of this machine, or -1.
int limits_connect(uint16_t port);

/// The size of the answer of HTTP/1.1 that the bytes begin with: 0 while its header is not whole, -1 where it is none.
ptrdiff_t limits_answer_size(const uint8_t *bytes, size_t count);

/// Whether a text is among the bytes.
int limits_contains(const uint8_t *bytes, size_t count, const char *text);

/// Copies a text, `count` times.
void limits_copy(const uint8_t *text, size_t size, int count);

/// A public key, and contexts that are set up once.
typedef struct limits_rsa limits_rsa;
limits_rsa *limits_rsa_new(const char *pem);

/// SHA-256 on a reused context and `EVP_PKEY_verify` on a reused, initialised context, `count` times. Returns the
/// number of good signatures.
int limits_rsa_reused(limits_rsa *rsa, const uint8_t *body, size_t body_size, const uint8_t *signature,
                      size_t signature_size, int count);

/// `EVP_DigestVerify` with a new context each time, as most code does.
int limits_rsa_naive(limits_rsa *rsa, const uint8_t *body, size_t body_size, const uint8_t *signature,
                     size_t signature_size, int count);

/// A reused `xmlTextReader` over a document, `count` times. Returns the number of nodes read.
int limits_xml_reader(const char *document, size_t size, int count);

#endif
