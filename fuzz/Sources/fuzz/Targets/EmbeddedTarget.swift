// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import EmbeddedGate
import Keys
import MediaResources
import MediaTokens

@testable import CommonAccessTokens
@testable import EdgeChecks
@testable import EdgeTokens
@testable import PlaybackGate
@testable import ReplayStores

/// A policy of the run, of which nobody has the keys, and an engine of it.
private struct EmbeddedFixture: @unchecked Sendable {
    let engine: OpaquePointer
    let document: [UInt8]
    static let now: Int64 = 1_925_000_350_000

    init() {
        guard playgate_no_more_forks() == PLAYGATE_OK, let document = try? Self.document() else {
            fatalError("no policy")
        }
        var (policy, engine): (OpaquePointer?, OpaquePointer?)
        let text = document.map { CChar(bitPattern: $0) }
        guard playgate_policy_open(text, text.count, Self.now, &policy, nil) == PLAYGATE_OK,
            playgate_engine_create(policy, &engine, nil) == PLAYGATE_OK, let engine
        else { fatalError("no engine") }
        playgate_policy_release(policy)
        self.engine = engine
        self.document = document
    }

    private static func document() throws -> [UInt8] {
        let binding = KeyBinding(issuer: "playgate", format: .cat)
        let key = try TokenKey.generate(.hs256, id: KeyID("k"), binding: binding).key
        let profile = GrantProfile("live", issuer: "playgate", keyID: "k", rules: GrantProfile.Rules())
        var catalogue = Catalogue()
        let tnt = Catalogue.Entry.Protection.resource(try MediaResource("TNT"), requestor: "REF30")
        let terms = Catalogue.Entry.GrantTerms([profile])
        for (path, use) in [("/live/", .grant), ("/vod/", .withinTTL), ("/once/", .once)]
            as [(String, Catalogue.Entry.Use)]
        {
            try catalogue.add(
                Catalogue.Entry(
                    key: .path(try PathPattern(path)),
                    protection: tnt,
                    use: use,
                    grants: use == .grant ? terms : nil
                )
            )
        }
        let subjectKey = try SubjectKey([UInt8](0x20...0x3F))
        let issuer = try CATIssuer(key: key)
        let verifier = CATVerifier(keys: try KeySet([key]), issuers: [AcceptedIssuer("playgate")], policy: CATPolicy())
        let grants = GrantService(
            verifier: verifier,
            signers: [GrantService.Signer(issuer)],
            subjectKey: subjectKey,
            revocationCache: RevocationCache(of: [])
        )
        let time = Timestamp(millisecondsSince1970: now)
        let keys = try DevelopmentKeys(at: time)
        let trust = try TrustStore([.pem(keys.signerCertificate, name: "signer")], at: time)
        let gate = Gate(
            catalogue: catalogue,
            verifier: Verifier(trust: trust, policy: try VerificationPolicy(requestors: ["REF30"])),
            store: MemoryReplayStore(capacity: 8),
            grants: grants
        )
        return EdgeBundle(
            of: gate,
            revokedBy: grants.revocationCache,
            subjectKey: subjectKey,
            goodFor: .seconds(3600),
            at: time
        )
        .json()
    }
}

extension Target {
    private static let fixture = EmbeddedFixture()

    /// The C interface: documents as policies, targets with tokens, and requests.
    static let embedded = Target(name: "embedded") { input in
        var input = input
        switch input.choice() % 3 {
        case 0: openPolicy(input.bytes)
        case 1: cut(&input)
        default: check(&input)
        }
    }

    /// A document with a piece in the place of another one.
    private static func openPolicy(_ piece: [UInt8]) {
        var bytes = piece
        if let first = piece.first, piece.count > 2 {
            let start = Int(first) * fixture.document.count / 256
            let length = Int(piece[1]) % 16
            bytes = fixture.document
            bytes.replaceSubrange(start..<min(start + length, bytes.count), with: piece.dropFirst(2))
        }
        var policy: OpaquePointer?
        var error = playgate_error()
        let text = bytes.map { CChar(bitPattern: $0) }
        let result = playgate_policy_open(text, text.count, EmbeddedFixture.now, &policy, &error)
        demand((result == PLAYGATE_OK) == (policy != nil), or: "a result without a policy")
        demand(
            [PLAYGATE_OK, PLAYGATE_E_ARGUMENT].contains(Int(result)) || error.message.0 != 0,
            or: "a fault without a sentence"
        )
        playgate_policy_release(policy)
    }

    /// A target, without its tokens.
    private static func cut(_ input: inout Input) {
        let target = input.line()
        let first = Words(target)
        let parameters = ["cat", "token"].map(Words.init), segments = [Words("~cat=")],
            package = Words("URISigningPackage")
        let names = parameters.map(\.slice), prefixes = segments.map(\.slice)
        names.withUnsafeBufferPointer { names in
            prefixes.withUnsafeBufferPointer { prefixes in
                var rules = playgate_target_rules()
                rules.size = UInt32(MemoryLayout<playgate_target_rules>.size)
                (rules.parameters, rules.parameter_count) = (names.baseAddress, UInt32(names.count))
                (rules.segments, rules.segment_count) = (prefixes.baseAddress, UInt32(prefixes.count))
                rules.package = package.slice
                var buffer = [CChar](repeating: 0, count: target.count)
                let cut = once(&rules, target: first.slice, into: &buffer)
                guard cut.result == PLAYGATE_OK else { return }
                demand(cut.text.count <= target.count, or: "a target that grew")
                // Signed URIs are cut once; what is left of one is no token.
                guard cut.flags == 0 else { return }
                let second = Words(cut.text)
                var again = [CChar](repeating: 0, count: cut.text.count)
                let left = withExtendedLifetime(second) { once(&rules, target: second.slice, into: &again) }
                demand(left.result == PLAYGATE_OK && left.found == 0, or: "a token is left")
            }
        }
        withExtendedLifetime((parameters, segments, package, first)) {}
    }

    private static func once(
        _ rules: inout playgate_target_rules,
        target: playgate_slice,
        into buffer: inout [CChar]
    ) -> (result: Int32, text: [UInt8], found: UInt32, flags: UInt32) {
        var cut = playgate_cut()
        cut.size = UInt32(MemoryLayout<playgate_cut>.size)
        return buffer.withUnsafeMutableBufferPointer { buffer in
            let result = playgate_target_cut(&rules, target, buffer.baseAddress, buffer.count, &cut)
            return (result, Words.bytes(cut.target), cut.found_count, cut.flags)
        }
    }

    /// A request of lines: flags and method, host, client, target, token, and grants.
    private static func check(_ input: inout Input) {
        let flags = UInt32(input.choice())
        let lines = (0..<6).map { _ in Words(input.line()) }
        var buffer = [CChar](repeating: 0, count: Int(input.choice()) * 64)
        let tokens = [lines[4].slice], grants = [lines[5].slice, Words.none]
        tokens.withUnsafeBufferPointer { tokens in
            grants.withUnsafeBufferPointer { grants in
                buffer.withUnsafeMutableBufferPointer { buffer in
                    var request = playgate_request()
                    request.size = UInt32(MemoryLayout<playgate_request>.size)
                    (request.flags, request.now) = (flags & 0x1F, EmbeddedFixture.now)
                    (request.method, request.host) = (lines[0].slice, lines[1].slice)
                    (request.client, request.target) = (lines[2].slice, lines[3].slice)
                    (request.alpn, request.countries, request.position) = (
                        lines[2].slice, lines[1].slice, lines[2].slice
                    )
                    (request.tokens, request.token_count) = (tokens.baseAddress, tokens.count)
                    (request.grants, request.grant_count) = (grants.baseAddress, grants.count)
                    var answer = playgate_answer()
                    answer.size = UInt32(MemoryLayout<playgate_answer>.size)
                    (answer.buffer, answer.capacity) = (buffer.baseAddress, buffer.count)
                    _ = playgate_check(fixture.engine, nil, &request, &answer)
                    demand(answer.outcome == PLAYGATE_REFUSE, or: "allowed or asked without an authentic token")
                    demand(
                        100...499 ~= answer.code && [401, 403].contains(answer.status),
                        or: "a refusal by another code"
                    )
                    demand(answer.good_until == 0, or: "a refusal is kept")
                }
            }
        }
        withExtendedLifetime(lines) {}
    }
}

/// Bytes whose address a C function gets.
final class Words {
    private let block: UnsafeMutableBufferPointer<CChar>

    init(_ bytes: [UInt8]) {
        block = .allocate(capacity: bytes.count)
        _ = block.initialize(from: bytes.map { CChar(bitPattern: $0) })
    }

    convenience init(_ text: String) { self.init(Array(text.utf8)) }

    deinit { block.deallocate() }

    var slice: playgate_slice { playgate_slice(bytes: block.baseAddress, length: block.count) }
    static var none: playgate_slice { playgate_slice(bytes: nil, length: 0) }

    static func bytes(_ slice: playgate_slice) -> [UInt8] {
        UnsafeBufferPointer(start: slice.bytes, count: slice.length).map { UInt8(bitPattern: $0) }
    }
}
