// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
package import Platform
package import PlaybackGate
package import ReplayStores

// The revocations that API and operator page make.

extension Revocation {
    /// The longest time after an instant for which a token issued before it can be verified. It holds for any policy
    /// after a reload: one day, plus four minutes of leeway.
    private static let longestLife = VerificationPolicy.timeToLiveLimit + VerificationPolicy.leewayLimit * 2

    /// Creates the revocation of a body. Without `expires` it lasts until no token that it revokes can be
    /// verified, before or after any reload, but at most 400 days.
    package init(_ body: RevocationBody, for gate: Gate, at now: Timestamp) throws(APIRefusal) {
        // An issuer's clock may be ahead by the early leeway, so a token issued before a time may carry a later issue time.
        let ahead = gate.verifier.policy.earlyLeeway.milliseconds
        let issuedBefore = body.issuedBefore?.advanced(byMilliseconds: ahead)
        let latest = now.advanced(byMilliseconds: Duration.seconds(400 * 86_400).milliseconds)
        let lastIssued = max(now, issuedBefore ?? now)
        let lastVerified = lastIssued.advanced(byMilliseconds: Self.longestLife.milliseconds)
        let expires = body.expires ?? min(lastVerified, latest)
        guard now < expires, expires <= latest else {
            throw APIRefusal(.invalidRequest, details: "expires must be in the future and within 400 days")
        }
        switch body.subject {
        case .fingerprint(let fingerprint): self.init(.token(fingerprint), expires: expires)
        case .session(let guid):
            let latestIssue = now.advanced(byMilliseconds: ahead)
            self.init(.session(guid: guid, issuedBefore: issuedBefore ?? latestIssue), expires: expires)
        case .mvpd(let id):
            if !body.isForced { try gate.demandMVPD(id) }
            self.init(.mvpd(id: id, issuedBefore: issuedBefore ?? expires), expires: expires)
        case .playback(let session): self.init(.playback(session), expires: expires)
        case .token(let text):
            let answer = gate.verifier.authenticate(text, at: now)
            guard let token = answer.token else {
                throw APIRefusal(.tokenNotAuthentic, details: answer.reason?.rawValue)
            }
            self.init(.token(token.fingerprint), expires: expires)
        }
    }
}

extension Gate {
    /// Throws if policies name the MVPDs of every requestor, and not this one.
    fileprivate func demandMVPD(_ id: String) throws(APIRefusal) {
        let requestors = verifier.policy.requestors
        let isOpen = requestors.contains { requestor in
            !policies.contains { policy in
                policy.allowedMVPDs != nil
                    && policy.requestors.map { $0.contains { $0.utf8.elementsEqual(requestor.utf8) } } ?? true
            }
        }
        guard !isOpen else { return }
        let known = policies.flatMap { ($0.allowedMVPDs ?? []) + $0.deniedMVPDs }
        guard !known.contains(where: { $0.utf8.elementsEqual(id.utf8) }) else { return }
        let near = known.first { $0.lowercased() == id.lowercased() }.map { "; did you mean \($0)?" } ?? "."
        throw APIRefusal(
            .mvpdUnknown,
            details: "mvpd: \(id.printable(limit: 100)) is in no policy\(near) For a proxy MVPD, say force: true"
        )
    }

    /// Records a revocation, also for the grants of this process.
    package func record(
        _ revocation: Revocation,
        cache revocationCache: RevocationCache?,
        at now: Timestamp
    ) async throws(APIRefusal) {
        do throws(ReplayStoreError) { try await record(revocation, at: now) } catch {
            throw error.code == .full ? APIRefusal(.revocationsFull) : APIRefusal(DenyCode.replayStoreUnavailable)
        }
        revocationCache?.add(revocation, at: now)
    }
}
