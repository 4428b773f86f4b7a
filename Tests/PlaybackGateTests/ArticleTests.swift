// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaResources
import MediaTokens
import PlaybackGate
import ReplayStores
import Synchronization
import Testing

/// The code of the articles in the documentation, compiled and run.
@Suite struct `The articles` {
    private let keys: DevelopmentKeys
    private let token: String

    init() throws {
        let keys = try DevelopmentKeys(at: .now())
        let issuer = Issuer(key: try SigningKey(pem: keys.signerKey))
        let claims = TokenClaims(
            requestorID: "REF30",
            resourceID: "TNT",
            mvpdID: "SandboxMVPD",
            userSessionGUID: "00112233445566778899aabbccddeeff"
        )
        let token = try issuer.issue(claims, at: .now()).serialized
        (self.keys, self.token) = (keys, token)
    }

    @Test func `verify a media token`() throws {
        var lines: [String] = []
        func print(_ line: String) { lines.append(line) }
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let certificate = try folder.write("issuer.pem", contents: keys.signerCertificate)
        let trust = try TrustStore(files: [certificate], at: .now())
        let policy = try VerificationPolicy(requestor: "REF30")
        let verifier = Verifier(trust: trust, policy: policy)
        let cache = AuthenticatedTokenCache(capacity: 4096)
        let edgeVerifier = Verifier(trust: trust, policy: policy, cache: cache)
        for verifier in [verifier, edgeVerifier, edgeVerifier] {
            let resource = try MediaResource("TNT")
            switch verifier.verify(token, for: resource, at: .now()) {
            case .valid(let token, let key):
                print("signed by \(key), and valid until \(token.expires)")
            case .refused(let refusal):
                print("refused: \(refusal.reason.rawValue)")
            }
        }
        #expect(lines.count == 3 && lines.allSatisfy { $0.hasPrefix("signed by issuer") }, "\(lines)")
        #expect(cache.statistics.hits == 1)
    }

    @Test func `run the gate`() async throws {
        var lines: [String] = []
        func print(_ line: String) { lines.append(line) }
        let trust = try TrustStore([.pem(keys.signerCertificate, name: "issuer")], at: .now())
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
        var catalogue = Catalogue()
        let resource = try MediaResource("TNT")
        let protection = Catalogue.Entry.Protection.resource(resource, requestor: "REF30")
        try catalogue.add(Catalogue.Entry(key: .media("tnt-live"), protection: protection))
        try catalogue.add(Catalogue.Entry(key: .path(try PathPattern("/live/tnt/")), protection: protection))
        let store = MemoryReplayStore(capacity: 1_000_000)
        let gate = Gate(catalogue: catalogue, verifier: verifier, store: store)
        let request = PlaybackRequest(.media("tnt-live"), token: token, playbackID: "5f0c")
        for _ in 0..<2 {
            switch await gate.decide(request, at: .now()) {
            case .allow(let allowance):
                print("allowed: \(allowance.reason.name)")
            case .refuse(let refusal):
                print("refused: \(refusal.code.rawValue), \(refusal.action)")
            }
        }
        #expect(lines == ["allowed: verified", "allowed: repeated"])

        func decide() async -> Decision {
            switch gate.begin(request, at: .now()) {
            case .decided(let decision):
                return decision
            case .pending(let use):
                return await gate.complete(use)
            }
        }
        #expect(await decide().isAllowed)

        let (session, now) = ("00112233445566778899aabbccddeeff", Timestamp.now().adding(seconds: 2))
        let hour = Timestamp(secondsSince1970: now.millisecondsSince1970 / 1000 + 3600)
        let revocation = Revocation(.session(guid: session, issuedBefore: now), expires: hour)
        try await gate.record(revocation, at: now)
        #expect(await decide().code == .sessionRevoked)
    }

    @Test(arguments: [1000, 5], [UInt64](0..<2))
    func `write a replay store, which agrees with the model`(capacity: Int, part: UInt64) async throws {
        let pool = try StorePool(from: GateSample.time)
        var answers: [String: Int] = [:]
        for seed in 50 * part..<50 * part + 50 {
            var model = StoreModel(StoreModel.Traits(capacity: capacity))
            let store = LedgerStore(capacity: capacity)
            let fault = try await model.walk(StoreHistory(pool, seed: seed), steps: 250, isLasting: false) { store }
            #expect(fault == nil, "seed \(seed)")
            answers.merge(model.answers) { $0 + $1 }
        }
        for name in ["recorded", "repeated", "usedUp", "revoked"] + (capacity == 5 ? ["full"] : []) {
            #expect(answers[name, default: 0] > 50, "\(name): \(answers)")
        }
    }

    @Test(arguments: [
        "MediaTokens/MediaTokens.docc/VerifyingAMediaToken", "PlaybackGate/PlaybackGate.docc/RunningTheGate",
        "PlaybackGate/PlaybackGate.docc/WritingAReplayStore",
    ])
    func `have no line of code that is not here`(name: String) throws {
        func lines(_ text: String) -> [String] {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let here = Set(lines(try String(contentsOfFile: #filePath, encoding: .utf8)))
        let root = #filePath.components(separatedBy: "/Tests/")[0]
        let article = try String(contentsOfFile: "\(root)/Sources/\(name).md", encoding: .utf8)
        // Every second part is between the marks of a code block.
        let blocks = article.components(separatedBy: "```").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        #expect(!blocks.isEmpty)
        for line in blocks.flatMap({ lines(String($0.dropFirst("swift".count))) }) where !line.isEmpty {
            #expect(here.contains(line), "\(line)")
        }
    }
}

// MARK: The store of the article

final class LedgerStore: ReplayStore {
    let name = "ledger"
    private let capacity: Int
    private let ledger = Mutex(Ledger())

    init(capacity: Int) { self.capacity = capacity }

    func immediateOutcome(of use: TokenUse, isConsumed: Bool, at now: Timestamp) -> UseOutcome? {
        ledger.withLock { ledger in
            if isConsumed { return ledger.record(use, at: now, capacity: capacity) }
            return ledger.revocation(of: use.token, at: now).map { .revoked($0) } ?? .notRevoked
        }
    }

    func record(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
        ledger.withLock { $0.record(use, at: now, capacity: capacity) }
    }

    func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
        ledger.withLock { $0.revocation(of: use.token, at: now) }.map { .revoked($0) } ?? .notRevoked
    }

    func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
        guard ledger.withLock({ $0.revoke(revocation, at: now) }) else {
            throw ReplayStoreError(.full, reason: "the limit of \(Ledger.revocationLimit) revocations is reached")
        }
    }

    func check() async throws(ReplayStoreError) {}
}

struct Ledger {
    static let revocationLimit = 10_000

    private var uses: [TokenFingerprint: (playbacks: [UInt64?], forgettable: Timestamp)] = [:]
    private var revocations: [Revocation] = []
    /// The latest time of the deleted records.
    private var forgotten = Timestamp(millisecondsSince1970: .min)

    mutating func record(_ use: TokenUse, at now: Timestamp, capacity: Int) -> UseOutcome {
        if let kind = revocation(of: use.token, at: now) { return .revoked(kind) }
        let known = uses[use.token.fingerprint]?.playbacks ?? []
        if let playback = use.playback, known.contains(playback) { return .repeated }
        guard known.count < use.maximumUses else { return .usedUp }
        if known.isEmpty, uses.count >= capacity { forget(at: now) }
        guard !known.isEmpty || use.forgettable > forgotten else { return .usedUp }
        guard !known.isEmpty || uses.count < capacity else { return .full }
        uses[use.token.fingerprint] = (known + [use.playback], use.forgettable)
        return .recorded
    }

    private mutating func forget(at now: Timestamp) {
        for (fingerprint, record) in uses where record.forgettable < now {
            forgotten = max(forgotten, record.forgettable)
            uses[fingerprint] = nil
        }
    }

    mutating func revoke(_ revocation: Revocation, at now: Timestamp) -> Bool {
        let twoMinutesAgo = Timestamp(millisecondsSince1970: now.millisecondsSince1970 - 120_000)
        if revocations.count >= Self.revocationLimit { revocations.removeAll { $0.expires < twoMinutesAgo } }
        guard revocations.count < Self.revocationLimit else { return false }
        revocations.append(revocation)
        return true
    }

    func revocation(of token: MediaToken, at now: Timestamp) -> Revocation.Kind? {
        revocations.first { now <= $0.expires && $0.covers(token) }?.kind
    }
}

extension Revocation {
    func covers(_ token: MediaToken) -> Bool {
        switch subject {
        case .token(let fingerprint):
            fingerprint == token.fingerprint
        case .session(let guid, let time):
            guid == token.userSessionGUID && token.timeIssued < time
        case .mvpd(let id, let time):
            (id == token.mvpdID || id == token.proxyMVPDID) && token.timeIssued < time
        case .playback, .sharedPlayback:
            false
        }
    }
}
