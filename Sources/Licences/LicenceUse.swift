// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The number of licences that a playback gets.
///
/// One playback makes several requests for licences: for a certificate, for each key, for renewals, and again after a fault. So
/// they consume no media token, and have a rule of their own.
public enum LicenceUse: String, Hashable, Sendable, CaseIterable {
    /// Any number while the playback lives.
    case session
    /// One for each content key. Edges refuse, because only backends know the key.
    case oncePerKey = "once-per-key"
    /// One. A renewal is refused, and so is the repetition of a request whose answer was lost.
    case once
}

/// The id of a content key (`KID`): 16 bytes, in the order of the digits of a UUID. Source: ISO/IEC 23001-7.
public struct ContentKeyID: Hashable, Sendable {
    /// The 16 bytes.
    public let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads an id.
    ///
    /// - Parameter text: 32 hexadecimal digits, with the hyphens of a UUID or without any.
    /// - Returns: `nil` for another text.
    public init?(_ text: some StringProtocol) {
        var digits = Array(text.utf8)
        if digits.count == 36 {
            for index in [23, 18, 13, 8] {
                guard digits[index] == UInt8(ascii: "-") else { return nil }
                digits.remove(at: index)
            }
        }
        guard digits.count == 32, let bytes = [UInt8](hexadecimalDigits: digits) else { return nil }
        self.bytes = bytes
    }
}

extension ContentKeyID: CustomStringConvertible {
    /// The UUID, in lower case.
    public var description: String {
        let digits = Array(bytes.hexadecimal)
        return [digits[..<8], digits[8..<12], digits[12..<16], digits[16..<20], digits[20...]].map { String($0) }
            .joined(separator: "-")
    }
}
