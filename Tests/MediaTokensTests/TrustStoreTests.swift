// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import GateTestSupport
import MediaResources
import Platform
import Testing

@testable import MediaTokens

@Suite struct `Trust stores` {
    /// Returns the code and the description of the error that `body` must throw.
    private static func error(_ body: () throws -> Void) throws -> (code: TrustError.Code, text: String) {
        let error = try #require(#expect(throws: TrustError.self) { try body() })
        return (error.code, error.description)
    }

    @Test func `load files and texts, and tell their keys apart`() throws {
        let (main, other) = (try TestSigner.main.get(), try TestSigner.other.get())
        let folder = try TemporaryFolder()
        let both = "Notes.\n" + main.keys.signerCertificate + "\nMore notes.\n" + (try other.publicKey())
        let file = try folder.write("keys.of.today.pem", contents: both)
        let trust = try TrustStore(
            [.file(file), .pem(try main.publicKey(), name: "text"), .file(file, name: "named")],
            at: Sample.time
        )
        #expect(trust.keys.map(\.name) == ["keys.of.today", "keys.of.today#2", "text", "named", "named#2"])
        #expect(trust.keys.map(\.form) == [.certificate, .publicKey, .publicKey, .certificate, .publicKey])
        #expect(trust.keys.map(\.source) == [file, file, "text", file, file])
        #expect(trust.keys.allSatisfy { $0.bits == 2048 && $0.requestors == .any })
        #expect(trust.keys[0].validity?.contains(Sample.time) == true)
        #expect(trust.keys[2].validity == nil)
        #expect(trust.keys[2].isValid(at: .latest))
        #expect(!trust.keys[0].isValid(at: .latest))
        #expect(try TrustStore(files: [file], at: Sample.time).keys.count == 2)
    }

    @Test(arguments: [("/a/b/signer.pem", "signer"), ("signer", "signer"), ("/a/.pem", ".pem"), ("a.b.c", "a.b")])
    func `name keys after their file`(path: String, name: String) {
        #expect(TrustSource.file(path).name == name)
        #expect(TrustSource.file(path, name: "given").name == "given")
    }

    @Test func `limit keys to requestors`() throws {
        let trust = try TestSigner.main.get().trust(requestors: .only(["REF30", "REF31"]))
        let policy = try VerificationPolicy(requestors: ["REF30", "REF31", "REF32"])
        let verifier = Verifier(trust: trust, policy: policy)
        let expected: [(String, RefusalReason?)] = [
            ("REF30", nil), ("REF31", nil), ("REF32", .keyOutOfScope), ("REF33", .requestorMismatch),
        ]
        for (requestor, reason) in expected {
            let token = try Sample.token(.plain.setting("requestorID", to: requestor))
            #expect(verifier.verify(token, for: try MediaResource("TNT"), at: Sample.time).reason == reason)
        }
        #expect(RequestorScope.any.covers(""))
        #expect(!RequestorScope.only(["e\u{301}"]).covers("\u{E9}"))
        let empty = try Self.error { _ = try TestSigner.main.get().trust(name: "mine", requestors: .only([])) }
        #expect(empty.code == .emptyScope && empty.text.hasPrefix("mine: "))
    }

    // MARK: Time

    /// The time of a key, in milliseconds from now to its ends.
    struct Time: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let offset: Int64
        /// The beginning of the reason why it is not used; `nil` if it is used.
        let obstacle: String?

        init(_ name: String, offset: Int64, obstacle: String?) {
            (testDescription, self.offset, self.obstacle) = (name, offset, obstacle)
        }
    }

    private static let life = DevelopmentKeys.validity.components.seconds * 1000

    @Test(arguments: [
        Time("before its beginning", offset: -300_001, obstacle: "is not valid before "),
        Time("its beginning", offset: -300_000, obstacle: nil),
        Time("its end", offset: life, obstacle: nil),
        Time("after its end", offset: life + 1, obstacle: "is not valid after "),
    ]) func `load a certificate outside its time, and do not use it`(_ time: Time) throws {
        let certificate = try TestSigner.main.get().keys.signerCertificate
        let other = TrustSource.pem(try TestSigner.other.get().publicKey(), name: "other")
        let now = Sample.time.advanced(byMilliseconds: time.offset)
        let trust = try TrustStore([.pem(certificate, name: "c"), other], at: now)
        #expect(trust.keys.map(\.name) == ["c", "other"])
        try expect(trust, time: time, at: now)
    }

    private func expect(_ trust: TrustStore, time: Time, at now: Timestamp) throws {
        let key = try #require(trust.keys.first)
        #expect(key.isValid(at: now) == (time.obstacle == nil))
        #expect(key.obstacle(at: now)?.prefix(time.obstacle?.count ?? 0) == time.obstacle.map { $0[...] })
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
        let token = try TestSigner.main.get().issuer.issue(Sample.claims, at: now).raw
        let reason = verifier.verify(token, for: try MediaResource("TNT"), at: now).reason
        // A single key that may not be used is missed; beside another the signature is that of a stranger.
        let unused: RefusalReason = trust.keys.count == 1 ? .noUsableKey : .untrustedSignature
        #expect(reason == (time.obstacle == nil ? nil : unused))
    }

    @Test(arguments: [
        Time("before it", offset: -1, obstacle: "is not valid before "),
        Time("its beginning", offset: 0, obstacle: nil), Time("its end", offset: 10_000, obstacle: nil),
        Time("after it", offset: 10_001, obstacle: "is not valid after "),
    ]) func `observe the validity of a source`(_ time: Time) throws {
        let signer = try TestSigner.main.get()
        let validity = Sample.time...Sample.time.advanced(byMilliseconds: 10_000)
        let now = Sample.time.advanced(byMilliseconds: time.offset)
        for text in [try signer.publicKey(), signer.keys.signerCertificate] {
            let trust = try TrustStore([.pem(text, name: "k", validity: validity)], at: now)
            #expect(trust.keys.first?.validity == validity)
            try expect(trust, time: time, at: now)
        }
    }

    @Test func `never use a certificate that is not valid in the time of its source`() throws {
        let past = Timestamp(secondsSince1970: 0)...Timestamp(secondsSince1970: 1)
        let source = TrustSource.pem(try TestSigner.main.get().keys.signerCertificate, name: "c", validity: past)
        let trust = try TrustStore([source], at: Sample.time)
        let never = Time("never", offset: 0, obstacle: "has no time at which")
        for now in [Sample.time, past.lowerBound, past.upperBound] { try expect(trust, time: never, at: now) }
    }

    @Test func `forget a key while in use when its time is over`() throws {
        let signer = try TestSigner.main.get()
        let end = Sample.time.advanced(byMilliseconds: 10_000)
        let source = TrustSource.pem(try signer.publicKey(), name: "k", validity: Sample.time...end)
        let verifier = Verifier(
            trust: try TrustStore([source], at: Sample.time),
            policy: try VerificationPolicy(requestor: "REF30")
        )
        let (token, resource) = (try Sample.token().raw, try MediaResource("TNT"))
        #expect(verifier.verify(token, for: resource, at: end).isValid)
        #expect(verifier.verify(token, for: resource, at: end.advanced(byMilliseconds: 1)).reason == .noUsableKey)
        #expect(verifier.verify(token, for: resource, at: end).isValid)
    }

    @Test func `go on with a key that comes in a second certificate`() throws {
        let key = try TestSigner.main.get().publicKey()
        let (first, second) = (
            Sample.time.advanced(byMilliseconds: 10_000), Sample.time.advanced(byMilliseconds: 20_000)
        )
        let trust = try TrustStore(
            [
                .pem(key, name: "old", validity: Sample.time...first),
                .pem(key, name: "new", requestors: .only(["REF30"]), validity: Sample.time...second),
            ],
            at: Sample.time
        )
        #expect(trust.keys.count == 2)
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestors: ["REF30", "OTHER"]))
        let (token, resource) = (try Sample.token().raw, try MediaResource("TNT"))
        #expect(verifier.verify(token, for: resource, at: first).key == "old")
        #expect(verifier.verify(token, for: resource, at: first.advanced(byMilliseconds: 1)).key == "new")
        #expect(verifier.verify(token, for: resource, at: second.advanced(byMilliseconds: 1)).reason == .noUsableKey)
        // The new key is not in scope for the other requestor.
        let other = try Sample.token(.plain.setting("requestorID", to: "OTHER"))
        #expect(verifier.verify(other, for: resource, at: first).key == "old")
        #expect(verifier.verify(other, for: resource, at: second).reason == .keyOutOfScope)
    }

    // MARK: Anchors

    @Test func `follow chains to anchors`() throws {
        let (main, other) = (try TestSigner.main.get().keys, try TestSigner.other.get().keys)
        let anchors = [TrustSource.pem(main.authorityCertificate, name: "ca")]
        func load(_ text: String) throws -> [String] {
            try TrustStore([.pem(text, name: "s")], anchors: anchors, at: Sample.time).keys.map(\.name)
        }
        #expect(try load(main.signerCertificate) == ["s"])
        #expect(try load(main.signerCertificate + main.authorityCertificate) == ["s"])
        #expect(try load(main.authorityCertificate + main.signerCertificate) == ["s"])
        #expect(try Self.error { _ = try load(other.signerCertificate) }.code == .untrustedChain)
        // A chain with its own root is not trusted either.
        let own = other.signerCertificate + other.authorityCertificate
        #expect(try Self.error { _ = try load(own) }.code == .untrustedChain)
        #expect(try Self.error { _ = try load(main.authorityCertificate) }.code == .noKey)
        let bare = try Self.error { _ = try load(try TestSigner.main.get().publicKey()) }
        #expect(bare.code == .untrustedChain && bare.text.hasPrefix("s: "))
    }

    /// A chain that is not valid now is one all the same, and the key is used while each certificate of it is valid.
    @Test(arguments: [
        Time("before the anchor", offset: -1, obstacle: "is not valid before "),
        Time("the anchor's beginning", offset: 0, obstacle: nil),
        Time("the anchor's end", offset: 10_000, obstacle: nil),
        Time("after the anchor", offset: 10_001, obstacle: "is not valid after "),
    ]) func `observe the validity of the chain`(_ time: Time) throws {
        let now = Sample.time.advanced(byMilliseconds: time.offset)
        let year = Int64(31_536_000_000)
        let long = Sample.time.advanced(byMilliseconds: -year)...Sample.time.advanced(byMilliseconds: year)
        let short = Sample.time...Sample.time.advanced(byMilliseconds: 10_000)
        let (authority, signer) = (try RSAPrivateKey(generatingBits: 2048), try RSAPrivateKey(generatingBits: 2048))
        let root = try Certificate(
            CertificateRequest(commonName: "ca", key: authority, isAuthority: true, validity: short),
            issuer: nil,
            issuerKey: authority
        )
        let leaf = try Certificate(
            CertificateRequest(commonName: "s", key: signer, isAuthority: false, validity: long),
            issuer: root,
            issuerKey: authority
        )
        let trust = try TrustStore(
            [.pem(try leaf.pem(), name: "s")],
            anchors: [.pem(try root.pem(), name: "ca")],
            at: now
        )
        let key = try #require(trust.keys.first)
        #expect(key.validity == short && key.isValid(at: now) == (time.obstacle == nil))
        #expect(key.obstacle(at: now)?.prefix(time.obstacle?.count ?? 0) == time.obstacle.map { $0[...] })
    }

    @Test func `accept only certificates as anchors`() throws {
        let signer = try TestSigner.main.get()
        let anchor = TrustSource.pem(try signer.publicKey(), name: "anchor")
        let error = try Self.error {
            _ = try TrustStore([.pem(signer.keys.signerCertificate, name: "s")], anchors: [anchor], at: Sample.time)
        }
        #expect(error.code == .unsupportedKey && error.text.hasPrefix("anchor: "))
    }

    // MARK: Size

    @Test func `demand 2048 bits, or 1024 by opt-in`() throws {
        let small = try TestSigner.small.get()
        let error = try Self.error { _ = try small.trust(name: "small") }
        #expect(error.code == .keyTooSmall && error.text.hasPrefix("small: "))
        let trust = try small.trust(minimumKeySize: .legacy1024)
        #expect(trust.keys.map(\.bits) == [1024])
        // The policy's minimum also applies.
        let token = try small.issuer.issue(Sample.claims, at: Sample.time).raw
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
        #expect(verifier.verify(token, for: try MediaResource("TNT"), at: Sample.time).reason == .noUsableKey)
        #expect(
            try Self.error { _ = try TestSigner.main.get().trust(minimumKeySize: .atLeast(3072)) }.code == .keyTooSmall
        )
        #expect(MinimumRSAKeySize.atLeast(1) == .standard)
        #expect(MinimumRSAKeySize.atLeast(4096).bits == 4096)
    }

    @Test func `have at most eight keys`() throws {
        let keys = try (0..<9).map { _ in try RSAPrivateKey(generatingBits: 1024).publicPEM() }
        let sources = keys.map { TrustSource.pem($0, name: "k") }
        let eight = Array(sources.prefix(8))
        #expect(try TrustStore(eight, minimumKeySize: .legacy1024, at: Sample.time).keys.count == 8)
        // A repeated key counts as one key.
        #expect(try TrustStore(eight + eight, minimumKeySize: .legacy1024, at: Sample.time).keys.count == 16)
        let error = try Self.error { _ = try TrustStore(sources, minimumKeySize: .legacy1024, at: Sample.time) }
        #expect(error.code == .tooManyKeys)
        #expect(try Self.error { _ = try TrustStore([], at: Sample.time) }.code == .noKey)
    }
}
