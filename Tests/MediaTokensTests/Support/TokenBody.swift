// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The element of a token, for changes in one position.
struct TokenBody: Sendable {
    var root = "authToken"
    private var elements: [(name: String, bytes: [UInt8])]

    private init(_ elements: [(name: String, bytes: [UInt8])]) { self.elements = elements }

    /// The body of a valid token.
    static let plain = TokenBody(
        [
            ("sessionGUID", "00112233445566778899aabbccddeeff"), ("requestorID", "REF30"), ("resourceID", "TNT"),
            ("ttl", "420000"), ("issueTime", "2031-01-02 03:04:05 -0700"), ("mvpdId", "SandboxMVPD"),
        ]
        .map { name, text in (name, [UInt8]("<\(name)>\(text)</\(name)>".utf8)) }
    )

    /// The names of the elements that are media tokens.
    static let roots = ["authToken", "shortAuthorizationToken"]

    /// The names of the mandatory fields.
    static let mandatory = ["sessionGUID", "requestorID", "resourceID", "ttl", "issueTime", "mvpdId"]

    /// Returns this body with `content`, as raw XML, in the field `name`.
    func setting(_ name: String, to content: String) -> TokenBody { setting(name, to: [UInt8](content.utf8)) }

    func setting(_ name: String, to content: [UInt8]) -> TokenBody {
        replacing(name, with: [UInt8]("<\(name)>".utf8) + content + [UInt8]("</\(name)>".utf8))
    }

    /// Returns this body with `element` instead of the field `name`.
    func replacing(_ name: String, with element: String) -> TokenBody { replacing(name, with: [UInt8](element.utf8)) }

    private func replacing(_ name: String, with element: [UInt8]) -> TokenBody {
        var copy = self
        copy.elements = elements.map { $0.name == name ? (name, element) : $0 }
        return copy
    }

    /// Returns this body with `text` after its last field.
    func appending(_ text: String) -> TokenBody {
        var copy = self
        copy.elements.append(("", [UInt8](text.utf8)))
        return copy
    }

    /// Returns this body with its fields in reverse order.
    func reversed() -> TokenBody { TokenBody(elements.reversed()) }

    func rooted(_ root: String) -> TokenBody {
        var copy = self
        copy.root = root
        return copy
    }

    var bytes: [UInt8] { [UInt8]("<\(root)>".utf8) + elements.flatMap(\.bytes) + [UInt8]("</\(root)>".utf8) }

    var text: String { String(decoding: bytes, as: UTF8.self) }
}
