// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// The endpoints without access control: the pages of an application, logos, the error codes and the certificate.
extension SandboxCore {
    var publicEndpoints: [Endpoint] {
        pages.map { file in
            Endpoint(.get, path: file.path, operation: nil, dialect: .page) { _ in .file(file.bytes, type: file.type) }
        } + [
            Endpoint(.get, path: "/sandbox.css", operation: nil, dialect: .page) { _ in
                .file(PackageResources.sandbox_css, type: "text/css;charset=UTF-8")
            },
            Endpoint(.get, path: "/sandbox/logos/:mvpd", operation: nil, dialect: .page, answer: logo),
            Endpoint(.get, path: "/sandbox/demo.json", operation: nil, dialect: .plain) { _ in .json(demo) },
            Endpoint(.get, path: "/sandbox/errors", operation: nil, dialect: .page) { _ in Self.codes.response() },
            Endpoint(.get, path: "/sandbox/keys", operation: nil, dialect: .plain) { _ in
                .text(keys.certificate, type: "application/x-pem-file")
            },
        ]
    }

    /// Returns the logo of a provider that has none of its own.
    private func logo(_ call: EndpointRequest) throws -> Response {
        guard let provider = configuration.providers.first(where: { $0.logoFile == call.segment("mvpd") }) else {
            throw EndpointError(404, message: "The provider is unknown.")
        }
        return .file([UInt8](provider.logo.source.utf8), type: "image/svg+xml")
    }

    /// The content of the demo page. Its own software statement names the one requestor and is not signed.
    private var demo: JSON {
        let demo = configuration.demo
        let claims: JSON = ["sub": "playgate-demo", "aud": .string(demo.requestor)]
        let statement = [#"{"alg":"none"}"#, claims.line, "unsigned"].map { Base64.encode([UInt8]($0.utf8)).base64URL }
        let own = configuration.requestor(demo.requestor)?.statements?.first
        return [
            "title": .string(demo.title), "requestor": .string(demo.requestor),
            "softwareStatement": .string(own ?? statement.joined(separator: ".")),
            "items": .array(
                demo.items.map { item in
                    [
                        "media": .string(item.media), "title": .string(item.title),
                        "description": .string(item.description), "resource": .optional(item.resource),
                        "path": .string(item.path), "protected": .bool(item.isProtected),
                    ]
                }
            ),
        ]
    }

    /// The page about all codes.
    private static let codes: Page = {
        let rows = StatusCode.allCases.map { code -> HTML in
            let origins = [("v2", StatusCode.Origin.v2), ("v1", .v1), ("client", .client)].compactMap { name, origin in
                code.documentation(origin).map { documentation in
                    let statuses = documentation.statuses.map { "\($0)" }.joined(separator: "/")
                    return "\(name): \(statuses), action \(documentation.action.rawValue)"
                }
            }.joined(separator: "; ")
            return """
                <dt id="\(code.rawValue)"><code>\(code.rawValue)</code></dt>
                <dd>\(code.explanation)
                <br>
                \(origins)</dd>
                """
        }
        return Page("Error codes", content: "<dl>\(rows)</dl>")
    }()
}

extension Provider {
    /// The name of the file of the logo.
    fileprivate var logoFile: String { id + ".svg" }

    /// The path of the logo on this service; `nil` if the configuration names another logo.
    var logoPath: String? { description.logoURL == nil ? "/sandbox/logos/\(logoFile.percentEncoded)" : nil }

    /// A square with the initials of the provider, in a colour of its own.
    fileprivate var logo: HTML {
        let words = description.displayName.split(separator: " ")
        let initials = String(words.prefix(2).compactMap(\.first)).uppercased()
        let hue = id.utf8.reduce(0) { ($0 * 31 + Int($1)) % 360 }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" role="img" aria-label="\(description.displayName)">
            <rect width="64" height="64" rx="12" fill="hsl(\(String(hue)), 60%, 30%)"/>
            <text x="32" y="42" font-family="sans-serif" font-size="28" font-weight="bold" text-anchor="middle" \
            fill="#fff">\(initials)</text>
            </svg>

            """
    }
}

extension String {
    /// This Base64 text in the URL-safe alphabet, without padding.
    fileprivate var base64URL: String {
        let letters: [Character: Character] = ["+": "-", "/": "_"]
        return String(filter { $0 != "=" }.map { letters[$0] ?? $0 })
    }
}
