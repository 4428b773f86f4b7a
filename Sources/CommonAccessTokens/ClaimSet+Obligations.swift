// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Cryptography
internal import EdgeTokens
internal import Encodings
internal import RequestTargets

// What is left to the caller's stores.

extension ClaimSet {
    /// Returns the refusal of a token whose obligations the caller cannot meet, or `nil`.
    func unmetObligation(_ context: borrowing CATContext) -> GrantRefusal? {
        if self[.rejection] != nil, !context.policy.hasRejectionList {
            return refusal(.claimUnsupported, by: .rejection, in: context)
        }
        switch replay {
        case 1:
            // Without a store, a replay cannot be excluded; without identity and end, none can be recorded.
            guard context.policy.hasReplayStore, self[.identifier] != nil, expires != nil else {
                return refusal(.replayed, by: .replay, in: context)
            }
        case 2:
            guard context.policy.hasReuseDetector, self[.identifier] != nil, expires != nil else {
                return refusal(.claimUnsupported, by: .replay, in: context)
            }
        default: break
        }
        return nil
    }

    /// Adds the obligations of a token that allows a request. Returns false if OpenSSL fails.
    func addObligations(
        to obligations: inout GrantObligations,
        in context: borrowing CATContext,
        for facts: RequestFacts
    ) -> Bool {
        if let range = self[.rejection] { obligations.rejection = rejection(in: context, at: range) }
        if replay > 0, let expires {
            guard let key = identity(context.payload) else { return false }
            let until = Timestamp(millisecondsSince1970: expires)
            obligations.use = .init(key: key, until: until, isWatched: replay == 2)
        }
        obligations.isRenewalDue = isRenewalDue(in: context, for: facts)
        return true
    }

    private func rejection(in context: borrowing CATContext, at range: Range<Int>) -> GrantObligations.Rejection? {
        do throws(ClaimFault) {
            var reader = ClaimReader(context.payload.extracting(range))
            let count = try reader.array(2...3)
            let probability = try reader.number(0...1)
            let id = try reader.bytes(1...64)
            let until = count == 3 ? try reader.time() : expires ?? .max
            return .init(
                probability: probability,
                id: [UInt8](copying: reader.source.extracting(id)),
                until: Timestamp(millisecondsSince1970: until)
            )
        } catch {
            return nil
        }
    }

    /// The identity of a token with `cti`: SHA-256 of the length of `iss` in two bytes, `iss`, and `cti`.
    package func identity(_ payload: Span<UInt8>) -> SHA256Digest? {
        guard let range = self[.identifier] else { return nil }
        var issuer: [UInt8] = []
        if let range = self[.issuer] {
            var walker = ItemWalker(payload, at: range)
            issuer = [UInt8](copying: payload.extracting(walker.string()))
        }
        var message = [UInt8(truncatingIfNeeded: issuer.count >> 8), UInt8(truncatingIfNeeded: issuer.count)] + issuer
        var walker = ItemWalker(payload, at: range)
        message.append(copying: payload.extracting(walker.string()))
        return SHA256.fingerprint(message)
    }

    /// True if the request may get a renewed token: it is in the window, its method reads, and the session continues.
    private func isRenewalDue(in context: borrowing CATContext, for facts: RequestFacts) -> Bool {
        guard case .valid(let times) = renewal, let expires, context.now >= times.start(end: expires) else {
            return false
        }
        guard facts.method == "GET" || facts.method == "HEAD" else { return false }
        let (end, overflow) = context.now.addingReportingOverflow(times.life)
        guard overflow || end > expires else { return false }
        if let sessionEnd { return Int64(sessionEnd) * 1000 > expires }
        return context.profile.maximumSession != nil
    }
}

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
        let now = Timestamp(millisecondsSince1970: context.now)
        guard isKey(of: proof, context, at: range),
            proof.isFor(facts.uri, method: method, token: token, within: settings.window, at: now)
        else { return refusal(.proofInvalid, by: .confirmation, in: context) }
        guard settings.isOnce else { return nil }
        guard context.policy.hasReplayStore, let use = proof.use(within: settings.window) else {
            return refusal(.replayed, by: .possession, in: context)
        }
        obligations.proofUse = use
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
