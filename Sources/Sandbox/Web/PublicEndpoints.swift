// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// The endpoints without access control: the pages of an application, the error codes and the certificate.
struct PublicEndpoints: Sendable {
    let core: SandboxCore

    var all: [Endpoint] {
        pages + [
            Endpoint(.get, "/sandbox.css", nil, .page) { _ in
                Self.file(PackageResources.sandbox_css, "text/css;charset=UTF-8")
            },
            Endpoint(.get, "/sandbox/demo.json", nil, .plain) { _ in .json(demo) },
            Endpoint(.get, "/sandbox/errors", nil, .page) { _ in Self.codes.response() },
            Endpoint(.get, "/sandbox/keys", nil, .plain) { _ in
                .text(core.keys.certificate, "application/x-pem-file")
            },
        ]
    }

    /// The pages of the application, if there are any.
    private var pages: [Endpoint] {
        core.pages.map { file in
            Endpoint(.get, file.path, nil, .page) { _ in Self.file(file.bytes, file.type) }
        }
    }

    private static func file(_ bytes: [UInt8], _ type: String) -> Response {
        var response = Response.bytes(bytes, type, status: .ok, headers: Page.headers)
        response.headers[.contentType] = type
        return response
    }

    /// The content of the demo page. Its own software statement names the one requestor and is not signed.
    private var demo: JSON {
        let demo = core.configuration.demo
        let claims = JSON.object([("sub", .string("playgate-demo")), ("aud", .string(demo.requestor))]).line
        let statement = [#"{"alg":"none"}"#, claims, "unsigned"].map { Base64.encode([UInt8]($0.utf8)).base64URL }
        let own = core.configuration.requestor(demo.requestor)?.statements?.first
        return .object([
            ("title", .string(demo.title)), ("requestor", .string(demo.requestor)),
            ("softwareStatement", .string(own ?? statement.joined(separator: "."))),
            ("items", .array(demo.items.map(\.shown))),
        ])
    }

    /// The page about all codes.
    private static let codes: Page = {
        let rows = StatusCode.allCases.map { code -> HTML in
            let origins = [("v2", StatusCode.Origin.v2), ("v1", .v1), ("client", .client)].compactMap { name, origin in
                code.documentation(origin).map { documentation in
                    let statuses = documentation.statuses.map { "\($0)" }.joined(separator: "/")
                    return "\(name): \(statuses), action \(documentation.action.rawValue)"
                }
            }
            return .joined([
                .element("dt", ["id": code.rawValue], .element("code", .text(code.rawValue))),
                .element("dd", .text(code.explanation), .void("br"), .text(origins.joined(separator: "; "))),
            ])
        }
        return Page("Error codes", .element("dl", .joined(rows)))
    }()
}

extension SandboxConfiguration.Demo.Item {
    fileprivate var shown: JSON {
        .object([
            ("media", .string(media)), ("title", .string(title)), ("description", .string(description)),
            ("resource", .optional(resource)), ("path", .string(path)), ("protected", .bool(isProtected)),
        ])
    }
}

extension String {
    /// This Base64 text in the URL-safe alphabet, without padding.
    fileprivate var base64URL: String {
        String(
            filter { $0 != "=" }.map { character in
                switch character {
                case "+": "-"
                case "/": "_"
                default: character
                }
            }
        )
    }
}
