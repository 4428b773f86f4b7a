// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography

/// An error in loading or using keys. It names the source and explains the fault.
///
/// Two errors are equal if their codes are equal.
public struct TrustError: Error, Sendable {
    /// The kind of error; stable, for programs.
    public let code: Code
    /// The file or name with the fault; empty if the error is not in one source.
    public let source: String
    /// The explanation in words, for people. Contains no part of a private key.
    public let reason: String

    /// The kind of an error in keys or their source.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// The file cannot be read, or is larger than 1 MiB.
        case fileUnreadable = "trust_file_unreadable"
        /// There is no key of the required kind.
        case noKey = "trust_no_key"
        /// A PEM block is damaged, or its content does not match its label.
        case malformedPEM = "trust_malformed_pem"
        /// A private key was found where only public keys are allowed.
        case privateKeyPresent = "trust_private_key_present"
        /// The key is not RSA or is encrypted, or the PEM block is of a kind that is not accepted.
        case unsupportedKey = "trust_unsupported_key"
        /// The modulus has fewer bits than required.
        case keyTooSmall = "trust_key_too_small"
        /// The modulus has more than 8192 bits.
        case keyTooLarge = "trust_key_too_large"
        /// The public exponent is even or smaller than 65537.
        case weakExponent = "trust_weak_exponent"
        /// No certificate chain leads to an anchor.
        case untrustedChain = "trust_untrusted_chain"
        /// There are more than 8 different keys. Each one costs a check for every forged token.
        case tooManyKeys = "trust_too_many_keys"
        /// The requestor scope is empty.
        case emptyScope = "trust_empty_scope"
        /// OpenSSL failed.
        case internalFailure = "trust_internal_failure"
    }

    init(_ code: Code, source: String, reason: String) {
        self.code = code
        self.source = source
        self.reason = reason
    }
}

extension TrustError: Equatable {
    /// True if both errors have the same code.
    public static func == (left: TrustError, right: TrustError) -> Bool { left.code == right.code }
}

extension TrustError: CustomStringConvertible {
    /// The source, the reason, and the code in brackets.
    public var description: String { (source.isEmpty ? "" : "\(source): ") + "\(reason) [\(code.rawValue)]" }
}

extension TrustError {
    init(_ fault: KeyFault, source: String) {
        switch fault {
        case .notRSA:
            self.init(
                .unsupportedKey,
                source: source,
                reason: "the key is not an RSA key; keys of JWS media tokens are named as such"
            )
        case .tooSmall(let bits, let minimum):
            self.init(.keyTooSmall, source: source, reason: "the RSA key has \(bits) bits, fewer than \(minimum)")
        case .tooLarge(let bits):
            self.init(
                .keyTooLarge,
                source: source,
                reason: "the RSA key has \(bits) bits, more than \(RSAPublicKey.maximumBits)"
            )
        case .weakExponent:
            self.init(
                .weakExponent,
                source: source,
                reason: "the public exponent of the RSA key is even or smaller than \(RSAPublicKey.minimumExponent)"
            )
        case .unreadable(let error):
            self.init(.malformedPEM, source: source, reason: "the key cannot be read: \(error.text)")
        }
    }
}
