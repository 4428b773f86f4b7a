// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The limits of the hot path, which use the C libraries alone, and system functions for measurements.

#ifndef PLAYGATE_CLIMITS_H
#define PLAYGATE_CLIMITS_H

#include <stddef.h>
#include <stdint.h>

/// The nanoseconds of a monotonic clock.
uint64_t limits_now(void);

/// Reads a file of at most `size` bytes. Returns its size, or -1.
ptrdiff_t limits_read(const char *path, uint8_t *bytes, size_t size);

/// Pins this thread to the last core.
void limits_use_last_core(void);

/// Connects to a port of this machine. Returns the descriptor, or -1.
int limits_connect(uint16_t port);

/// The size of the HTTP/1.1 response at the start of the bytes: 0 while its header is incomplete, -1 if it is not a
/// response.
ptrdiff_t limits_answer_size(const uint8_t *bytes, size_t count);

/// True if the bytes contain a text.
int limits_contains(const uint8_t *bytes, size_t count, const char *text);

/// Copies a text `count` times.
void limits_copy(const uint8_t *text, size_t size, int count);

/// A public key, and contexts that are initialised once.
typedef struct limits_rsa limits_rsa;
limits_rsa *limits_rsa_new(const char *pem);

/// SHA-256 on a reused context and `EVP_PKEY_verify` on a reused, initialised context, `count` times. Returns the
/// number of good signatures.
int limits_rsa_reused(limits_rsa *rsa, const uint8_t *body, size_t body_size, const uint8_t *signature,
                      size_t signature_size, int count);

/// `EVP_DigestVerify` with a new context each time, as most code does.
int limits_rsa_naive(limits_rsa *rsa, const uint8_t *body, size_t body_size, const uint8_t *signature,
                     size_t signature_size, int count);

/// The one-shot `HMAC()` with SHA-256, `count` times. Returns the number of codes that were made.
int limits_hmac(const uint8_t *key, size_t key_size, const uint8_t *body, size_t body_size, int count);

/// 16 random bytes, and the one-shot `HMAC()` with SHA-256 twice, `count` times. Returns the number of rounds that went well.
int limits_mint(const uint8_t *key, size_t key_size, const uint8_t *body, size_t body_size, int count);

/// A key of P-256 and one signature, and contexts that are initialised once.
typedef struct limits_ec limits_ec;

/// Reads a private key, and a signature as r and s of 32 bytes each.
limits_ec *limits_ec_new(const char *pem, const uint8_t *raw);

/// SHA-256 on a reused context and `EVP_PKEY_verify` on a reused, initialised context, `count` times. Returns the
/// number of good signatures.
int limits_ec_reused(limits_ec *ec, const uint8_t *body, size_t body_size, int count);

/// The nanoseconds of processor time of this process, all of its threads.
uint64_t limits_used(void);

/// `EVP_Digest` of MD5, `count` times. Returns the number of digests that were made.
int limits_md5(const uint8_t *body, size_t body_size, int count);

/// The one-shot `HMAC()` with SHA-1, `count` times. Returns the number of codes that were made.
int limits_hmac_sha1(const uint8_t *key, size_t key_size, const uint8_t *body, size_t body_size, int count);

/// A private key of RSA or P-256, and contexts that are initialised once.
typedef struct limits_signer limits_signer;
limits_signer *limits_signer_new(const char *pem);

/// SHA-256 and `EVP_PKEY_sign` on reused contexts, `count` times. Returns the number of signatures that were made.
int limits_signer_sign(limits_signer *signer, const uint8_t *body, size_t body_size, int count);

/// A reused `xmlTextReader` over a document, `count` times. Returns the number of nodes read.
int limits_xml_reader(const char *document, size_t size, int count);

/// libxml2's push parser with its default handlers over a document in pieces; builds a tree, and frees it. Returns 1 if the
/// document is well-formed.
int limits_xml_push(const char *document, size_t size, size_t piece);

/// The same parser without a handler for anything.
int limits_xml_push_bare(const char *document, size_t size, size_t piece);

#endif
