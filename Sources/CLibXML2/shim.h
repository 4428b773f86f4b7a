// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// What Swift sees of libxml2. A function stands here only where the importer cannot do without it, and says why.

#ifndef PLAYGATE_CLIBXML2_SHIM_H
#define PLAYGATE_CLIBXML2_SHIM_H

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>
#include <libxml/xmlreader.h>

/// `XML_SAX2_MAGIC` is a macro wider than `int`.
static inline unsigned int clibxml2_sax2_magic(void) { return XML_SAX2_MAGIC; }

#endif
