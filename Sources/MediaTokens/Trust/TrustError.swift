// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography

/// The reason why keys cannot be trusted or used: it names the file and what is wrong with it.
///
/// Two errors are equal when their codes are.
public struct TrustError: Error, Sendable {
    /// What is wrong; stable, for programs.
    public let code: Code
    /// The file or name that the fault is in; empty where it is in none.
    public let source: String
    /// What is wrong, in words, for people. Holds nothing of a private key.
    public let reason: String

    /// What is wrong with a key or its file.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// The file cannot be read, or is larger than 1 MiB.
        case fileUnreadable = "trust_file_unreadable"
        /// There is no PEM block in the text.
        case noKey = "trust_no_key"
        /// A PEM block is damaged, or is not what its label says.
        case malformedPEM = "trust_malformed_pem"
        /// A private key stands where only public ones belong.
        case privateKeyPresent = "trust_private_key_present"
        /// The key is not RSA, or the block is neither a certificate nor a public key.
        case unsupportedKey = "trust_unsupported_key"
        /// The modulus has fewer bits than demanded.
        case keyTooSmall = "trust_key_too_small"
        /// The modulus has more than 8192 bits.
        case keyTooLarge = "trust_key_too_large"
        /// The public exponent is even or smaller than 65537.
        case weakExponent = "trust_weak_exponent"
        /// The certificate or key is not valid yet.
        case notYetValid = "trust_not_yet_valid"
        /// The certificate or key is not valid any more.
        case noLongerValid = "trust_no_longer_valid"
        /// No chain of certificates leads to an anchor.
        case untrustedChain = "trust_untrusted_chain"
        /// More than 8 different keys: each costs a check for every forged token.
        case tooManyKeys = "trust_too_many_keys"
        /// The requestor scope names nobody.
        case emptyScope = "trust_empty_scope"
        /// OpenSSL failed.
        case internalFailure = "trust_internal_failure"
    }

    init(_ code: Code, _ source: String, _ reason: String) {
        self.code = code
        self.source = source
        self.reason = reason
    }
}

extension TrustError: Equatable {
    /// Equality of codes.
    public static func == (left: TrustError, right: TrustError) -> Bool { left.code == right.code }
}

extension TrustError: CustomStringConvertible {
    public var description: String { (source.isEmpty ? "" : "\(source): ") + "\(reason) [\(code.rawValue)]" }
}

extension TrustError {
    init(_ fault: KeyFault, _ source: String) {
        switch fault {
        case .notRSA: self.init(.unsupportedKey, source, "the key is not an RSA key")
        case .tooSmall(let bits, let minimum):
            self.init(.keyTooSmall, source, "the RSA key has \(bits) bits, fewer than \(minimum)")
        case .tooLarge(let bits):
            self.init(.keyTooLarge, source, "the RSA key has \(bits) bits, more than \(RSAPublicKey.maximumBits)")
        case .weakExponent:
            self.init(
                .weakExponent,
                source,
                "the public exponent of the RSA key is even or smaller than \(RSAPublicKey.minimumExponent)"
            )
        case .unreadable(let error): self.init(.malformedPEM, source, "the key cannot be read: \(error.text)")
        }
    }
}
