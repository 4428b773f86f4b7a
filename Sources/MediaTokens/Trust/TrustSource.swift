// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import MediaResources
internal import Platform

/// Where trusted keys come from: PEM text, from a file or given, with certificates or public keys or both.
public struct TrustSource: Sendable {
    enum Content {
        case file(String)
        case text(String)
    }

    let content: Content
    /// The name of the keys in answers and logs. Several keys of one source are told apart by `#2`, `#3` …
    let name: String
    let requestors: RequestorScope
    let validity: ClosedRange<Timestamp>?

    /// Keys in a file of at most 1 MiB.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - name: The name of the keys; that of the file without folders and extension by default.
    ///   - requestors: The requestors whose tokens the keys may sign.
    ///   - validity: When the keys may be used; a certificate must be valid too. Always by default.
    public static func file(
        _ path: String,
        name: String? = nil,
        requestors: RequestorScope = .any,
        validity: ClosedRange<Timestamp>? = nil
    ) -> TrustSource {
        let file = path.split(separator: "/").last.map(String.init) ?? path
        let stem = file.lastIndex(of: ".").map { String(file[..<$0]) } ?? file
        return TrustSource(
            content: .file(path),
            name: name ?? (stem.isEmpty ? file : stem),
            requestors: requestors,
            validity: validity
        )
    }

    /// Keys in a text.
    ///
    /// - Parameters:
    ///   - text: PEM.
    ///   - name: The name of the keys.
    ///   - requestors: The requestors whose tokens the keys may sign.
    ///   - validity: When the keys may be used; a certificate must be valid too. Always by default.
    public static func pem(
        _ text: String,
        name: String,
        requestors: RequestorScope = .any,
        validity: ClosedRange<Timestamp>? = nil
    ) -> TrustSource {
        TrustSource(content: .text(text), name: name, requestors: requestors, validity: validity)
    }

    /// What errors call this source.
    var label: String {
        switch content {
        case .file(let path): path
        case .text: name
        }
    }

    /// The blocks of the text, at least one.
    func blocks() throws(TrustError) -> [PEM.Block] {
        let text: [UInt8]
        switch content {
        case .text(let given): text = [UInt8](given.utf8)
        case .file(let path):
            do { text = try path.bytesOfFile(limit: 1 << 20) } catch {
                throw TrustError(.fileUnreadable, path, error.reason)
            }
        }
        let blocks: [PEM.Block]
        do { blocks = try PEM.blocks(text) } catch {
            throw TrustError(.malformedPEM, label, "a PEM block is damaged: \(error.text)")
        }
        guard !blocks.isEmpty else {
            throw TrustError(.noKey, label, "there is no PEM block (-----BEGIN CERTIFICATE----- or PUBLIC KEY) in it")
        }
        return blocks
    }
}

/// The requestors whose tokens a key may sign.
public enum RequestorScope: Hashable, Sendable {
    /// Every requestor.
    case any
    /// These requestors and no other, by the bytes of their ids.
    case only([String])

    /// Whether a key of this scope may sign a token for `requestorID`.
    public func covers(_ requestorID: String) -> Bool {
        switch self {
        case .any: true
        case .only(let ids): ids.contains { $0.hasSameBytes(as: requestorID) }
        }
    }
}

/// The smallest RSA modulus that is taken.
public struct MinimumRSAKeySize: Hashable, Sendable {
    /// The size in bits.
    public let bits: Int

    /// 2048 bits, the default.
    public static let standard = MinimumRSAKeySize(bits: 2048)

    /// 1024 bits, as issuers used in the past. Such a key can be broken by who is determined to: only for a time of change.
    public static let legacy1024 = MinimumRSAKeySize(bits: 1024)

    /// A size of at least 2048 bits; smaller ones count as 2048. For less there is ``legacy1024``.
    public static func atLeast(_ bits: Int) -> MinimumRSAKeySize { MinimumRSAKeySize(bits: max(bits, 2048)) }
}
