// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import RequestTargets

/// A text with placeholders, as an edge's configuration joins the signed values: `{expires}{path}{address} {secret}`.
public struct SigningTemplate: Hashable, Sendable {
    private enum Piece: Hashable, Sendable {
        case text(String)
        case value(Placeholder)
    }

    private let pieces: [Piece]

    /// A value in a template.
    public enum Placeholder: String, Hashable, Sendable, CaseIterable {
        /// The expiry in Unix seconds.
        case expires
        /// The path of the file.
        case path
        /// The folder, which ends in `/`.
        case scope
        /// The client's address.
        case address
        /// The secret itself, for a format without HMAC.
        case secret
    }

    /// Parses a template. Braces are placeholders only.
    ///
    /// - Throws: ``SigningError`` with ``SigningError/Code/template`` for an unknown placeholder, or without expiry or path.
    public init(_ text: String) throws(SigningError) {
        guard text.utf8.count <= 512, text.utf8.allSatisfy(SigningText.isPrintable) else {
            throw SigningError(.template)
        }
        var pieces: [Piece] = []
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            if open > rest.startIndex { pieces.append(.text(String(rest[..<open]))) }
            guard let close = rest[open...].firstIndex(of: "}"),
                let placeholder = Placeholder(rawValue: String(rest[rest.index(after: open)..<close]))
            else { throw SigningError(.template, value: String(rest[open...].prefix(32))) }
            pieces.append(.value(placeholder))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { pieces.append(.text(String(rest))) }
        let isPlain = pieces.allSatisfy { if case .text(let text) = $0 { !text.contains("}") } else { true } }
        guard isPlain else { throw SigningError(.template, value: "}") }
        self.pieces = pieces
        guard has(.expires) else { throw SigningError(.template, value: "{expires}") }
        // Without either, one token opens everything.
        guard has(.path) != has(.scope) else { throw SigningError(.template, value: "{path}") }
    }

    /// True if the template has the placeholder.
    public func has(_ placeholder: Placeholder) -> Bool {
        pieces.contains { if case .value(let own) = $0 { own == placeholder } else { false } }
    }

    /// True if the digits at the end of a file's path may be read as the first of the expiry. A token for `/a9` is then
    /// one for `/a` with a later end.
    var mixesPathAndExpiry: Bool {
        isPath(before: .expires)
    }

    private func isPath(before placeholder: Placeholder) -> Bool {
        zip(pieces, pieces.dropFirst()).contains { $0 == .value(.path) && $1 == .value(placeholder) }
    }

    /// The values of a template's placeholders.
    package struct Values {
        package var expires: [UInt8]?
        package var path: [UInt8]?
        package var scope: [UInt8]?
        package var address: [UInt8]?
        package var secret: [UInt8]?

        package subscript(_ placeholder: Placeholder) -> [UInt8]? {
            switch placeholder {
            case .expires: expires
            case .path: path
            case .scope: scope
            case .address: address
            case .secret: secret
            }
        }
    }

    /// Returns the bytes that are signed.
    ///
    /// - Throws: ``SigningError`` with ``SigningError/Code/missing`` for a placeholder without a value.
    package func filled(_ values: Values) throws(SigningError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        var before: Placeholder?
        for piece in pieces {
            switch piece {
            case .text(let text):
                bytes.append(copying: text.utf8.span)
                before = nil
            case .value(let placeholder):
                guard let value = values[placeholder] else { throw SigningError(.missing, value: placeholder.rawValue) }
                // Digits of an address beside those of the expiry could be read as part of the other.
                if placeholder == .address && before == .expires || placeholder == .expires && before == .address {
                    throw SigningError(.template, value: "{address}{expires}")
                }
                bytes.append(copying: value.span)
                before = placeholder
            }
        }
        return bytes
    }

    /// Returns the values of a request, with its path raw or decoded. Throws if the template needs a folder and the request has
    /// a file, or the reverse.
    package func values(_ signing: Signing, isDecoded: Bool) throws(SigningError) -> Values {
        guard has(.scope) == signing.path.isFolder else { throw SigningError(.scope, value: "path") }
        if isPath(before: .address) { try signing.path.demandEnd() }
        let path = Array((isDecoded ? signing.path.decoded : signing.path.raw).utf8)
        var values = Values(expires: Array(String(signing.expires).utf8), path: path, scope: path)
        if let address = try signing.address() {
            // An unbound token in answer to a request for a bound one opens more than was meant.
            guard has(.address) else { throw SigningError(.template, value: "{address}") }
            values.address = Array(address.text.utf8)
        }
        return values
    }
}
