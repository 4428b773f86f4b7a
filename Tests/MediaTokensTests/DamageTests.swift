// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import MediaResources
import Platform
import Testing

@testable import MediaTokens

@Suite struct `Damaged tokens` {
    /// The whole content of a token, for comparison.
    private struct Content: Hashable {
        let texts: [String?]
        let timeIssued: Timestamp
        let timeToLive: Int64
        let fingerprint: TokenFingerprint

        init(_ token: MediaToken) {
            texts = [
                token.requestorID, token.resourceID, token.userSessionGUID, token.mvpdID, token.proxyMVPDID,
            ]
            timeIssued = token.timeIssued
            timeToLive = token.timeToLiveMilliseconds
            fingerprint = token.fingerprint
        }
    }

    @Test(arguments: [true, false])
    func `say nothing else whichever bit was flipped`(isRaw: Bool) throws {
        let issued = try Sample.token()
        let (verifier, resource) = (try Sample.verifier(), try MediaResource("TNT"))
        var bytes = [UInt8]((isRaw ? issued.raw : issued.serialized).utf8)
        let whole = Content(try #require(verifier.verify(bytes.span, for: resource, at: Sample.time).token))
        var others = 0
        for index in bytes.indices {
            for bit in 0..<8 {
                bytes[index] ^= 1 << bit
                let answer = verifier.verify(bytes.span, for: resource, at: Sample.time)
                // The token in a refusal must have been signed, too.
                if let token = answer.token, Content(token) != whole { others += 1 }
                if answer.isValid { #expect(answer.token.map(Content.init) == whole) }
                bytes[index] ^= 1 << bit
            }
        }
        #expect(others == 0)
        #expect(verifier.verify(bytes.span, for: resource, at: Sample.time).isValid)
    }

    @Test func `are refused when cut at any length`() throws {
        let (verifier, resource) = (try Sample.verifier(), try MediaResource("TNT"))
        // Three sessions, so that the Base64 has no, one and two padding characters.
        for session in ["a", "ab", "abc"] {
            var claims = Sample.claims
            claims.userSessionGUID = session
            let issued = try TestSigner.main.get().issuer.issue(claims, at: Sample.time)
            let raw = [UInt8](issued.raw.utf8)
            for count in raw.indices {
                let isValid = verifier.verify(raw.span.extracting(first: count), for: resource, at: Sample.time).isValid
                #expect(!isValid, "\(count) bytes of the raw token")
            }
            let text = [UInt8](issued.serialized.utf8)
            let unpadded = text.filter { $0 != UInt8(ascii: "=") }.count
            for count in text.indices {
                let isValid = verifier.verify(text.span.extracting(first: count), for: resource, at: Sample.time)
                    .isValid
                // Without all of its padding it is the same token in unpadded Base64.
                #expect(isValid == (count == unpadded), "\(count) characters of the Base64")
            }
        }
    }

    @Test func `are refused when cut in front`() throws {
        let (verifier, resource) = (try Sample.verifier(), try MediaResource("TNT"))
        let issued = try Sample.token()
        for bytes in [[UInt8](issued.raw.utf8), [UInt8](issued.serialized.utf8)] {
            for count in bytes.indices.dropFirst() {
                let rest = Array(bytes.dropFirst(count))
                let isValid = verifier.verify(rest.span, for: resource, at: Sample.time).isValid
                #expect(!isValid)
            }
        }
    }

    @Test func `say nothing else whatever was done to them`() throws {
        let (verifier, resource) = (try Sample.verifier(), try MediaResource("TNT"))
        let raw = [UInt8](try Sample.token().raw.utf8)
        let whole = verifier.verify(raw.span, for: resource, at: Sample.time)
        #expect(whole.isValid)
        var random = SplitMix64(seed: 3)
        for _ in 0..<2000 {
            var bytes = raw
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let index = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: index)
                default: bytes.insert(random.pick(raw), at: index)
                }
            }
            let answer = verifier.verify(bytes.span, for: resource, at: Sample.time)
            #expect(!answer.isValid || answer == whole)
        }
    }
}
