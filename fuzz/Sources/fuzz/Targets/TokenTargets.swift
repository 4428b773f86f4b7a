// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import Encodings
@testable import MediaResources
@testable import MediaTokens
@testable import Platform

/// The keys of this run, and the verifiers that trust them.
private struct Fixture {
    let issuer: Issuer
    let verifier: Verifier
    let cached: Verifier
    let resource: MediaResource

    static let time = Timestamp(millisecondsSince1970: 1_925_114_645_000)

    /// A fixture with small keys. Signatures are not under attack here, and they take most of the time.
    static let one: Fixture = {
        do {
            let keys = try DevelopmentKeys(bits: 1024, at: time)
            let trust = try TrustStore(
                [.pem(keys.signerCertificate, name: "signer")],
                minimumKeySize: .legacy1024,
                at: time
            )
            let policy = try VerificationPolicy(requestors: ["REF30"], minimumKeySize: .legacy1024)
            return Fixture(
                issuer: Issuer(key: try SigningKey(pem: keys.signerKey)),
                verifier: Verifier(trust: trust, policy: policy),
                cached: Verifier(
                    trust: trust,
                    policy: policy,
                    cache: AuthenticatedTokenCache(capacity: 64, forgedCapacity: 64)
                ),
                resource: try MediaResource("TNT")
            )
        } catch { fatalError("no keys: \(error)") }
    }()

    /// Verifies a token without a cache, with a cache, and with a cache that has the token. All results must be equal.
    func verify(_ token: [UInt8]) -> Verification {
        let answer = verifier.verify(token.span, for: resource, at: Self.time)
        for _ in 0..<2 {
            demand(cached.verify(token.span, for: resource, at: Self.time) == answer, or: "a cache changes the answer")
        }
        return answer
    }
}

extension RefusalReason {
    fileprivate var isOfForm: Bool { step == .envelope || step == .fields }
}

extension Target {
    /// Unsigned tokens, and elements that are signed as they are.
    ///
    /// First byte: even for a token as it is; 1 for an element to sign; 3 for the content of an element to sign.
    static let token = Target(name: "token") { input in
        var input = input
        let choice = input.choice()
        let fixture = Fixture.one
        guard choice & 1 == 1 else {
            let answer = fixture.verify(input.bytes)
            demand(answer.token == nil && answer.key == nil, or: "a token that nobody signed is believed")
            guard let text = input.text, !text.isEmpty else { return }
            demand(
                fixture.verifier.authenticate(text, at: Fixture.time).reason == answer.reason,
                or: "authenticate differs"
            )
            if let unread = reason(text) {
                demand(answer.reason?.isOfForm ?? false || unread.step == .fields, or: "form")
            }
            return
        }
        let isContent = choice & 2 != 0
        let body = isContent ? Array("<authToken>".utf8) + input.bytes + "</authToken>".utf8 : input.bytes
        guard let token = try? fixture.issuer.sign(body: body) else { return }
        let answer = fixture.verify([UInt8](token.serialized.utf8))
        // The raw token is a text, so this comparison needs valid UTF-8.
        if String(validating: body, as: UTF8.self) != nil {
            demand(fixture.verify([UInt8](token.raw.utf8)) == answer, or: "raw and Base64 give two answers")
        }
        // White space around an element is not signed, or more is signed than is checked.
        guard let first = body.first, !first.isXMLSpace, body.last?.isXMLSpace == false else { return }
        let unread = reason(token.serialized)
        demand(
            unread == (answer.reason?.isOfForm ?? false ? answer.reason : nil),
            or: "the reader and the verifier differ"
        )
        if let content = answer.token {
            demand(
                content.expires >= content.timeIssued || content.timeToLiveMilliseconds < 0,
                or: "ends before it begins"
            )
            demand(!content.requestorID.isEmpty && !content.resourceID.isEmpty && !content.mvpdID.isEmpty, or: "empty")
        }
    }

    /// Claims: an issued token has the fields of its claims.
    static let claims = Target(name: "claims") { input in
        var input = input
        func text() -> String? { String(validating: input.part(), as: UTF8.self) }
        let ttl = Int64(truncatingIfNeeded: input.part().reduce(0) { $0 &* 10 &+ Int64($1) &- 48 })
        guard let requestor = text(), let resource = text(), let mvpd = text(), let session = text(), let proxy = text()
        else { return }
        let claims = TokenClaims(
            requestorID: requestor,
            resourceID: resource,
            mvpdID: mvpd,
            proxyMVPDID: proxy.isEmpty ? nil : proxy,
            userSessionGUID: session,
            timeToLiveMilliseconds: ttl
        )
        guard let token = try? Fixture.one.issuer.issue(claims, at: Fixture.time) else { return }
        let answer = Fixture.one.verify([UInt8](token.serialized.utf8))
        // A lifetime with nineteen digits is too long.
        if answer.reason == .invalidTTL { return demand(ttl.magnitude >= 1_000_000_000_000_000_000, or: "ttl \(ttl)") }
        guard let read = try? UnverifiedToken(reading: token.serialized).content else {
            return demand(false, or: "what was issued cannot be read: \(answer.reason?.rawValue ?? "")")
        }
        demand(!(answer.reason?.isOfForm ?? false), or: "what was issued is refused: \(answer.reason?.rawValue ?? "")")
        let fields = [
            (read.requestorID, requestor), (read.resourceID, resource), (read.mvpdID, mvpd),
            (read.userSessionGUID, session), (read.proxyMVPDID ?? "", proxy),
        ]
        for (found, was) in fields { demand(found.hasSameBytes(as: was), or: "\(was.debugDescription): \(found)") }
        demand(read.timeToLiveMilliseconds == ttl && read.timeIssued == Fixture.time, or: "time")
    }

    /// The envelope: its parts are inside the token and form the same token again.
    static let envelope = Target(name: "envelope") { input in
        let raw = input.bytes
        guard !raw.isEmpty else { return }
        guard case .success(let parts) = Envelope.split(raw.span) else { return }
        demand(
            raw.indices.contains(parts.signed.lowerBound) && parts.signed.upperBound <= raw.count,
            or: "out of bounds"
        )
        let signed = Array(raw[parts.signed])
        demand(signed.starts(with: "<\(parts.root.rawValue)>".utf8), or: "start tag")
        demand(signed.reversed().starts(with: "</\(parts.root.rawValue)>".utf8.reversed()), or: "end tag")
        demand(
            parts.content.lowerBound >= parts.signed.lowerBound && parts.content.upperBound < raw.count,
            or: "content"
        )
        demand(Envelope.isRaw(raw.span), or: "an envelope that does not begin as one")
        let again = Array("<signatureInfo>".utf8) + raw[parts.signature] + "</signatureInfo>".utf8 + signed
        guard case .success(let same) = Envelope.split(again.span) else { return demand(false, or: "not again") }
        demand(again[same.signed].elementsEqual(signed) && same.root == parts.root, or: "another element")
        demand(again[same.signature].elementsEqual(raw[parts.signature]), or: "another signature")
    }

    private static func reason(_ text: String) -> RefusalReason? {
        do throws(RefusalReason) {
            _ = try UnverifiedToken(reading: text)
            return nil
        } catch { return error }
    }
}
