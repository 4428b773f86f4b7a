// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "CLimits.h"

#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdlib.h>

int limits_hmac(const uint8_t *key, size_t key_size, const uint8_t *body, size_t body_size, int count) {
    int good = 0;
    unsigned char code[32];
    for (int i = 0; i < count; i++) {
        unsigned int size = 0;
        good += HMAC(EVP_sha256(), key, (int)key_size, body, body_size, code, &size) != NULL && size == 32;
    }
    return good;
}

int limits_mint(const uint8_t *key, size_t key_size, const uint8_t *body, size_t body_size, int count) {
    int good = 0;
    unsigned char random[16];
    for (int i = 0; i < count; i++)
        good += RAND_bytes(random, sizeof random) == 1 && limits_hmac(key, key_size, body, body_size, 2) == 2;
    return good;
}

struct limits_ec {
    EVP_PKEY *key;
    EVP_PKEY_CTX *context;
    EVP_MD *sha256;
    EVP_MD_CTX *digest;
    unsigned char *signature;
    int signature_size;
};

limits_ec *limits_ec_new(const char *pem, const uint8_t *raw) {
    limits_ec *ec = calloc(1, sizeof *ec);
    BIO *source = BIO_new_mem_buf(pem, -1);
    ec->key = PEM_read_bio_PrivateKey(source, NULL, NULL, NULL);
    BIO_free(source);
    if (!ec->key) return NULL;
    ec->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    ec->digest = EVP_MD_CTX_new();
    ec->context = EVP_PKEY_CTX_new_from_pkey(NULL, ec->key, NULL);
    if (EVP_PKEY_verify_init(ec->context) != 1) return NULL;
    ECDSA_SIG *signature = ECDSA_SIG_new();
    ECDSA_SIG_set0(signature, BN_bin2bn(raw, 32, NULL), BN_bin2bn(raw + 32, 32, NULL));
    ec->signature_size = i2d_ECDSA_SIG(signature, &ec->signature);
    ECDSA_SIG_free(signature);
    return ec->signature_size > 0 ? ec : NULL;
}

int limits_ec_reused(limits_ec *ec, const uint8_t *body, size_t body_size, int count) {
    int good = 0;
    unsigned char hash[32];
    for (int i = 0; i < count; i++) {
        EVP_DigestInit_ex2(ec->digest, ec->sha256, NULL);
        EVP_DigestUpdate(ec->digest, body, body_size);
        EVP_DigestFinal_ex(ec->digest, hash, NULL);
        good += EVP_PKEY_verify(ec->context, ec->signature, (size_t)ec->signature_size, hash, sizeof hash) == 1;
    }
    return good;
}
