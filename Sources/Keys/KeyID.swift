// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The identifier of a key (`kid`): 1 to 64 bytes that are compared, and mean nothing else.
public struct KeyID: Hashable, Sendable {
    /// The bytes.
    public let bytes: [UInt8]

    /// The largest number of bytes.
    public static let maximumSize = 64

    /// Creates an identifier. Returns `nil` if `bytes` are none, or more than 64.
    public init?(_ bytes: [UInt8]) {
        guard 1...Self.maximumSize ~= bytes.count else { return nil }
        self.bytes = bytes
    }

    /// Creates an identifier of the UTF-8 bytes of `text`. Returns `nil` if they are none, or more than 64.
    public init?(_ text: String) { self.init([UInt8](text.utf8)) }

    /// The text of the identifier, or `nil` if it is not UTF-8.
    public var text: String? {
        guard let text = try? UTF8Span(validating: bytes.span) else { return nil }
        return String(copying: text)
    }
}

extension KeyID: CustomStringConvertible {
    /// The text in one printable line, or the bytes in hexadecimal: for logs.
    public var description: String { text?.printable(limit: 64) ?? bytes.hexadecimal }
}
