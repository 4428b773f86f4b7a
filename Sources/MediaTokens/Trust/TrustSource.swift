// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import MediaResources
internal import Platform

/// A source of trusted keys: PEM text, given or in a file, with certificates, public keys or both.
public struct TrustSource: Sendable {
    enum Content {
        case file(String)
        case text(String)
    }

    let content: Content
    /// The name of the keys in answers and logs. Further keys of one source get the suffix `#2`, `#3` and so on.
    let name: String
    let requestors: RequestorScope
    let validity: ClosedRange<Timestamp>?
    let tokens: MediaTokenForm

    /// Creates a source from a PEM file of at most 1 MiB, which is read when a ``TrustStore`` is loaded.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - name: The name of the keys; by default, the name of the file without folders and extension.
    ///   - requestors: The requestors whose tokens the keys may sign.
    ///   - validity: The period in which the keys may be used; unlimited by default. A certificate must be valid too.
    ///   - tokens: The form of the media tokens that the keys may sign, and no other.
    public static func file(
        _ path: String,
        name: String? = nil,
        requestors: RequestorScope = .any,
        validity: ClosedRange<Timestamp>? = nil,
        tokens: MediaTokenForm = .signedElement
    ) -> TrustSource {
        let file = path.split(separator: "/").last.map(String.init) ?? path
        let stem = file.lastIndex(of: ".").map { String(file[..<$0]) } ?? file
        return TrustSource(
            content: .file(path),
            name: name ?? (stem.isEmpty ? file : stem),
            requestors: requestors,
            validity: validity,
            tokens: tokens
        )
    }

    /// Creates a source from PEM text.
    ///
    /// - Parameters:
    ///   - text: PEM.
    ///   - name: The name of the keys.
    ///   - requestors: The requestors whose tokens the keys may sign.
    ///   - validity: The period in which the keys may be used; unlimited by default. A certificate must be valid too.
    ///   - tokens: The form of the media tokens that the keys may sign, and no other.
    public static func pem(
        _ text: String,
        name: String,
        requestors: RequestorScope = .any,
        validity: ClosedRange<Timestamp>? = nil,
        tokens: MediaTokenForm = .signedElement
    ) -> TrustSource {
        TrustSource(
            content: .text(text),
            name: name,
            requestors: requestors,
            validity: validity,
            tokens: tokens
        )
    }

    /// The name of this source in errors: the path of the file, or the name of the keys.
    var label: String {
        switch content {
        case .file(let path): path
        case .text: name
        }
    }

    /// Reads the PEM blocks of the source. Throws if there is none.
    func blocks() throws(TrustError) -> [PEM.Block] {
        let text: [UInt8]
        switch content {
        case .text(let given): text = [UInt8](given.utf8)
        case .file(let path):
            do { text = try path.bytesOfFile(limit: 1 << 20) } catch {
                throw TrustError(.fileUnreadable, source: path, reason: error.reason)
            }
        }
        let blocks: [PEM.Block]
        do { blocks = try PEM.blocks(text) } catch {
            throw TrustError(.malformedPEM, source: label, reason: "a PEM block is damaged: \(error.text)")
        }
        guard !blocks.isEmpty else {
            throw TrustError(
                .noKey,
                source: label,
                reason: "it has no PEM block (-----BEGIN CERTIFICATE----- or PUBLIC KEY)"
            )
        }
        return blocks
    }
}

/// A form of media tokens. A trusted key signs tokens of one form.
public enum MediaTokenForm: String, Hashable, Sendable, CaseIterable {
    /// An XML element behind its signature, by RSA: the form of the vendor's entitlement service.
    case signedElement = "signed-element"
    /// A compact JWS (RFC 7515) with the same fields, by a key of P-256 (`ES256`) or Ed25519 (`EdDSA`).
    case jws
}

/// The requestors whose tokens a key may sign.
public enum RequestorScope: Hashable, Sendable {
    /// Every requestor.
    case any
    /// These requestors only. Ids are compared by their bytes.
    case only([String])

    /// True if a key of this scope may sign a token for `requestorID`.
    public func covers(_ requestorID: String) -> Bool {
        switch self {
        case .any: true
        case .only(let ids): ids.contains { $0.hasSameBytes(as: requestorID) }
        }
    }
}

/// The smallest RSA modulus that is accepted.
public struct MinimumRSAKeySize: Hashable, Sendable {
    /// The size in bits.
    public let bits: Int

    /// 2048 bits, the default.
    public static let standard = MinimumRSAKeySize(bits: 2048)

    /// 1024 bits, as issuers used in the past. A determined attacker can break such a key: only for migrations.
    public static let legacy1024 = MinimumRSAKeySize(bits: 1024)

    /// Returns a size of at least 2048 bits. Smaller values count as 2048. For 1024 bits, use ``legacy1024``.
    public static func atLeast(_ bits: Int) -> MinimumRSAKeySize { MinimumRSAKeySize(bits: max(bits, 2048)) }
}
