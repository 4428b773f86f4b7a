// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import NIOHTTP1

/// A question to a service.
struct ServiceRequest {
    var method: HTTPMethod = .GET
    /// Segments of the path, as they are: they are encoded where they are sent.
    var path: [String]
    var query: [(String, String)] = []
    /// Parameters of several values with commas between them; one in a value is encoded, and those between them are not. A
    /// value that is alone, and has a comma, gets one behind it: a comma that stands as it is tells that the others are its own.
    var lists: [(String, [String])] = []
    var headers: [(String, String)] = []
    /// Members of a form, in the body.
    var form: [(String, String)]?
    /// JSON, in the body.
    var json: [UInt8]?
    var accept = "application/json"
    /// Whether it does no harm to ask twice.
    var isRepeatable = true
    /// Whether the application shows its access token.
    var isAuthorized = true

    /// The path with the query, for behind the service's URL.
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

/// An answer of a service.
struct ServiceAnswer {
    let status: Int
    let headers: HTTPHeaders
    let body: [UInt8]

    var isJSON: Bool { headers.first(name: "content-type")?.lowercased().contains("json") ?? false }
    var isXML: Bool { headers.first(name: "content-type")?.lowercased().contains("xml") ?? false }
}

extension [(String, String)] {
    /// As the query of a URL and as a form (`application/x-www-form-urlencoded`).
    var formEncoded: String { map { "\($0.percentEncoded)=\($1.percentEncoded)" }.joined(separator: "&") }
}
