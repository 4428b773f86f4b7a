// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "CLimits.h"

#include <libxml/parser.h>
#include <libxml/xmlreader.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t limits_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

ptrdiff_t limits_read(const char *path, uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "rb");
    if (!file) return -1;
    size_t count = fread(bytes, 1, size, file);
    int failed = ferror(file) || !feof(file);
    fclose(file);
    return failed ? -1 : (ptrdiff_t)count;
}

void limits_copy(const uint8_t *text, size_t size, int count) {
    static uint8_t copy[16384];
    if (size > sizeof copy) abort();
    for (int i = 0; i < count; i++) {
        memcpy(copy, text, size);
        // Keeps the compiler from removing copies that are never read.
        __asm__ volatile("" : : "r"(copy) : "memory");
    }
}

struct limits_rsa {
    EVP_PKEY *key;
    EVP_PKEY_CTX *context;
    EVP_MD *sha256;
    EVP_MD_CTX *digest;
};

limits_rsa *limits_rsa_new(const char *pem) {
    limits_rsa *rsa = calloc(1, sizeof *rsa);
    BIO *source = BIO_new_mem_buf(pem, -1);
    X509 *certificate = PEM_read_bio_X509(source, NULL, NULL, NULL);
    BIO_free(source);
    if (!certificate) return NULL;
    rsa->key = X509_get_pubkey(certificate);
    X509_free(certificate);
    rsa->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    rsa->digest = EVP_MD_CTX_new();
    rsa->context = EVP_PKEY_CTX_new_from_pkey(NULL, rsa->key, NULL);
    if (EVP_PKEY_verify_init(rsa->context) != 1) return NULL;
    if (EVP_PKEY_CTX_set_rsa_padding(rsa->context, RSA_PKCS1_PADDING) != 1) return NULL;
    if (EVP_PKEY_CTX_set_signature_md(rsa->context, EVP_sha256()) != 1) return NULL;
    return rsa;
}

int limits_rsa_reused(limits_rsa *rsa, const uint8_t *body, size_t body_size, const uint8_t *signature,
                      size_t signature_size, int count) {
    int good = 0;
    unsigned char hash[32];
    for (int i = 0; i < count; i++) {
        EVP_DigestInit_ex2(rsa->digest, rsa->sha256, NULL);
        EVP_DigestUpdate(rsa->digest, body, body_size);
        EVP_DigestFinal_ex(rsa->digest, hash, NULL);
        good += EVP_PKEY_verify(rsa->context, signature, signature_size, hash, sizeof hash) == 1;
    }
    return good;
}

int limits_rsa_naive(limits_rsa *rsa, const uint8_t *body, size_t body_size, const uint8_t *signature,
                     size_t signature_size, int count) {
    int good = 0;
    for (int i = 0; i < count; i++) {
        EVP_MD_CTX *context = EVP_MD_CTX_new();
        good += EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, rsa->key) == 1
             && EVP_DigestVerify(context, signature, signature_size, body, body_size) == 1;
        EVP_MD_CTX_free(context);
    }
    return good;
}

int limits_xml_reader(const char *document, size_t size, int count) {
    int nodes = 0;
    xmlTextReaderPtr reader = xmlReaderForMemory(document, (int)size, NULL, NULL, XML_PARSE_NONET);
    for (int i = 0; i < count; i++) {
        xmlReaderNewMemory(reader, document, (int)size, NULL, NULL, XML_PARSE_NONET);
        while (xmlTextReaderRead(reader) == 1) {
            nodes += xmlTextReaderConstLocalName(reader) != NULL;
            nodes += xmlTextReaderConstValue(reader) != NULL;
        }
    }
    xmlFreeTextReader(reader);
    return nodes;
}

static int push(xmlSAXHandler *handlers, const char *document, size_t size, size_t piece) {
    xmlParserCtxtPtr context = xmlCreatePushParserCtxt(handlers, NULL, NULL, 0, NULL);
    if (context == NULL) {
        return 0;
    }
    for (size_t start = 0; start < size; start += piece) {
        size_t count = size - start < piece ? size - start : piece;
        xmlParseChunk(context, document + start, (int)count, start + count == size);
    }
    int is_well_formed = context->wellFormed;
    xmlFreeDoc(context->myDoc);
    xmlFreeParserCtxt(context);
    return is_well_formed;
}

int limits_xml_push(const char *document, size_t size, size_t piece) { return push(NULL, document, size, piece); }

int limits_xml_push_bare(const char *document, size_t size, size_t piece) {
    xmlSAXHandler handlers = {0};
    handlers.initialized = XML_SAX2_MAGIC;
    return push(&handlers, document, size, piece);
}
