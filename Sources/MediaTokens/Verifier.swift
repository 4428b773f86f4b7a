// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
public import MediaResources
internal import Platform
internal import Synchronization

/// A verifier of media tokens. Checks the signature, the fields, the requestor, the time and the resource, in this order.
///
/// The result is a pure function of token, trust, policy and clock. The first failed check decides it. A verifier does
/// not detect that a token was consumed before; the gate does. Create one verifier and share it: any number of threads
/// may verify at once, and without a cache they share no lock, except for resources that are spelt in another way than
/// the wanted one. Create a new one when the trust changes.
///
/// ```swift
/// let trust = try TrustStore(files: ["signer.pem"], at: .now())
/// let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
/// let answer = verifier.verify(token, for: try MediaResource("TNT"), at: .now())
/// guard answer.isValid else { return refuse(answer.reason) }
/// ```
public struct Verifier: Sendable {
    /// The trusted keys.
    public let trust: TrustStore
    /// The requirements beside a trusted signature.
    public let policy: VerificationPolicy
    /// The cache of verified signatures, or `nil`.
    public var cache: AuthenticatedTokenCache? { isCaching ? memory : nil }

    private let isCaching: Bool
    /// The cache; without one, an unused one. Unwrapping an optional would count a reference that all threads share.
    private let memory: AuthenticatedTokenCache

    /// The keys that may sign for at least one requestor of this policy: those of signed elements, then those of JWS.
    let candidates: [Candidate]
    /// The number of candidates for signed elements.
    let elementSigners: Int

    /// A key by its index in the trust store, with its grants for requestors of the policy.
    ///
    /// A class, and its first grant a property of its own: a hit of the cache reads both without counting a reference.
    final class Candidate: Sendable {
        let index: Int
        let signatureSize: Int
        private let first: Grant
        private let others: [Grant]

        /// Creates a candidate; `nil` without a grant.
        init?(_ index: Int, signatureSize: Int, grants: [Grant]) {
            guard let first = grants.first else { return nil }
            self.index = index
            self.signatureSize = signatureSize
            self.first = first
            others = Array(grants.dropFirst())
        }

        func isUsable(at now: Timestamp) -> Bool {
            if first.isValid(at: now) { return true }
            for index in others.indices where others[index].isValid(at: now) { return true }
            return false
        }

        /// Returns the name of the key in the first grant that is valid at `now`.
        func name(at now: Timestamp) -> String? {
            if first.isValid(at: now) { return first.name }
            return others.first { $0.isValid(at: now) }?.name
        }

        /// Returns the name of the key in the first grant that is valid at `now` and covers the requestor of `token`.
        func name(at now: Timestamp, signing token: MediaToken) -> String? {
            if first.isValid(at: now), first.maySign(token) { return first.name }
            return others.first { $0.isValid(at: now) && $0.maySign(token) }?.name
        }
    }

    /// The requestors of the policy.
    private let requestors: RequestorNames

    /// A number that only this verifier and its copies have in this process. Cache entries carry it, because they hold
    /// for this trust and this policy only.
    private let generation: UInt64

    private static let generations = Atomic<UInt64>(0)

    /// The largest size of a token as transmitted: 16 KiB.
    public static let maximumEncodedSize = 16 * 1024

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - trust: The trusted keys.
    ///   - policy: The requirements beside a trusted signature.
    ///   - cache: A cache of verified signatures. Useful if clients present the same token repeatedly.
    public init(trust: TrustStore, policy: VerificationPolicy, cache: AuthenticatedTokenCache? = nil) {
        self.trust = trust
        self.policy = policy
        isCaching = cache != nil
        memory = cache ?? .unused
        requestors = RequestorNames(policy.requestors)
        generation = Self.generations.add(1, ordering: .relaxed).newValue
        func candidate(at index: Int, signatureSize: Int, grants: [Grant]) -> Candidate? {
            let grants = grants.filter { grant in policy.requestors.contains { grant.requestors.covers($0) } }
            return Candidate(index, signatureSize: signatureSize, grants: grants)
        }
        let elements = trust.groups.indices.compactMap { index in
            let group = trust.groups[index]
            return group.key.bits < policy.minimumKeySize.bits
                ? nil : candidate(at: index, signatureSize: group.key.signatureSize, grants: group.grants)
        }
        elementSigners = elements.count
        candidates =
            elements
            + trust.jwsGroups.indices.compactMap { index in
                candidate(
                    at: index,
                    signatureSize: trust.jwsGroups[index].verifier.signatureSize,
                    grants: trust.jwsGroups[index].grants
                )
            }
    }

    // MARK: Verifying

    /// Verifies a token for the playback of `resource`.
    ///
    /// - Parameters:
    ///   - token: The token as transmitted: raw, or in one layer of Base64. At most ``maximumEncodedSize`` bytes.
    ///   - resource: The resource to play, from the programmer's own catalogue and never from the client.
    ///   - requestor: The one requestor of the policy that the token must be for; by default, any of them.
    ///   - now: The time of receipt.
    /// - Returns: Valid, or refused with the first failed check.
    public func verify(
        _ token: String,
        for resource: MediaResource,
        requestor: String? = nil,
        at now: Timestamp
    ) -> Verification {
        var token = token
        return token.withUTF8Span { verify($0, for: resource, requestor: requestor, at: now) }
    }

    /// Verifies a token for the playback of `resource`, from the bytes of the token as transmitted.
    ///
    /// See ``verify(_:for:requestor:at:)-(String,_,_,_)``.
    public func verify(
        _ token: Span<UInt8>,
        for resource: MediaResource,
        requestor: String? = nil,
        at now: Timestamp
    ) -> Verification {
        check(token, for: resource, requestor: requestor, at: now)
    }

    /// Verifies that a token is authentic and within its time, for any resource. **Never permits playback.**
    ///
    /// For diagnostics only: the token may have been issued for another resource than the one to play.
    ///
    /// - Parameters:
    ///   - token: The token as transmitted: raw, or in one layer of Base64. At most ``maximumEncodedSize`` bytes.
    ///   - now: The time of receipt.
    public func authenticate(_ token: String, at now: Timestamp) -> Verification {
        var token = token
        return token.withUTF8Span { check($0, for: AnyResource(), requestor: nil, at: now) }
    }

    // MARK: The steps

    /// - Parameters:
    ///   - resource: The resource to play.
    ///   - requestor: The requestor that the token must be for; `nil` for any of the policy.
    private func check(
        _ token: Span<UInt8>,
        for resource: some WantedResource,
        requestor: String?,
        at now: Timestamp
    ) -> Verification {
        guard !token.isEmpty else { return .refused(.tokenEmpty) }
        guard token.count <= Self.maximumEncodedSize else { return .refused(.tokenTooLarge) }
        if isCaching {
            switch memory.lookUp(token, generation: generation, at: now) {
            case .authentic(let known):
                return authorize(known.token, signedBy: known.signer, for: resource, requestor: requestor, at: now)
            case .forged(let reason): return .refused(reason)
            case nil: break
            }
        }
        return checkUncached(token, for: resource, requestor: requestor, at: now)
    }

    /// Checks a token that the cache does not have. Never inlined, so that a hit retains no reference to the cache for
    /// it.
    @inline(never)
    private func checkUncached(
        _ token: Span<UInt8>,
        for resource: some WantedResource,
        requestor: String?,
        at now: Timestamp
    ) -> Verification {
        switch decode(token, at: now) {
        case .authentic(let content, let key):
            let answer = authorize(content, signedBy: candidates[key], for: resource, requestor: requestor, at: now)
            if isCaching, answer.reason?.step != .time {
                let end = content.expires.advanced(byMilliseconds: policy.lateLeewayMilliseconds)
                memory.remember(token, says: content, signer: candidates[key], generation: generation, until: end)
            }
            return answer
        case .refused(let reason, let key):
            if isCaching, reason == .untrustedSignature {
                memory.rememberForged(token, reason: reason, generation: generation, at: now)
            }
            let named = reason.isOfChangedBytes && token.hasBlanksForPlus ? .blanksForPlus : reason
            return .refused(named, key: key.flatMap { candidates[$0].name(at: now) })
        }
    }

    /// The result of the steps before the requestor. Keys are given by their index among the candidates.
    enum Outcome: ~Copyable {
        case authentic(MediaToken, key: Int)
        case refused(RefusalReason, key: Int?)
    }

    /// Decodes Base64 if there is a layer of it, and parses and authenticates the content. A JWS has no such layer.
    private func decode(_ token: Span<UInt8>, at now: Timestamp) -> Outcome {
        let slot = trust.slots.acquire()
        defer { trust.slots.release(slot) }
        let context = slot.map { trust.contexts[$0] } ?? VerificationContext(keyCount: trust.groups.count)
        if Envelope.isRaw(token) { return parse(token, in: context, at: now) }
        let outcome = context.raw.fill(
            { Base64.decode(token, into: &$0) },
            then: { parse($0, in: context, at: now) }
        )
        return outcome ?? decodeOther(token, in: context, at: now)
    }

    /// Reads a token that is no Base64. A JWS has full stops, and is no token for a trust without a key for such.
    private func decodeOther(_ token: Span<UInt8>, in context: VerificationContext, at now: Timestamp) -> Outcome {
        guard !trust.jwsGroups.isEmpty, JWSEnvelope.isOne(token) else { return .refused(.invalidBase64, key: nil) }
        return parseJWS(token, in: context, at: now)
    }

    /// Splits the raw token into its envelope, and authenticates the parts.
    private func parse(_ raw: Span<UInt8>, in context: VerificationContext, at now: Timestamp) -> Outcome {
        let envelope: Envelope
        switch Envelope.split(raw) {
        case .success(let parts): envelope = parts
        case .failure(let reason): return .refused(reason, key: nil)
        }
        let signatureText = raw.extracting(envelope.signature)
        guard 1...context.maximumSignatureCharacters ~= signatureText.count else {
            return .refused(.invalidSignatureEncoding, key: nil)
        }
        let outcome = context.signature.fill({ Base64.decode(signatureText, into: &$0) }) { signature in
            authenticate(raw, envelope: envelope, signature: signature, in: context, at: now)
        }
        return outcome ?? .refused(.invalidSignatureEncoding, key: nil)
    }

    private func authenticate(
        _ raw: Span<UInt8>,
        envelope: Envelope,
        signature: Span<UInt8>,
        in context: VerificationContext,
        at now: Timestamp
    ) -> Outcome {
        guard let digest = context.sha256?.hash(raw.extracting(envelope.signed)) else {
            return .refused(.internalFailure, key: nil)
        }
        // One key needs no order.
        let kind = elementSigners > 1 ? SignerHistory.kind(of: raw, content: envelope.content) : 0
        switch signer(of: signature, over: digest, kind: kind, in: context, at: now) {
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

    /// Returns the candidate that made `signature` over `digest`. Those of like tokens are tried first; see ``SignerHistory``.
    private func signer(
        of signature: Span<UInt8>,
        over digest: TokenFingerprint,
        kind: UInt64,
        in context: VerificationContext,
        at now: Timestamp
    ) -> Result<Int, RefusalReason> {
        var refusal = RefusalReason.noUsableKey
        var tried: UInt64 = 0
        for _ in 0..<elementSigners {
            let index =
                elementSigners == 1 ? 0 : context.signers.next(for: kind, after: tried, among: 0..<elementSigners)
            tried |= 1 << UInt64(index)
            guard candidates[index].isUsable(at: now) else { continue }
            guard candidates[index].signatureSize == signature.count else {
                if refusal == .noUsableKey { refusal = .signatureLength }
                continue
            }
            guard let key = context.key(candidates[index].index, of: trust.groups) else {
                return .failure(.internalFailure)
            }
            if key.verify(signature: signature, digest: digest) {
                if elementSigners > 1 { context.signers.record(index, for: kind) }
                return .success(index)
            }
            refusal = .untrustedSignature
        }
        return .failure(refusal)
    }

    /// Checks everything that is checked again on every call: the key's validity and scope, requestor, time and resource.
    private func authorize(
        _ token: MediaToken,
        signedBy signer: Candidate,
        for resource: some WantedResource,
        requestor: String?,
        at now: Timestamp
    ) -> Verification {
        guard signer.isUsable(at: now) else { return .refused(.noUsableKey) }
        guard requestors.contains(requestorOf: token),
            requestor.map({ token.fields.equals(.requestorID, expected: $0) }) ?? true
        else { return .refused(.requestorMismatch, token: token, key: signer.name(at: now)) }
        guard let name = signer.name(at: now, signing: token) else { return .refused(.keyOutOfScope) }
        if let reason = refusalByTime(of: token, at: now) { return .refused(reason, token: token, key: name) }
        guard resource.isCovered(by: token, policy.matchOptions) else {
            return .refused(.resourceMismatch, token: token, key: name)
        }
        return .valid(token, key: name)
    }

    /// Checks the time. A token is valid up to and including the last millisecond of its life and leeway.
    private func refusalByTime(of token: MediaToken, at now: Timestamp) -> RefusalReason? {
        guard token.timeToLiveMilliseconds > 0 else { return .ttlNotPositive }
        guard token.timeToLiveMilliseconds <= policy.maximumTimeToLiveMilliseconds else { return .ttlTooLong }
        guard token.timeIssued <= now.advanced(byMilliseconds: policy.earlyLeewayMilliseconds) else {
            return .issuedInFuture
        }
        guard now <= token.expires.advanced(byMilliseconds: policy.lateLeewayMilliseconds) else { return .expired }
        return nil
    }
}

/// The resource that a token must be valid for. A generic parameter: an optional would count a reference on each call.
private protocol WantedResource {
    /// True if the token is valid for the resource.
    func isCovered(by token: MediaToken, _ options: MediaResource.MatchOptions) -> Bool
}

extension MediaResource: WantedResource {
    fileprivate func isCovered(by token: MediaToken, _ options: MediaResource.MatchOptions) -> Bool {
        if token.fields.isResource(self) { return true }
        return !options.exactOnly && token.fields.resource?.covers(self, options: options) ?? false
    }
}

/// No resource in particular: only for ``Verifier/authenticate(_:at:)``.
private struct AnyResource: WantedResource {
    func isCovered(by _: MediaToken, _: MediaResource.MatchOptions) -> Bool { true }
}

/// The requestors of a policy. A class with texts in one piece, so that a comparison counts no reference.
private final class RequestorNames: Sendable {
    private let texts: [UInt8]
    private let ends: [Int]

    init(_ names: some Sequence<String>) {
        var (texts, ends): ([UInt8], [Int]) = ([], [])
        for name in names {
            texts += name.utf8
            ends.append(texts.count)
        }
        self.texts = texts
        self.ends = ends
    }

    /// True if the requestor of `token` is one of these.
    func contains(requestorOf token: MediaToken) -> Bool {
        let texts = texts
        var start = 0
        for index in ends.indices {
            if token.fields.equals(.requestorID, expected: texts.span.extracting(start..<ends[index])) { return true }
            start = ends[index]
        }
        return false
    }
}

extension String {
    /// Calls `body` with the bytes of this string, which is made contiguous if necessary.
    fileprivate mutating func withUTF8Span<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        makeContiguousUTF8()
        return body(utf8.span)
    }
}
