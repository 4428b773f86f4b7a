// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import HTTPServer
internal import NIOCore
internal import NIOHTTP1

/// The parameters of a query, or of a body of the type `application/x-www-form-urlencoded`, each at most once.
///
/// Source: the URL standard, <https://url.spec.whatwg.org/#urlencoded-parsing>.
package struct FormParameters {
    private let values: [(name: String, value: String)]

    /// The most parameters.
    package static let maximumCount = 16

    /// Reads the parameters of a request: of its body if it is a POST, otherwise of its query.
    package init(_ request: HTTPRequest) throws(APIRefusal) {
        guard !request.isTooLarge else { throw APIRefusal(.bodyTooLarge) }
        let isPost = request.head.method == .POST
        if isPost, !Self.isForm(request.first("content-type")) { throw APIRefusal(.unsupportedMediaType) }
        let query = request.head.uri.utf8.firstIndex(of: UInt8(ascii: "?")).map { mark in
            request.head.uri[request.head.uri.utf8.index(after: mark)...]
        }
        let text = isPost ? Substring(String(buffer: request.body ?? ByteBuffer())) : query ?? ""
        var values: [(name: String, value: String)] = []
        for pair in text.split(separator: "&") {
            let mark = pair.firstIndex(of: "=") ?? pair.endIndex
            guard let name = Self.decoded(pair[..<mark]), let value = Self.decoded(pair[mark...].dropFirst()) else {
                throw APIRefusal(.invalidRequest, details: "a parameter is not percent-encoded UTF-8")
            }
            guard !values.contains(where: { $0.name == name }), values.count < Self.maximumCount else {
                throw APIRefusal(.invalidRequest, details: "a parameter is a duplicate, or there are too many")
            }
            values.append((name, value))
        }
        self.values = values
    }

    /// True for the type of a form's body.
    static func isForm(_ type: String?) -> Bool {
        type?.prefix { $0 != ";" }.lowercased().filter { $0 != " " } == "application/x-www-form-urlencoded"
    }

    private static func decoded(_ text: Substring) -> String? {
        Substring(text.map { $0 == "+" ? " " : $0 }).percentDecoded
    }

    /// Returns the value of a parameter that must be there.
    package func required(_ name: String) throws(APIRefusal) -> String {
        guard let value = values.first(where: { $0.name == name })?.value, !value.isEmpty else {
            throw APIRefusal(.invalidRequest, details: "\(name) is missing")
        }
        return value
    }

    /// Returns a required value in Base64. A plus sign that was not encoded has become a space.
    package func base64(_ name: String) throws(APIRefusal) -> String {
        String(try required(name).map { $0 == " " ? "+" : $0 })
    }
}
