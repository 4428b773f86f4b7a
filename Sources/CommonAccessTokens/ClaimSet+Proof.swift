// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import EdgeTokens
internal import Encodings
internal import RequestTargets

extension ClaimSet {
    /// Returns the refusal if the request lacks the proof of possession that `cnf` demands; `nil` if it has the proof.
    ///
    /// - Parameters:
    ///   - context: The range of `cnf`.
    ///   - token: The token as presented.
    ///   - obligations: Receives the use of the proof, if each proof is valid for one use only.
    func proofRefusal(
        in context: borrowing CATContext,
        at range: Range<Int>,
        presentedAs token: Span<UInt8>,
        for facts: RequestFacts,
        addingTo obligations: inout GrantObligations
    ) -> GrantRefusal? {
        guard let headers = facts.headers else { return refusal(unknown: .headers, by: .confirmation, in: context) }
        let lines = headers.values(of: "DPoP")
        guard let line = lines.first else { return refusal(.proofMissing, by: .confirmation, in: context) }
        guard lines.count == 1, let proof = PossessionProof(line, algorithms: context.policy.proofAlgorithms) else {
            return refusal(.proofInvalid, by: .confirmation, in: context)
        }
        guard facts.uri.scheme != nil else { return refusal(unknown: .scheme, by: .confirmation, in: context) }
        guard facts.uri.host != nil else { return refusal(unknown: .host, by: .confirmation, in: context) }
        guard let method = facts.method else { return refusal(unknown: .method, by: .confirmation, in: context) }
        let settings = possession(context)
        let digest = MessageDigest.sha256.isDigest(proof.tokenDigest.span, of: token)
        guard isKey(of: proof, context, at: range), digest, proof.method == method, proof.isFor(facts.uri),
            abs(context.now / 1000 - proof.issued) <= settings.window
        else { return refusal(.proofInvalid, by: .confirmation, in: context) }
        guard settings.isOnce else { return nil }
        guard context.policy.hasReplayStore,
            let key = SHA256.fingerprint(proof.jwkThumbprint + [UInt8](proof.identifier.utf8))
        else { return refusal(.replayed, by: .possession, in: context) }
        let until = Timestamp(secondsSince1970: proof.issued + settings.window)
        obligations.proofUse = .init(key: key, until: until, isWatched: false)
        return nil
    }

    /// True if the proof is by the key that `cnf` names.
    private func isKey(of proof: PossessionProof, _ context: borrowing CATContext, at range: Range<Int>) -> Bool {
        var walker = ItemWalker(context.payload, at: range)
        _ = walker.count()
        let thumbprint = walker.integer() == 323 ? proof.jwkThumbprint : proof.coseThumbprint
        return context.payload.extracting(walker.string()).hasSameBytes(as: thumbprint.span)
    }

    /// The settings of `catdpop`: the window in seconds, and whether each proof is valid for one use only.
    private func possession(_ context: borrowing CATContext) -> (window: Int64, isOnce: Bool) {
        var settings: (window: Int64, isOnce: Bool) = (300, false)
        guard let range = self[.possession] else { return settings }
        do throws(ClaimFault) {
            var reader = ClaimReader(context.payload.extracting(range))
            for _ in 0..<(try reader.map(0...256)) {
                switch try reader.next().integer {
                case 0: settings.window = Int64(try reader.unsigned(1...3600))
                case 1: settings.isOnce = try reader.unsigned(0...UInt64.max) == 1
                default: try reader.skip()
                }
            }
        } catch {
            // Checked when the token was read. The strictest settings otherwise.
            return (0, true)
        }
        return settings
    }
}
