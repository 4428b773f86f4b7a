// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import Keys
import Testing

@Suite struct `JSON Web Encryption` {
    /// All ways of using a key.
    private static func keys() throws -> [EncryptionKey] {
        try [
            EncryptionKey(secret: [UInt8](0..<16), id: KeyID("d16"), algorithm: .direct),
            EncryptionKey(secret: [UInt8](0..<32), id: KeyID("d32"), algorithm: .direct),
            EncryptionKey(secret: [UInt8](0..<16), id: KeyID("w16"), algorithm: .a128kw),
            EncryptionKey(secret: [UInt8](0..<32), id: KeyID("w32"), algorithm: .a256kw),
            EncryptionKey(secret: [UInt8](0..<16), id: nil, algorithm: .a128kw, encryption: .a256gcm),
            EncryptionKey(secret: [UInt8](0..<32), id: nil, algorithm: .a256kw, encryption: .a128gcm),
        ]
    }

    private func parse(_ text: String) -> JWE? { JWE(text.utf8.span) }

    @Test func `only the key that encrypted decrypts`() throws {
        let keys = try Self.keys()
        for text in [[], [7], [UInt8]("203.0.113.0/24".utf8), [UInt8](repeating: 9, count: 1000)] {
            for key in keys {
                let serialized = try key.encrypt(text)
                let parsed = try #require(parse(serialized))
                for other in keys {
                    #expect(parsed.decrypted(by: [other]) == (other === key ? text : nil), "\(key) \(other)")
                }
                #expect(parsed.decrypted(by: keys) == text)
                #expect(parsed.decrypted(by: []) == nil)
            }
        }
    }

    @Test func `every change is noticed`() throws {
        for key in try Self.keys() {
            let text = [UInt8](try key.encrypt([UInt8]("203.0.113.9".utf8)).utf8)
            for index in text.indices {
                var changed = text
                changed[index] = changed[index] == UInt8(ascii: "B") ? UInt8(ascii: "C") : UInt8(ascii: "B")
                #expect(parse(String(decoding: changed, as: UTF8.self))?.decrypted(by: [key]) == nil, "\(key) \(index)")
            }
        }
    }

    @Test func `other forms are none`() throws {
        func header(_ text: String) -> String { Base64.encodeURLSafe([UInt8](text.utf8)) }
        let good = header(#"{"alg":"dir","enc":"A128GCM"}"#)
        #expect(parse("\(good)..AAAA.AAAA.AAAA") != nil)
        for text in [
            "", "a.b.c", "\(good)..AAAA.AAAA", "\(good)..AAAA.AAAA.", "\(good)...AAAA.AAAA",
            "\(good)..AAAA.AAAA.AAAA.AAAA",
            "\(good).=.AAAA.AAAA.AAAA", header(#"{"alg":"dir"}"#) + "..AAAA.AAAA.AAAA",
            header(#"{"enc":"A128GCM"}"#) + "..AAAA.AAAA.AAAA",
            header(#"{"alg":"dir","enc":"A128GCM","zip":"DEF"}"#) + "..AAAA.AAAA.AAAA",
            header(#"{"alg":"dir","enc":"A128GCM","crit":["x"]}"#) + "..AAAA.AAAA.AAAA",
            "\(good)..\(String(repeating: "A", count: 4096)).AAAA.AAAA",
        ] {
            #expect(parse(text) == nil, "\(text.prefix(80))")
        }
    }

    @Test func `keys are of the size of their algorithm`() {
        #expect(throws: KeySetError.self) { try EncryptionKey(secret: [1], id: nil, algorithm: .direct) }
        #expect(throws: KeySetError.self) { try EncryptionKey(secret: [UInt8](0..<16), id: nil, algorithm: .a256kw) }
        #expect(throws: KeySetError.self) {
            try EncryptionKey(secret: [UInt8](0..<16), id: nil, algorithm: .direct, encryption: .a256gcm)
        }
    }

    @Test func `a JWK Set has keys for encryption`() throws {
        let text = """
            {"keys":[{"kty":"oct","use":"enc","alg":"A128KW","kid":"a","k":"AAECAwQFBgcICQoLDA0ODw"},\
            {"kty":"oct","use":"sig","alg":"HS256","kid":"b","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"},\
            {"kty":"oct","alg":"A256GCM","kid":"c","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"},\
            {"kty":"oct","alg":"A256KW","kid":"d","k":"AAEC"}]}
            """
        let keys = try EncryptionKey.read(jwkSet: [UInt8](text.utf8))
        #expect(keys.map(\.description) == ["a (A128KW)", "c (dir)"])
        #expect(String(reflecting: keys[0]).contains("0, 1, 2") == false)
        #expect(throws: KeySetError.self) { try EncryptionKey.read(jwkSet: [UInt8](#"{"keys":[]}"#.utf8)) }
        #expect(throws: KeySetError.self) { try EncryptionKey.read(jwkSet: [UInt8]("x".utf8)) }
    }
}
