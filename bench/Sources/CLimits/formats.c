// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "CLimits.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <time.h>

uint64_t limits_used(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int limits_md5(const uint8_t *body, size_t body_size, int count) {
    int good = 0;
    unsigned char digest[EVP_MAX_MD_SIZE];
    for (int i = 0; i < count; i++) {
        unsigned int size = 0;
        good += EVP_Digest(body, body_size, digest, &size, EVP_md5(), NULL) == 1 && size == 16;
    }
    return good;
}

int limits_hmac_sha1(const uint8_t *key, size_t key_size, const uint8_t *body, size_t body_size, int count) {
    int good = 0;
    unsigned char code[EVP_MAX_MD_SIZE];
    for (int i = 0; i < count; i++) {
        unsigned int size = 0;
        good += HMAC(EVP_sha1(), key, (int)key_size, body, body_size, code, &size) != NULL && size == 20;
    }
    return good;
}

struct limits_signer {
    EVP_PKEY_CTX *context;
    EVP_MD *sha256;
    EVP_MD_CTX *digest;
};

limits_signer *limits_signer_new(const char *pem) {
    limits_signer *signer = calloc(1, sizeof *signer);
    BIO *source = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(source, NULL, NULL, NULL);
    BIO_free(source);
    if (!key) return NULL;
    signer->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    signer->digest = EVP_MD_CTX_new();
    signer->context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    int is_ready = EVP_PKEY_sign_init(signer->context) == 1;
    if (is_ready && EVP_PKEY_is_a(key, "RSA"))
        is_ready = EVP_PKEY_CTX_set_rsa_padding(signer->context, RSA_PKCS1_PADDING) == 1;
    if (is_ready) is_ready = EVP_PKEY_CTX_set_signature_md(signer->context, EVP_sha256()) == 1;
    EVP_PKEY_free(key);
    return is_ready ? signer : NULL;
}

int limits_signer_sign(limits_signer *signer, const uint8_t *body, size_t body_size, int count) {
    int good = 0;
    unsigned char hash[32], signature[512];
    for (int i = 0; i < count; i++) {
        size_t size = sizeof signature;
        EVP_DigestInit_ex2(signer->digest, signer->sha256, NULL);
        EVP_DigestUpdate(signer->digest, body, body_size);
        EVP_DigestFinal_ex(signer->digest, hash, NULL);
        good += EVP_PKEY_sign(signer->context, signature, &size, hash, sizeof hash) == 1;
    }
    return good;
}
