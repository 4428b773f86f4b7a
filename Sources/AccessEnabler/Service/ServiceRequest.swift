// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import NIOHTTP1

/// A request to a service.
struct ServiceRequest {
    var method: HTTPMethod = .GET
    /// The segments of the path, not percent-encoded; ``target`` encodes them.
    var path: [String]
    var query: [(String, String)] = []
    /// Parameters with comma-separated values. Commas in a value are percent-encoded, separators are not. A single value
    /// that contains a comma is followed by a plain comma, which marks its encoded commas as part of the value.
    var lists: [(String, [String])] = []
    var headers: [(String, String)] = []
    /// The fields of a form, for the body.
    var form: [(String, String)]?
    /// The JSON of the body.
    var json: [UInt8]?
    var accept = "application/json"
    /// True if the request can be repeated without harm.
    var isRepeatable = true
    /// True if the request carries the application's access token.
    var isAuthorized = true

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
struct ServiceAnswer {
    let status: Int
    let headers: HTTPHeaders
    let body: [UInt8]

    var isJSON: Bool { headers.first(name: "content-type")?.lowercased().contains("json") ?? false }
    var isXML: Bool { headers.first(name: "content-type")?.lowercased().contains("xml") ?? false }
}

extension [(String, String)] {
    /// The fields as the query of a URL and as a form (`application/x-www-form-urlencoded`).
    var formEncoded: String { map { "\($0.percentEncoded)=\($1.percentEncoded)" }.joined(separator: "&") }
}
