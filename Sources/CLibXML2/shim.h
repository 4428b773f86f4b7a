// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// What Swift sees of libxml2. A function stands here only where the importer cannot do without it, and says why.

#ifndef PLAYGATE_CLIBXML2_SHIM_H
#define PLAYGATE_CLIBXML2_SHIM_H

// Where libxml2 was built with ICU, its headers show ICU's, which Foundation has too, in another version: nobody could
// import both. ICU shows at the end of one structure that nothing here uses.
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>

/// `XML_SAX2_MAGIC` is a macro wider than `int`.
static inline unsigned int clibxml2_sax2_magic(void) { return XML_SAX2_MAGIC; }

#endif
