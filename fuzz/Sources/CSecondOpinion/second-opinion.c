// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "second-opinion.h"

#include <arpa/inet.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int second_base64(const uint8_t *text, size_t count, uint8_t *output, uint8_t *again) {
    int size = EVP_DecodeBlock(output, text, (int)count);
    if (size < 0) return -1;
    int padding = count > 0 && text[count - 1] == '=' ? (text[count - 2] == '=' ? 2 : 1) : 0;
    EVP_EncodeBlock(again, output, size - padding);
    return size;
}

struct log {
    char *bytes;
    size_t size, room;
};

static void put(struct log *log, const void *bytes, size_t count) {
    if (log->size + count > log->room) {
        log->room = 2 * (log->size + count) + 256;
        log->bytes = realloc(log->bytes, log->room);
        if (log->bytes == NULL) abort();
    }
    memcpy(log->bytes + log->size, bytes, count);
    log->size += count;
}

static void put_text(struct log *log, const xmlChar *text) {
    if (text == NULL) text = (const xmlChar *)"";
    put(log, text, strlen((const char *)text) + 1);
}

static void write_children(struct log *log, xmlNodePtr parent) {
    for (xmlNodePtr node = parent->children; node != NULL; node = node->next) {
        switch (node->type) {
        case XML_ELEMENT_NODE:
            put(log, "S", 1);
            put_text(log, node->ns == NULL ? NULL : node->ns->href);
            put_text(log, node->name);
            for (xmlAttrPtr attribute = node->properties; attribute != NULL; attribute = attribute->next) {
                xmlChar *value = xmlNodeListGetString(node->doc, attribute->children, 1);
                put(log, "A", 1);
                put_text(log, attribute->ns == NULL ? NULL : attribute->ns->href);
                put_text(log, attribute->name);
                put_text(log, value);
                xmlFree(value);
            }
            write_children(log, node);
            put(log, "E", 1);
            break;
        case XML_TEXT_NODE:
        case XML_CDATA_SECTION_NODE:
            put(log, "T", 1);
            put_text(log, node->content);
            break;
        case XML_COMMENT_NODE: put(log, "C", 1); break;
        case XML_PI_NODE: put(log, "P", 1); break;
        default: put(log, "X", 1);
        }
    }
}

/* A name of a namespace that is no URI, or a relative one, is no fault: the URI names, and is not resolved. libxml2 counts it
   as one. */
static void note_namespace_fault(void *context, xmlErrorPtr error) {
    bool is_uri = error->code == XML_WAR_NS_URI || error->code == XML_WAR_NS_URI_RELATIVE;
    if (error->domain == XML_FROM_NAMESPACE && !is_uri) {
        *(bool *)((xmlParserCtxtPtr)context)->_private = true;
    }
}

char *second_xml(const uint8_t *bytes, size_t count, size_t *size) {
    struct log log = {NULL, 0, 0};
    xmlParserCtxtPtr context = xmlNewParserCtxt();
    if (context == NULL) abort();
    bool has_namespace_fault = false;
    context->_private = &has_namespace_fault;
    context->sax->serror = note_namespace_fault;
    int options = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING;
    xmlDocPtr document = xmlCtxtReadMemory(context, (const char *)bytes, (int)count, NULL, NULL, options);
    bool is_well_formed = document != NULL && context->wellFormed && !has_namespace_fault;
    xmlFreeParserCtxt(context);
    if (is_well_formed) {
        write_children(&log, (xmlNodePtr)document);
        put(&log, "", 0);
    }
    xmlFreeDoc(document);
    *size = log.size;
    return log.bytes;
}

void second_free(char *memory) { free(memory); }

int second_address(const char *text, uint8_t output[16]) {
    if (inet_pton(AF_INET, text, output) == 1) return 4;
    if (inet_pton(AF_INET6, text, output) == 1) return 16;
    return 0;
}

bool second_date(int64_t seconds, int64_t output[6]) {
    time_t time = (time_t)seconds;
    struct tm date;
    if (gmtime_r(&time, &date) == NULL) return false;
    output[0] = (int64_t)date.tm_year + 1900;
    output[1] = date.tm_mon + 1;
    output[2] = date.tm_mday;
    output[3] = date.tm_hour;
    output[4] = date.tm_min;
    output[5] = date.tm_sec;
    return true;
}

void second_fail(const char *property) {
    fprintf(stderr, "==PROPERTY== %s\n", property);
    abort();
}
