// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The parts of a media token in JWS compact form, as ranges of its bytes.
///
/// ```text
/// BASE64URL(header) . BASE64URL(payload) . BASE64URL(signature)
/// ```
///
/// The header has the type ``type``, so that no other JWT by the same key is a media token (RFC 8725 §3.11), and the
/// algorithm, which must be that of a trusted key. Keys in the header (`jwk`, `jku`, `x5c`, `x5u`) are ignored, and so
/// is `kid`: the trust store decides. Source: RFC 7515 §3.1, §7.1.
struct JWSEnvelope {
    let header: Range<Int>
    let payload: Range<Int>
    let signature: Range<Int>

    /// The signed bytes: header and payload in Base64, with the dot between them.
    var signed: Range<Int> { header.lowerBound..<payload.upperBound }

    /// The type (`typ`) of a media token.
    static let type = "mediatoken+jwt"

    private static let limits = JSONLimits(depth: 4, members: 16, elements: 16)

    /// True if `token`, which must not be empty, begins like a JWS: with an object in Base64. No signed element does.
    static func isOne(_ token: Span<UInt8>) -> Bool { token.starts(with: "ey", at: 0) }

    /// True if the type in the header of a JWS is ``type``.
    static func hasType(_ token: Span<UInt8>) -> Bool {
        guard let end = token.firstIndex(of: UInt8(ascii: "."), from: 0), end <= 1024 else { return false }
        var bytes = [UInt8](repeating: 0, count: Base64.decodedCapacity(end))
        var output = bytes.mutableSpan
        guard let count = Base64.decodeURLSafe(token.extracting(..<end), into: &output) else { return false }
        var reader = JSONMemberReader(output.span.extracting(first: count), limits: limits)
        while let member = try? reader.next() {
            guard (try? reader.index(of: member, in: Name.names)) == Name.all.firstIndex(of: .type) else { continue }
            let isNamed = try? reader.withText(of: member) { $0.hasSameBytes(as: type.utf8.span) }
            return isNamed ?? false
        }
        return false
    }

    /// Splits a token into its three parts, and decodes none.
    static func split(_ token: Span<UInt8>) -> Result<JWSEnvelope, RefusalReason> {
        let dot = UInt8(ascii: ".")
        guard let first = token.firstIndex(of: dot, from: 0),
            let second = token.firstIndex(of: dot, from: first + 1),
            token.firstIndex(of: dot, from: second + 1) == nil
        else { return .failure(.invalidEnvelope) }
        let parts = JWSEnvelope(header: 0..<first, payload: first + 1..<second, signature: second + 1..<token.count)
        guard !parts.header.isEmpty, !parts.payload.isEmpty else { return .failure(.invalidEnvelope) }
        return .success(parts)
    }

    /// The members of a header that are looked at.
    private enum Name: String, CaseIterable {
        case type = "typ"
        case algorithm = "alg"
        /// An extension that must be understood (RFC 7515 §4.1.11), and none is.
        case critical = "crit"

        static let all = allCases
        static let names = JSONNames(all.map(\.rawValue))
    }

    /// Reads the decoded header. Returns the scheme of the signature.
    static func scheme(_ header: Span<UInt8>) -> Result<SignatureScheme, RefusalReason> {
        var scheme: SignatureScheme?
        var isMediaToken = false
        var hasExtension = false
        var reader = JSONMemberReader(header, limits: limits)
        do throws(JSONFault) {
            while let member = try reader.next() {
                guard let index = try reader.index(of: member, in: Name.names) else { continue }
                switch Name.all[index] {
                case .type:
                    isMediaToken = try reader.withText(of: member) { $0.hasSameBytes(as: type.utf8.span) } ?? false
                case .algorithm:
                    scheme = try reader.withText(of: member) { SignatureScheme(mediaTokenAlgorithm: $0) } ?? nil
                case .critical: hasExtension = true
                }
            }
        } catch { return .failure(.invalidEnvelope) }
        guard !hasExtension else { return .failure(.invalidEnvelope) }
        guard isMediaToken else { return .failure(.unsupportedRoot) }
        return scheme.map { .success($0) } ?? .failure(.noUsableKey)
    }
}

extension SignatureScheme {
    /// Creates the scheme of an `alg` value that media tokens may have.
    fileprivate init?(mediaTokenAlgorithm value: Span<UInt8>) {
        func isNamed(_ name: String) -> Bool { value.hasSameBytes(as: name.utf8.span) }
        if isNamed("ES256") {
            self = .es256
        } else if isNamed("EdDSA") || isNamed("Ed25519") {
            // The older name and that of RFC 9864.
            self = .ed25519
        } else {
            return nil
        }
    }

    /// The name in the header of a token.
    var mediaTokenAlgorithm: String { self == .es256 ? "ES256" : "EdDSA" }
}
