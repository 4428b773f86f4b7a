// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
package import NIOHTTP1

/// A request to a service.
package struct ServiceRequest: Sendable {
    package var method: HTTPMethod
    /// The segments of the path, not percent-encoded; ``target`` encodes them.
    package var path: [String]
    package var query: [(String, String)]
    /// Parameters with comma-separated values. Commas in a value are percent-encoded, separators are not. A single value
    /// that contains a comma is followed by a plain comma, which marks its encoded commas as part of the value.
    package var lists: [(String, [String])]
    package var headers: [(String, String)] = []
    /// The URL of the service; set when the request is sent.
    var service = ""
    /// The fields of a form, for the body.
    package var form: [(String, String)]?
    /// The JSON of the body.
    package var json: [UInt8]?
    package var accept = "application/json"
    /// True if the request can be repeated without harm.
    package var isRepeatable = true
    /// True if the request carries the application's access token.
    package var isAuthorized: Bool

    package init(
        method: HTTPMethod = .GET,
        path: [String],
        query: [(String, String)] = [],
        lists: [(String, [String])] = [],
        isAuthorized: Bool = true
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.lists = lists
        self.isAuthorized = isAuthorized
    }

    /// The path with the query, relative to the service's URL.
    var target: String {
        let path = path.map { "/" + $0.percentEncoded }.joined()
        let lists = lists.map { name, values in
            let end = values.count == 1 && values[0].contains(",") ? "," : ""
            return "\(name.percentEncoded)=\(values.map(\.percentEncoded).joined(separator: ","))\(end)"
        }
        let query = ([query.formEncoded] + lists).filter { !$0.isEmpty }.joined(separator: "&")
        return query.isEmpty ? path : "\(path)?\(query)"
    }
}

/// A response of a service.
package struct ServiceAnswer: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    package let body: [UInt8]

    package init(status: Int, headers: HTTPHeaders, body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    var isJSON: Bool { headers.first(name: "content-type")?.lowercased().contains("json") ?? false }
    var isXML: Bool { headers.first(name: "content-type")?.lowercased().contains("xml") ?? false }
}

extension [(String, String)] {
    /// The fields as the query of a URL and as a form (`application/x-www-form-urlencoded`).
    var formEncoded: String { map { "\($0.percentEncoded)=\($1.percentEncoded)" }.joined(separator: "&") }
}
