// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography

/// An error of a caller whose input is not a key or a set of keys.
///
/// Two errors are equal if their codes are equal.
public struct KeySetError: Error, Sendable {
    /// A stable code.
    @nonexhaustive
    public enum Code: String, Sendable {
        /// The bytes are larger than 64 KiB.
        case tooLarge = "key_set_too_large"
        /// The bytes are not a key or a set of keys.
        case malformed = "key_set_malformed"
        /// A private or symmetric key in a set that others publish.
        case privateKeyPresent = "private_key_present"
        /// Two keys for the same algorithm with the same identifier.
        case duplicateKeyID = "duplicate_key_id"
        /// A set without a key that can be used.
        case noUsableKey = "no_usable_key"
        /// A set with more than 32 keys that can be used.
        case tooManyKeys = "too_many_keys"
        /// A key of an unsupported type or size, with wrong numbers, or for another algorithm or use.
        case unusableKey = "key_unusable"
    }

    /// The code.
    public let code: Code
    /// An explanation for people, without any part of a key.
    public let reason: String

    package init(_ code: Code, reason: String = "") {
        self.code = code
        self.reason = reason
    }

    init(_ fault: KeyMaterialFault) {
        let reason =
            switch fault {
            case .malformed: "the key is damaged, or its point is not on the curve"
            case .unsupported: "the type of key is none of RSA, P-256, P-384, P-521 and Ed25519"
            case .size(let bits): "the RSA key has \(bits) bits, not 2048 to 8192"
            case .weakExponent: "the public exponent of the RSA key is even, 1, or longer than 32 bits"
            case .mismatch: "the private part of the key does not belong to the public one"
            }
        self.init(.unusableKey, reason: reason)
    }
}

extension KeySetError: Equatable {
    /// True if both errors have the same code.
    public static func == (left: KeySetError, right: KeySetError) -> Bool { left.code == right.code }
}

extension KeySetError: CustomStringConvertible {
    /// The reason, and the code in brackets.
    public var description: String { "\(reason) [\(code.rawValue)]" }
}
