// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The outcome of verifying a JSON Web Signature.
public enum JWSVerification: Sendable {
    /// The key that made the code or signature, and the payload.
    ///
    /// The claims of the payload are still to be judged, first of all that its issuer is the key's.
    case verified(TokenKey, payload: [UInt8])
    /// No key made it, or it is damaged or not accepted.
    case refused(JOSERefusal)
}

/// A JSON Web Signature in its compact serialisation (RFC 7515 §7.1).
public enum JWS {
    /// The largest grant, in characters.
    public static let maximumSize = 8192

    /// Returns the largest token of a format, in characters. Identity providers write more claims than grants have.
    public static func maximumSize(of format: TokenFormat) -> Int {
        format == .accessToken ? 2 * maximumSize : maximumSize
    }
}

extension KeySet {
    /// Verifies a JSON Web Signature: its form, its header, and the code or signature by one of the keys.
    ///
    /// The header selects among the keys, and algorithm and operations of the key must agree with it. The payload is not
    /// read before it is authenticated.
    ///
    /// - Parameters:
    ///   - token: The token, at most ``JWS/maximumSize`` characters.
    ///   - header: The encoded header of tokens that have none and are only `payload.signature`; `nil` if all have one.
    ///   - format: The format that the keys must be for.
    ///   - now: The time at which the keys must be valid.
    ///   - issuer: The only issuer whose keys are tried; `nil` for any.
    public func verify(
        jws token: Span<UInt8>,
        header: Span<UInt8>? = nil,
        format: TokenFormat = .uriSigning,
        at now: Timestamp,
        issuer: String? = nil
    ) -> JWSVerification {
        guard token.count <= JWS.maximumSize(of: format) else { return .refused(.tooLarge) }
        let parts = JOSEParts(token)
        do throws(JOSERefusal) {
            let selection = Selection(format: format, issuer: issuer)
            if parts.count == 3 {
                let parts = Parts(
                    header: token.extracting(parts[0]),
                    payload: token.extracting(parts[1]),
                    signature: token.extracting(parts[2])
                )
                return try verify(parts, selection: selection, at: now)
            }
            guard parts.count == 2, let header else { throw .malformed }
            let parts = Parts(
                header: header,
                payload: token.extracting(parts[0]),
                signature: token.extracting(parts[1])
            )
            return try verify(parts, selection: selection, at: now)
        } catch { return .refused(error) }
    }

    /// The keys that may be tried.
    private struct Selection {
        let format: TokenFormat
        /// The only issuer; `nil` for any.
        let issuer: String?

        func permits(_ key: TokenKey, at now: Timestamp) -> Bool {
            key.format == format && key.operations.contains(.verify) && key.isValid(at: now)
                && issuer.map { $0.hasSameBytes(as: key.issuer) } ?? true
        }
    }

    /// The parts of a token in their characters.
    private struct Parts: ~Escapable {
        let header: Span<UInt8>
        let payload: Span<UInt8>
        let signature: Span<UInt8>

        @_lifetime(copy header, copy payload, copy signature)
        init(header: Span<UInt8>, payload: Span<UInt8>, signature: Span<UInt8>) {
            self.header = header
            self.payload = payload
            self.signature = signature
        }
    }

    private func verify(
        _ parts: borrowing Parts,
        selection: Selection,
        at now: Timestamp
    ) throws(JOSERefusal) -> JWSVerification {
        // Usual headers are small, and clearing room for the largest is slower than decoding them.
        guard parts.header.count <= 256 else {
            var buffer: [1056 of UInt8] = .init(repeating: 0)
            var output = buffer.mutableSpan
            return try verify(parts, decodingInto: &output, selection: selection, at: now)
        }
        var buffer: [224 of UInt8] = .init(repeating: 0)
        var output = buffer.mutableSpan
        return try verify(parts, decodingInto: &output, selection: selection, at: now)
    }

    private func verify(
        _ parts: borrowing Parts,
        decodingInto output: inout MutableSpan<UInt8>,
        selection: Selection,
        at now: Timestamp
    ) throws(JOSERefusal) -> JWSVerification {
        let count = try JOSEHeader.decode(parts.header, into: &output)
        let bytes = output.span.extracting(first: count)
        let header = try JOSEHeader(decoded: bytes)
        guard !header.isUnsupported else { throw .claimUnsupported }
        let algorithm = try header.signatureAlgorithm()
        let found =
            switch header.keyID {
            case .none: try candidates(for: algorithm, id: nil, header, in: bytes, selection: selection, at: now)
            case .range(let range):
                try candidates(
                    for: algorithm,
                    id: bytes.extracting(range),
                    header,
                    in: bytes,
                    selection: selection,
                    at: now
                )
            case .unescaped(let id):
                try candidates(for: algorithm, id: id.bytes.span, header, in: bytes, selection: selection, at: now)
            // No key has an empty identifier.
            case .impossible:
                try candidates(for: algorithm, id: Span(), header, in: bytes, selection: selection, at: now)
            }
        return try verify(parts, by: found)
    }

    /// Verifies a token by one of the keys that its header has selected.
    private func verify(_ parts: borrowing Parts, by found: Candidates) throws(JOSERefusal) -> JWSVerification {
        guard parts.signature.count <= 1368 else { throw .malformed }
        var buffer: [1056 of UInt8] = .init(repeating: 0)
        var output = buffer.mutableSpan
        guard let size = Base64.decodeURLSafe(parts.signature, into: &output) else { throw .malformed }
        let signature = output.span.extracting(first: size)
        var payload = [UInt8](repeating: 0, count: Base64.decodedCapacity(parts.payload.count))
        var decoded = payload.mutableSpan
        guard let count = Base64.decodeURLSafe(parts.payload, into: &decoded) else { throw .malformed }
        payload.removeLast(payload.count - count)

        let dot: [1 of UInt8] = [UInt8(ascii: ".")]
        var hasRightSize = false
        for index in 0..<found.count {
            let key = keys[found.indices[index]]
            guard signature.count == key.tokenSignatureSize else { continue }
            hasRightSize = true
            let isSigner = key.isSigner(
                signature,
                of: MessagePieces(first: parts.header, second: dot.span, third: parts.payload, fourth: Span())
            )
            if isSigner { return .verified(key, payload: payload) }
        }
        throw hasRightSize ? .signatureInvalid : .malformed
    }

    /// Returns the keys that a header selects: those with its identifier and algorithm, or the only one with the algorithm
    /// for a header without identifier.
    private func candidates(
        for algorithm: KeyAlgorithm,
        id wanted: Span<UInt8>?,
        _ header: JOSEHeader,
        in bytes: Span<UInt8>,
        selection: Selection,
        at now: Timestamp
    ) throws(JOSERefusal) -> Candidates {
        var found = Candidates()
        var (hasKey, isOtherType) = (false, false)
        for (index, key) in keys.enumerated() where selection.permits(key, at: now) {
            if let wanted {
                guard let own = key.id, own.bytes.span.hasSameBytes(as: wanted) else { continue }
            }
            hasKey = true
            guard key.algorithm == algorithm else { continue }
            guard key.types?.permit(header.type, in: bytes) ?? true else {
                isOtherType = true
                continue
            }
            guard found.add(index, limit: Self.maximumCandidates) else { throw .keyUnknown }
        }
        guard found.count > 0 else { throw isOtherType ? .typeRefused : hasKey ? .algorithmRefused : .keyUnknown }
        // Without an identifier, there must be no choice.
        guard wanted != nil || found.count == 1 else { throw .keyUnknown }
        return found
    }
}

extension TokenKey {
    /// The size of a code or signature by this key, in bytes.
    var tokenSignatureSize: Int {
        switch mechanism {
        case .mac(let key): key.size
        case .signature(let verifier, _): verifier.signatureSize
        }
    }

    func isSigner(_ signature: Span<UInt8>, of message: MessagePieces) -> Bool {
        switch mechanism {
        case .mac(let key): key.isValid(signature, of: message)
        case .signature(let verifier, _): verifier.isValid(signature, over: message)
        }
    }
}
