// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
public import MediaResources
internal import Platform
internal import Synchronization

/// The judge of media tokens: signature, fields, requestor, time and resource, in this order.
///
/// A pure function of token, trust, policy and clock; the first check that does not pass is the answer. Whether the
/// token was used before is not its business: see the gate. Make one and share it: any number of threads may verify at
/// once, and they share no lock. When trust changes, make a new one.
///
/// ```swift
/// let trust = try TrustStore(files: ["signer.pem"], at: .now())
/// let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
/// let answer = verifier.verify(token, for: try MediaResource("TNT"), at: .now())
/// guard answer.isValid else { return refuse(answer.reason) }
/// ```
public struct Verifier: Sendable {
    /// The keys whose signatures are believed.
    public let trust: TrustStore
    /// What is demanded beside a trusted signature.
    public let policy: VerificationPolicy
    /// What remembers signatures that were checked, if anything.
    public let cache: AuthenticatedTokenCache?

    /// The keys that this policy lets speak for one of its requestors.
    private let candidates: [Candidate]

    /// A key by its place in the trust store, with what is believed of it for requestors of the policy.
    private struct Candidate {
        let index: Int
        let signatureSize: Int
        let grants: [Grant]

        func isUsable(at now: Timestamp) -> Bool {
            for place in grants.indices where grants[place].isValid(at: now) { return true }
            return false
        }

        /// The name of the key by a belief that holds at `now`, for some requestor or for that of `token`.
        func name(at now: Timestamp) -> String? {
            for place in grants.indices where grants[place].isValid(at: now) { return grants[place].name }
            return nil
        }

        func name(at now: Timestamp, signing token: MediaToken) -> String? {
            for place in grants.indices where grants[place].isValid(at: now) {
                if grants[place].maySign(token) { return grants[place].name }
            }
            return nil
        }
    }

    /// The bytes of the policy's requestors.
    private let requestors: [[UInt8]]

    /// A number that no other verifier of this process has but the copies of this one: what a cache remembers was found
    /// out with this trust and this policy.
    private let generation: UInt64

    private static let generations = Atomic<UInt64>(0)

    /// The most bytes that a token may have as it is transmitted.
    public static let maximumEncodedSize = 16 * 1024

    /// Makes a verifier.
    ///
    /// - Parameters:
    ///   - trust: The keys whose signatures are believed.
    ///   - policy: What is demanded beside a trusted signature.
    ///   - cache: Remembers signatures that were checked. Worth it where one token is shown again and again.
    public init(trust: TrustStore, policy: VerificationPolicy, cache: AuthenticatedTokenCache? = nil) {
        self.trust = trust
        self.policy = policy
        self.cache = cache
        requestors = policy.requestors.map { Array($0.utf8) }
        generation = Self.generations.add(1, ordering: .relaxed).newValue
        candidates = trust.groups.indices.compactMap { index in
            let group = trust.groups[index]
            guard group.key.bits >= policy.minimumKeySize.bits else { return nil }
            let grants = group.grants.filter { grant in
                policy.requestors.contains { grant.requestors.covers($0) }
            }
            return grants.isEmpty
                ? nil : Candidate(index: index, signatureSize: group.key.signatureSize, grants: grants)
        }
    }

    // MARK: Verifying

    /// Judges a token that is shown for playing `resource`.
    ///
    /// - Parameters:
    ///   - token: The token as transmitted: raw, or in one layer of Base64. At most ``maximumEncodedSize`` bytes.
    ///   - resource: What is to be played, by the programmer's own catalogue and never by the caller's word.
    ///   - requestor: The one requestor of the policy that the token must be for; any of them by default.
    ///   - now: The time of receipt.
    /// - Returns: Valid, or refused with the first reason.
    public func verify(
        _ token: String,
        for resource: MediaResource,
        requestor: String? = nil,
        at now: Timestamp
    ) -> Verification {
        var token = token
        return token.withUTF8Span { judge($0, Demand(resource: resource, requestor: requestor), now) }
    }

    /// Judges a token that is shown for playing `resource`; the bytes of the token as transmitted.
    ///
    /// See ``verify(_:for:requestor:at:)-(String,_,_,_)``.
    public func verify(
        _ token: Span<UInt8>,
        for resource: MediaResource,
        requestor: String? = nil,
        at now: Timestamp
    ) -> Verification {
        judge(token, Demand(resource: resource, requestor: requestor), now)
    }

    /// Judges whether a token is authentic and within its time, for whatever resource. **Never a reason to play.**
    ///
    /// For diagnosis alone: a playback that is released after this may be of another resource than the viewer's.
    ///
    /// - Parameters:
    ///   - token: The token as transmitted: raw, or in one layer of Base64. At most ``maximumEncodedSize`` bytes.
    ///   - now: The time of receipt.
    public func authenticate(_ token: String, at now: Timestamp) -> Verification {
        var token = token
        return token.withUTF8Span { judge($0, Demand(resource: nil, requestor: nil), now) }
    }

    /// What one call demands. Without a resource only ``authenticate(_:at:)`` makes it.
    private struct Demand: ~Copyable {
        let resource: MediaResource?
        let requestor: String?
    }

    // MARK: The steps

    private func judge(_ token: Span<UInt8>, _ demand: borrowing Demand, _ now: Timestamp) -> Verification {
        guard !token.isEmpty else { return .refused(.tokenEmpty) }
        guard token.count <= Self.maximumEncodedSize else { return .refused(.tokenTooLarge) }
        switch cache?.lookUp(token, generation: generation, at: now) {
        case .authentic(let known, let key): return judge(known, signedBy: key, demand, now)
        case .forged(let reason): return .refused(reason)
        case nil: break
        }
        switch authenticate(token, now) {
        case .authentic(let known, let key):
            guard let cache else { return judge(known, signedBy: key, demand, now) }
            let answer = judge(known, signedBy: key, demand, now)
            if answer.reason?.step != .time {
                let end = known.expires.advanced(byMilliseconds: policy.lateLeewayMilliseconds)
                cache.remember(token, says: known, key: key, generation: generation, until: end)
            }
            return answer
        case .refused(let reason, let key):
            if reason == .untrustedSignature { cache?.rememberForged(token, reason, generation: generation, at: now) }
            return .refused(reason, key: key.flatMap { candidates[$0].name(at: now) })
        }
    }

    /// What steps 1 to 4 find. Keys are given by their place among the candidates.
    private enum Outcome: ~Copyable {
        case authentic(MediaToken, key: Int)
        case refused(RefusalReason, key: Int?)
    }

    /// Steps 1 to 4: the envelope, the signature and the fields.
    private func authenticate(_ token: Span<UInt8>, _ now: Timestamp) -> Outcome {
        let slot = trust.slots.take()
        defer { trust.slots.release(slot) }
        let context = slot.map { trust.contexts[$0] } ?? VerificationContext(keyCount: trust.groups.count)
        if Envelope.isRaw(token) { return authenticate(raw: token, context, now) }
        let outcome = context.raw.fill(
            { Base64.decode(token, into: &$0) },
            then: { authenticate(raw: $0, context, now) }
        )
        return outcome ?? .refused(.invalidBase64, key: nil)
    }

    private func authenticate(raw: Span<UInt8>, _ context: VerificationContext, _ now: Timestamp) -> Outcome {
        let envelope: Envelope
        switch Envelope.split(raw) {
        case .success(let parts): envelope = parts
        case .failure(let reason): return .refused(reason, key: nil)
        }
        let signatureText = raw.extracting(envelope.signature)
        guard 1...VerificationContext.maximumSignatureCharacters ~= signatureText.count else {
            return .refused(.invalidSignatureEncoding, key: nil)
        }
        let outcome = context.signature.fill({ Base64.decode(signatureText, into: &$0) }) { signature in
            authenticate(raw, envelope, signature, context, now)
        }
        return outcome ?? .refused(.invalidSignatureEncoding, key: nil)
    }

    private func authenticate(
        _ raw: Span<UInt8>,
        _ envelope: Envelope,
        _ signature: Span<UInt8>,
        _ context: VerificationContext,
        _ now: Timestamp
    ) -> Outcome {
        guard let digest = context.sha256?.hash(raw.extracting(envelope.signed)) else {
            return .refused(.internalFailure, key: nil)
        }
        switch signer(signature, digest, context, now) {
        case .failure(let reason): return .refused(reason, key: nil)
        case .success(let key):
            do throws(RefusalReason) {
                let fields = try TokenFields.read(raw, content: envelope.content)
                return .authentic(MediaToken(fields: fields, fingerprint: digest), key: key)
            } catch {
                return .refused(error, key: key)
            }
        }
    }

    /// The candidate that made `signature` over `digest`: the one of the last good signature is tried first, then the
    /// others in order.
    private func signer(
        _ signature: Span<UInt8>,
        _ digest: TokenFingerprint,
        _ context: VerificationContext,
        _ now: Timestamp
    ) -> Result<Int, RefusalReason> {
        var refusal = RefusalReason.noUsableKey
        let last = context.lastKey
        for round in -1..<candidates.count {
            let place = round < 0 ? last : round
            guard candidates.indices.contains(place), round < 0 || place != last else { continue }
            guard candidates[place].isUsable(at: now) else { continue }
            guard candidates[place].signatureSize == signature.count else {
                if refusal == .noUsableKey { refusal = .signatureLength }
                continue
            }
            guard let key = context.key(candidates[place].index, of: trust.groups) else {
                return .failure(.internalFailure)
            }
            if key.verify(signature: signature, digest: digest) {
                context.lastKey = place
                return .success(place)
            }
            refusal = .untrustedSignature
        }
        return .failure(refusal)
    }

    /// Steps 5 to 7, and whether the key may speak for the requestor: all that is judged anew on every call.
    private func judge(
        _ token: consuming MediaToken,
        signedBy key: Int,
        _ demand: borrowing Demand,
        _ now: Timestamp
    ) -> Verification {
        guard candidates[key].isUsable(at: now) else { return .refused(.noUsableKey) }
        guard requestors.contains(where: { token.fields.equals(.requestorID, $0) }),
            demand.requestor.map({ token.fields.equals(.requestorID, $0) }) ?? true
        else {
            return .refused(.requestorMismatch, token: token, key: candidates[key].name(at: now))
        }
        guard let name = candidates[key].name(at: now, signing: token) else { return .refused(.keyOutOfScope) }
        if let reason = refusalByTime(token, now) { return .refused(reason, token: token, key: name) }
        if let resource = demand.resource,
            !token.fields.equals(.resourceID, resource.bytes),
            resource.mismatch(withGranted: token.resourceID, options: policy.matchOptions) != nil
        {
            return .refused(.resourceMismatch, token: token, key: name)
        }
        return .valid(token, key: name)
    }

    /// A token is valid up to and including the last millisecond of its life.
    private func refusalByTime(_ token: MediaToken, _ now: Timestamp) -> RefusalReason? {
        guard token.timeToLiveMilliseconds > 0 else { return .ttlNotPositive }
        guard token.timeToLiveMilliseconds <= policy.maximumTimeToLiveMilliseconds else { return .ttlTooLong }
        guard token.timeIssued <= now.advanced(byMilliseconds: policy.earlyLeewayMilliseconds) else {
            return .issuedInFuture
        }
        guard now <= token.expires.advanced(byMilliseconds: policy.lateLeewayMilliseconds) else { return .expired }
        return nil
    }
}

extension String {
    /// Runs `body` over the bytes of this string, which is made contiguous where it is not.
    fileprivate mutating func withUTF8Span<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        makeContiguousUTF8()
        return body(utf8.span)
    }
}
