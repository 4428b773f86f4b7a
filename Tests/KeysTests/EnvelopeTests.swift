// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import Keys
import Testing

@Suite struct `COSE envelopes` {
    @Test func `of the examples are verified, and give their payloads`() throws {
        let keys = try Example.keys()
        for (token, (count, end)) in zip(
            Example.tokens,
            [(144, "4f6e6c79"), (144, "4f6e6c79"), (205, nil), (125, "474554")]
        ) {
            let bytes = try Example.bytes(token)
            let payload = try keys.payload(bytes)
            #expect(payload.count == count && payload.hexadecimal.hasPrefix("a"))
            if let end { #expect(payload.hexadecimal.hasSuffix(end)) }
            #expect(COSEText.encode(bytes) == token)
        }
    }

    @Test func `are written byte for byte as the examples`() throws {
        let key = try Example.macKey()
        for token in Example.macTokens {
            let bytes = try Example.bytes(token)
            let payload = try Example.keys().payload(bytes)
            #expect(try key.signCOSE(payload) == bytes)
        }
    }

    /// RFC 9052 §C.2.1; RFC 8392 §A.3 and §A.4, of which the last is an `HMAC 256/64`.
    @Test func `of the RFCs are verified`() throws {
        let claims =
            "5850a70175636f61703a2f2f61732e6578616d706c652e636f6d02656572696b77037818636f61703a2f2f6c696768742e"
            + "6578616d706c652e636f6d041a5612aeb0051a5610d9f0061a5610d9f007420b71"
        let single =
            "d28443a10126a10442313154546869732069732074686520636f6e74656e742e58408eb33e4ca31d1c465ab05aac34cc6b23d58fef5c"
            + "083106c4d25a91aef0b0117e2af9a291aa32e14ab834dc56ed2a223444547e01f11d3b0916e5a4c345cacb36"
        let signed =
            "d28443a10126a104524173796d6d65747269634543445341323536" + claims
            + "58405427c1ff28d23fbad1f29c4c7c6a555e601d6fa29f9179bc3d7438bacaca5acd08c8d4d4f96131680c429a01f85951ec"
            + "ee743a52b9b63632c57209120e1c9e30"
        let authenticated = "d18443a10104a1044c53796d6d6574726963323536" + claims + "48093101ef6d789200"
        let published =
            "82a6010202423131032620012158 20bac5b11cad8f99f9c72b05cf4b9e26d244dc189f745228255a219a86d6a09eff"
            + "22582020138bf82dc1b6d562be0fa54ab7804a3a64b6d72ccfed6b6fb6ed28bbfc117e"
            + "a6010202524173796d6d6574726963454344534132353603262001215820"
            + "143329cce7868e416927599cf65a34f3ce2ffda55a7eca69ed8919a394d42f0f"
            + "22582060f7f1a780d8a783bfb7a2dd6b2796e8128dbbcef9d3d168db9529971a36e7b9"
        var keys = try KeySetReading([UInt8](hex: published), source: .published, binding: Example.binding).keys
        let secret = [UInt8](hex: "403697de87af64611c1d32a05dab0fe1fcb715a86ab435f1ec99192d79569388")
        keys.append(try TokenKey(secret: secret, id: KeyID("Symmetric256"), binding: Example.binding))
        #expect(try KeySet(keys).payload([UInt8](hex: single)) == [UInt8]("This is the content.".utf8))
        #expect(try KeySet(keys).payload([UInt8](hex: signed)) == Array([UInt8](hex: claims).dropFirst(2)))
        #expect(throws: COSERefusal.algorithmRefused) { try KeySet(keys).payload([UInt8](hex: authenticated)) }
        var lenient = Example.binding
        lenient.leniency = .shortMAC
        keys[2] = try TokenKey(secret: secret, id: KeyID("Symmetric256"), binding: lenient)
        #expect(try KeySet(keys).payload([UInt8](hex: authenticated)) == Array([UInt8](hex: claims).dropFirst(2)))
        var wrong = [UInt8](hex: authenticated)
        wrong[wrong.count - 1] ^= 1
        #expect(throws: COSERefusal.signatureInvalid) { try KeySet(keys).payload(wrong) }
        // A whole code does not pass for a short one, nor a short one for a whole.
        wrong = [UInt8](hex: authenticated.replacing("48093101ef6d789200", with: "47093101ef6d7892"))
        #expect(throws: COSERefusal.malformed) { try KeySet(keys).payload(wrong) }
        wrong = [UInt8](hex: authenticated.replacing("43a10104", with: "43a10105"))
        #expect(throws: COSERefusal.malformed) { try KeySet(keys).payload(wrong) }
    }

    // MARK: Mutation

    @Test func `with any bit changed give no payload, or the same one`() throws {
        let keys = try Example.keys()
        for token in Example.tokens {
            let bytes = try Example.bytes(token)
            let payload = try keys.payload(bytes)
            for bit in 0..<8 * bytes.count {
                var wrong = bytes
                wrong[bit / 8] ^= 1 << UInt8(bit % 8)
                #expect((try? keys.payload(wrong)) == nil, "bit \(bit)")
            }
            for index in bytes.indices {
                var (shorter, longer) = (bytes, bytes)
                shorter.remove(at: index)
                longer.insert(bytes[index], at: index)
                #expect((try? keys.payload(shorter)) == nil && (try? keys.payload(longer)) == nil, "byte \(index)")
            }
            #expect(payload == (try keys.payload(bytes)))
        }
    }

    @Test func `in another spelling are refused`() throws {
        let token = Example.macTokens[0]
        // 201 bytes are 268 characters without padding.
        for spelling in [
            token + "=", token + "==", " " + token, token + "\n", token.replacing("-", with: "+"), token + "A",
        ] {
            #expect(throws: COSERefusal.malformed, "\(spelling)") { try Example.bytes(spelling) }
        }
        // The signed token has 211 bytes, so two spare bits in its last character.
        #expect(throws: COSERefusal.malformed) { try Example.bytes(Example.signedToken.dropLast() + "B") }
        #expect(throws: Never.self) { try Example.bytes(Example.signedToken + "==") }
        #expect(throws: COSERefusal.malformed) { try Example.bytes(Example.signedToken + "=") }
        #expect(throws: COSERefusal.malformed) { try Example.bytes("") }
        #expect(throws: COSERefusal.tooLarge) { try Example.bytes(String(repeating: "A", count: 5465)) }
        #expect(throws: COSERefusal.tooLarge) { try Example.bytes(String(repeating: "A", count: 5464)) }
        let keys = try Example.keys()
        #expect(throws: COSERefusal.tooLarge) { try keys.payload([UInt8](repeating: 0, count: 4097)) }
    }
}
