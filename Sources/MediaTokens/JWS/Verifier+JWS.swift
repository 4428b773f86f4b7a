// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Platform

extension Verifier {
    /// Splits, authenticates and reads a media token in JWS compact form. The order is that of other tokens.
    func parseJWS(_ token: Span<UInt8>, in context: VerificationContext, at now: Timestamp) -> Outcome {
        let envelope: JWSEnvelope
        let scheme: SignatureScheme
        switch JWSEnvelope.split(token) {
        case .success(let parts): envelope = parts
        case .failure(let reason): return .refused(reason, key: nil)
        }
        let header = context.raw.fill(
            { Base64.decodeURLSafe(token.extracting(envelope.header), into: &$0) },
            then: { JWSEnvelope.scheme($0) }
        )
        switch header ?? .failure(.invalidBase64) {
        case .success(let named): scheme = named
        case .failure(let reason): return .refused(reason, key: nil)
        }
        let text = token.extracting(envelope.signature)
        guard 1...context.maximumSignatureCharacters ~= text.count else {
            return .refused(.invalidSignatureEncoding, key: nil)
        }
        let signed = token.extracting(envelope.signed)
        let signer = context.signature.fill({ Base64.decodeURLSafe(text, into: &$0) }) { signature in
            jwsSigner(
                of: signature,
                over: MessagePieces(signed),
                scheme: scheme,
                header: token.extracting(envelope.header),
                in: context,
                at: now
            )
        }
        switch signer ?? .failure(.invalidSignatureEncoding) {
        case .failure(let reason): return .refused(reason, key: nil)
        case .success(let key):
            return read(signed, payload: token.extracting(envelope.payload), signedBy: key, in: context)
        }
    }

    /// Reads the payload of a token with a trusted signature.
    private func read(
        _ signed: Span<UInt8>,
        payload: Span<UInt8>,
        signedBy key: Int,
        in context: VerificationContext
    ) -> Outcome {
        guard let digest = context.sha256?.hash(signed) else { return .refused(.internalFailure, key: nil) }
        let fields = context.raw.fill({ Base64.decodeURLSafe(payload, into: &$0) }) { bytes in
            Result { () throws(RefusalReason) in try TokenFields.read(json: bytes) }
        }
        switch fields ?? .failure(.invalidBase64) {
        case .success(let fields): return .authentic(MediaToken(fields: fields, fingerprint: digest), key: key)
        case .failure(let reason): return .refused(reason, key: key)
        }
    }

    /// Returns the candidate that made `signature` with `scheme`. Keys of other schemes are never tried; those that have signed
    /// tokens with the same header are tried first.
    private func jwsSigner(
        of signature: Span<UInt8>,
        over message: MessagePieces,
        scheme: SignatureScheme,
        header: Span<UInt8>,
        in context: VerificationContext,
        at now: Timestamp
    ) -> Result<Int, RefusalReason> {
        var refusal = RefusalReason.noUsableKey
        let signers = elementSigners..<candidates.count
        let kind = signers.count > 1 ? SignerHistory.kind(ofHeader: header) : 1
        var tried: UInt64 = 0
        for _ in signers {
            let index = context.signers.next(for: kind, after: tried, among: signers)
            tried |= 1 << UInt64(index)
            guard candidates[index].isUsable(at: now) else { continue }
            let verifier = trust.jwsGroups[candidates[index].index].verifier
            guard verifier.scheme == scheme else { continue }
            guard candidates[index].signatureSize == signature.count else {
                if refusal == .noUsableKey { refusal = .signatureLength }
                continue
            }
            if verifier.isValid(signature, over: message) {
                if signers.count > 1 { context.signers.record(index, for: kind) }
                return .success(index)
            }
            refusal = .untrustedSignature
        }
        return .failure(refusal)
    }
}
