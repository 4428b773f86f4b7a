// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CLibXML2
internal import Encodings

// Facts of a parser of libxml2 that both of its owners here need.

/// Initialises libxml2's global state once before its first use, as required for threads.
let libxml2IsInitialised: Bool = {
    xmlInitParser()
    return true
}()

/// Returns the encoding that the document of `context` declares; `nil` if it declares none.
func declaredEncoding(of context: xmlParserCtxtPtr) -> String? {
    guard let name = unsafe context.pointee.encoding ?? context.pointee.input?.pointee.encoding else { return nil }
    return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(xmlStrlen(name))), as: UTF8.self)
}

extension XMLFailure {
    /// Translates an error of libxml2; `nil` for warnings and for errors that are no fault of a document.
    init?(_ error: UnsafeMutablePointer<xmlError>?) {
        guard let error = unsafe error?.pointee else { return nil }
        guard unsafe error.level == XML_ERR_ERROR || error.level == XML_ERR_FATAL else { return nil }
        guard unsafe error.code != Int32(XML_ERR_NO_MEMORY.rawValue) else {
            self = .outOfMemory
            return
        }
        // A namespace is only a name: versions of libxml2 differ about which text is a URI, and no name is looked up.
        guard unsafe error.code != Int32(XML_WAR_NS_URI.rawValue) else { return nil }
        let message = unsafe error.message.map { unsafe String(cString: $0) } ?? "not well-formed"
        self = .syntax(
            message: message.printable(limit: 200),
            line: Int(unsafe error.line),
            column: Int(unsafe error.int2)
        )
    }
}
