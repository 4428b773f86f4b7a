// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// What Swift sees of OpenSSL. A function stands here only where the importer cannot do without it, and says why.

#ifndef PLAYGATE_COPENSSL_SHIM_H
#define PLAYGATE_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

/// `sk_X509_*` are macros that cast.
static inline STACK_OF(X509) *copenssl_x509_stack_new(void) { return sk_X509_new_null(); }
static inline int copenssl_x509_stack_push(STACK_OF(X509) *stack, X509 *certificate) {
    return sk_X509_push(stack, certificate);
}
static inline int copenssl_x509_stack_count(const STACK_OF(X509) *stack) { return sk_X509_num(stack); }
static inline X509 *copenssl_x509_stack_element(const STACK_OF(X509) *stack, int place) {
    return sk_X509_value(stack, place);
}
static inline void copenssl_x509_stack_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }

/// `ERR_SYSTEM_ERROR` is a function-like macro.
static inline int copenssl_error_is_system(unsigned long code) { return ERR_SYSTEM_ERROR(code) ? 1 : 0; }

/// A parameter keeps the address of its name, and a name that Swift passes lives for one call only.
static inline int copenssl_hmac_init(EVP_MAC_CTX *context, const char *digest, const unsigned char *key, size_t size) {
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_init(context, key, size, parameters);
}

#endif
