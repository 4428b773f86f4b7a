// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The outcome of verifying an envelope.
public enum COSEVerification: Sendable {
    /// The key that made the code or signature, and the payload's range in the envelope's bytes.
    ///
    /// The claims of the payload are still to be judged, first of all that its issuer is the key's.
    case verified(TokenKey, payload: Range<Int>)
    /// No key made it, or the envelope is damaged or not accepted.
    case refused(COSERefusal)
}

extension KeySet {
    /// Verifies an envelope: its form, its headers, and the code or signature by one of the keys.
    ///
    /// Tag, algorithm of the headers, type, algorithm and operations of the key must agree. The payload is not read.
    /// Only OpenSSL allocates memory.
    ///
    /// - Parameters:
    ///   - bytes: The envelope, at most 4,096 bytes; see ``COSEText`` for its text.
    ///   - format: The format that the keys must be for.
    ///   - now: The time at which the keys must be valid.
    ///   - maximumAttempts: The largest number of keys that are tried, at most 8. If more are possible, none is.
    ///   - issuer: The only issuer whose keys are tried; `nil` for any.
    public func verify(
        cose bytes: Span<UInt8>,
        format: TokenFormat = .cat,
        at now: Timestamp,
        maximumAttempts: Int = KeySet.maximumCandidates,
        issuer: String? = nil
    ) -> COSEVerification {
        switch COSEMessage.parse(bytes) {
        case .failure(let refusal): .refused(refusal)
        case .success(let message):
            verify(message, in: bytes, format: format, at: now, maximumAttempts: maximumAttempts, issuer: issuer)
        }
    }

    /// Verifies a parsed envelope; see ``verify(cose:format:at:maximumAttempts:issuer:)``.
    ///
    /// - Parameters:
    ///   - message: The envelope.
    ///   - bytes: The bytes that it was parsed from.
    ///   - format: The format that the keys must be for.
    ///   - now: The time at which the keys must be valid.
    ///   - maximumAttempts: The largest number of keys that are tried, at most 8. If more are possible, none is.
    ///   - issuer: The only issuer whose keys are tried; `nil` for any.
    public func verify(
        _ message: COSEMessage,
        in bytes: Span<UInt8>,
        format: TokenFormat = .cat,
        at now: Timestamp,
        maximumAttempts: Int = KeySet.maximumCandidates,
        issuer: String? = nil
    ) -> COSEVerification {
        guard message.end <= bytes.count else { return .refused(.malformed) }
        do throws(COSERefusal) {
            let isShort = message.isShortMAC
            let found = try candidates(
                for: try query(for: message, in: bytes, format: format, isShort: isShort),
                at: now,
                limit: maximumAttempts,
                issuer: issuer
            )
            var hasRightSize = false
            for index in 0..<found.count {
                let key = keys[found.indices[index]]
                guard message.signature.count == (isShort ? 8 : key.signatureSize) else { continue }
                hasRightSize = true
                if key.isSigner(of: message, in: bytes) { return .verified(key, payload: message.payload) }
            }
            return .refused(hasRightSize ? .signatureInvalid : .malformed)
        } catch { return .refused(error) }
    }

    @_lifetime(copy bytes)
    private func query(
        for message: COSEMessage,
        in bytes: Span<UInt8>,
        format: TokenFormat,
        isShort: Bool
    ) throws(COSERefusal) -> Query {
        let isMAC = message.kind == .mac0
        var algorithm: KeyAlgorithm?
        if let identifier = message.algorithm {
            algorithm = isShort ? .hs256 : KeyAlgorithm(coseIdentifier: identifier)
            guard let algorithm, algorithm.isMAC == isMAC else { throw .algorithmRefused }
        }
        return Query(
            format: format,
            hasID: message.keyID != nil,
            id: bytes.extracting(message.keyID ?? 0..<0),
            isTextID: message.headers.isTextKeyID,
            algorithm: algorithm,
            isShortMAC: isShort,
            isMAC: isMAC
        )
    }
}

extension COSEMessage {
    /// True for `HMAC 256/64` (RFC 9053 §3.1).
    fileprivate var isShortMAC: Bool { headers.algorithm == 4 }

    /// The end of the last part.
    fileprivate var end: Int { max(signature.upperBound, payloadItem.upperBound, protectedItem.upperBound) }

    /// Calls `body` with the authenticated bytes (RFC 9052 §4.4 and §6.3), without copies.
    ///
    /// - Parameter omitsEmptyMap: True to write a protected header of no entries as no bytes.
    fileprivate func withAuthenticated(
        in bytes: Span<UInt8>,
        omitsEmptyMap: Bool,
        body: (MessagePieces) -> Bool
    ) -> Bool {
        let start = COSEStructure.start(kind)
        let none: [1 of UInt8] = [0x40]
        let protected = omitsEmptyMap ? none.span : bytes.extracting(protectedItem)
        return body(
            MessagePieces(
                first: start.bytes.span.extracting(first: start.count),
                second: protected,
                third: none.span,
                fourth: bytes.extracting(payloadItem)
            )
        )
    }
}

/// The constant parts of the authenticated bytes.
enum COSEStructure {
    /// The head of the array and the context text. The rest of the bytes is not used.
    static func start(_ kind: COSEMessage.Kind) -> (bytes: [12 of UInt8], count: Int) {
        switch kind {
        // "MAC0"
        case .mac0: ([0x84, 0x64, 0x4D, 0x41, 0x43, 0x30, 0, 0, 0, 0, 0, 0], 6)
        // "Signature1"
        case .sign1: ([0x84, 0x6A, 0x53, 0x69, 0x67, 0x6E, 0x61, 0x74, 0x75, 0x72, 0x65, 0x31], 12)
        }
    }
}

extension TokenKey {
    /// The size of a code or signature by this key, in bytes.
    var signatureSize: Int {
        switch mechanism {
        case .mac(let key): key.size
        case .signature(let verifier, _): verifier.signatureSize
        }
    }

    /// True if the code or signature of `message` is by this key.
    fileprivate func isSigner(of message: COSEMessage, in bytes: Span<UInt8>) -> Bool {
        if isSigner(of: message, in: bytes, omitsEmptyMap: false) { return true }
        // RFC 9052 has no bytes for an empty map, and some implementations encode the map itself.
        guard message.headers.isProtectedEmpty, message.protectedItem.count > 1 else { return false }
        return isSigner(of: message, in: bytes, omitsEmptyMap: true)
    }

    private func isSigner(of message: COSEMessage, in bytes: Span<UInt8>, omitsEmptyMap: Bool) -> Bool {
        message.withAuthenticated(in: bytes, omitsEmptyMap: omitsEmptyMap) { pieces in
            let signature = bytes.extracting(message.signature)
            switch mechanism {
            case .mac(let key):
                return key.isValid(signature, of: pieces, length: message.isShortMAC ? 8 : key.size)
            case .signature(let verifier, _): return verifier.isValid(signature, over: pieces)
            }
        }
    }
}
