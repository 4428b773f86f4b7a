// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import Keys
import Testing

/// An envelope with any headers, authenticated with the key of the first example.
struct CraftedEnvelope {
    var tags = "d83dd1"
    var protected = "a20105044a70672d323032362d3131"
    /// The bytes that stand for the protected header in what is authenticated, if others than it.
    var authenticated: String?
    var unprotected = "a0"
    var payload = "41a0"

    func bytes() throws -> [UInt8] {
        func item(_ hex: String) throws -> [UInt8] {
            var writer = CBORWriter()
            writer.write([UInt8](hex: hex))
            return try writer.finish()
        }
        let head = [UInt8](hex: "84644d414330")
        let none: [UInt8] = [0x40]
        let (first, second) = (try item(authenticated ?? protected), [UInt8](hex: payload))
        let key = try HMACKey(Example.secret, function: .sha256)
        let pieces = MessagePieces(first: head.span, second: first.span, third: none.span, fourth: second.span)
        let code = key.code(of: pieces) ?? []
        return [UInt8](hex: tags) + [0x84] + (try item(protected)) + [UInt8](hex: unprotected) + second + [0x58, 0x20]
            + code
    }
}

@Suite struct `COSE headers` {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var envelope = CraftedEnvelope()
        var refusal: COSERefusal?
        var leniency: KeyLeniency = []

        var testDescription: String { name }
    }

    static let id = "4a70672d323032362d3131"
    static let cases = [
        Case(name: "as in the first example"),
        Case(name: "no tag of CWT", envelope: CraftedEnvelope(tags: "d1")),
        Case(name: "a long tag", envelope: CraftedEnvelope(tags: "d83dd811")),
        Case(name: "longer tags", envelope: CraftedEnvelope(tags: "d9003dda00000011")),
        Case(name: "no tag", envelope: CraftedEnvelope(tags: ""), refusal: .malformed),
        Case(name: "the tag of CWT alone", envelope: CraftedEnvelope(tags: "d83d"), refusal: .malformed),
        Case(name: "the tag of CWT twice", envelope: CraftedEnvelope(tags: "d83dd83dd1"), refusal: .malformed),
        Case(name: "the tag of CWT inside", envelope: CraftedEnvelope(tags: "d1d83d"), refusal: .malformed),
        Case(name: "COSE_Encrypt0", envelope: CraftedEnvelope(tags: "d83dd0"), refusal: .claimUnsupported),
        Case(name: "COSE_Mac", envelope: CraftedEnvelope(tags: "d83dd861"), refusal: .malformed),
        Case(name: "COSE_Sign", envelope: CraftedEnvelope(tags: "d83dd862"), refusal: .malformed),
        Case(name: "COSE_Sign1", envelope: CraftedEnvelope(tags: "d83dd2"), refusal: .algorithmRefused),
        Case(
            name: "the identifier unprotected",
            envelope: CraftedEnvelope(protected: "a10105", unprotected: "a104\(id)")
        ),
        Case(name: "all unprotected", envelope: CraftedEnvelope(protected: "", unprotected: "a2010504\(id)")),
        Case(
            name: "the identifier in both",
            envelope: CraftedEnvelope(unprotected: "a104\(id)"),
            refusal: .malformed
        ),
        Case(name: "the algorithm in both", envelope: CraftedEnvelope(unprotected: "a10105"), refusal: .malformed),
        Case(
            name: "an unknown label in both",
            envelope: CraftedEnvelope(protected: "a3010504\(id)1863f6", unprotected: "a11863f6"),
            refusal: .malformed
        ),
        Case(
            name: "an unknown label",
            envelope: CraftedEnvelope(protected: "a3010504\(id)1863f6", unprotected: "a11864f6")
        ),
        Case(name: "no identifier", envelope: CraftedEnvelope(protected: "a10105")),
        Case(name: "no algorithm", envelope: CraftedEnvelope(protected: "a104\(id)")),
        Case(name: "neither, with one key", envelope: CraftedEnvelope(protected: "")),
        Case(
            name: "an empty map, authenticated as it stands",
            envelope: CraftedEnvelope(protected: "a0", unprotected: "a2010504\(id)")
        ),
        Case(
            name: "an empty map, authenticated as nothing",
            envelope: CraftedEnvelope(protected: "a0", authenticated: "", unprotected: "a2010504\(id)")
        ),
        Case(
            name: "no header, authenticated as an empty map",
            envelope: CraftedEnvelope(protected: "", authenticated: "a0", unprotected: "a2010504\(id)"),
            refusal: .signatureInvalid
        ),
        Case(
            name: "a header authenticated as nothing",
            envelope: CraftedEnvelope(authenticated: ""),
            refusal: .signatureInvalid
        ),
        Case(
            name: "another algorithm",
            envelope: CraftedEnvelope(protected: "a2010604\(id)"),
            refusal: .algorithmRefused
        ),
        Case(
            name: "an unknown algorithm",
            envelope: CraftedEnvelope(protected: "a2010004\(id)"),
            refusal: .algorithmRefused
        ),
        Case(
            name: "an algorithm as text",
            envelope: CraftedEnvelope(protected: "a201654853323536 04\(id)"),
            refusal: .algorithmRefused
        ),
        Case(name: "an algorithm as null", envelope: CraftedEnvelope(protected: "a201f604\(id)"), refusal: .malformed),
        Case(
            name: "another identifier",
            envelope: CraftedEnvelope(protected: "a20105044a70672d323032362d3132"),
            refusal: .keyUnknown
        ),
        Case(name: "an empty identifier", envelope: CraftedEnvelope(protected: "a201050440"), refusal: .keyUnknown),
        Case(
            name: "an identifier of 65 bytes",
            envelope: CraftedEnvelope(protected: "a20105045841" + String(repeating: "61", count: 65)),
            refusal: .malformed
        ),
        Case(
            name: "an identifier as text",
            envelope: CraftedEnvelope(protected: "a20105046a70672d323032362d3131"),
            refusal: .keyUnknown
        ),
        Case(
            name: "an identifier as text, which is allowed",
            envelope: CraftedEnvelope(protected: "a20105046a70672d323032362d3131"),
            leniency: .textKeyID
        ),
        Case(name: "a critical label", envelope: CraftedEnvelope(protected: "a30105028104 04\(id)")),
        Case(
            name: "a critical label that is not there",
            envelope: CraftedEnvelope(protected: "a3010502811004\(id)"),
            refusal: .malformed
        ),
        Case(
            name: "an unknown critical label",
            envelope: CraftedEnvelope(protected: "a40105028118 6304\(id)1863f6"),
            refusal: .claimUnsupported
        ),
        Case(
            name: "a critical label as text",
            envelope: CraftedEnvelope(protected: "a4010502816178 04\(id)6178f6"),
            refusal: .claimUnsupported
        ),
        Case(name: "no critical label", envelope: CraftedEnvelope(protected: "a30105028004\(id)"), refusal: .malformed),
        Case(name: "critical, no list", envelope: CraftedEnvelope(protected: "a30105020104\(id)"), refusal: .malformed),
        Case(
            name: "critical, unprotected",
            envelope: CraftedEnvelope(unprotected: "a1028104"),
            refusal: .malformed
        ),
        Case(
            name: "claims in a header",
            envelope: CraftedEnvelope(protected: "a3010504\(id)0fa0"),
            refusal: .claimUnsupported
        ),
        Case(
            name: "claims in the unprotected header",
            envelope: CraftedEnvelope(unprotected: "a10fa0"),
            refusal: .claimUnsupported
        ),
        Case(name: "a type", envelope: CraftedEnvelope(protected: "a3010504\(id)1063434154")),
        Case(
            name: "a label twice",
            envelope: CraftedEnvelope(protected: "a30105010504\(id)"),
            refusal: .malformed
        ),
        Case(name: "a long label", envelope: CraftedEnvelope(protected: "a218010504\(id)"), refusal: .malformed),
        Case(
            name: "bytes after the header",
            envelope: CraftedEnvelope(protected: "a2010504\(id)00"),
            refusal: .malformed
        ),
        Case(name: "a header that is a list", envelope: CraftedEnvelope(protected: "80"), refusal: .malformed),
        Case(name: "a detached payload", envelope: CraftedEnvelope(payload: "f6"), refusal: .malformed),
        Case(name: "a payload that is a map", envelope: CraftedEnvelope(payload: "a0"), refusal: .malformed),
        Case(name: "a payload of long form", envelope: CraftedEnvelope(payload: "5801a0"), refusal: .malformed),
        Case(name: "an empty payload", envelope: CraftedEnvelope(payload: "40")),
    ]

    @Test(arguments: cases)
    func `are judged`(by row: Case) throws {
        let keys = try KeySet([Example.macKey(leniency: row.leniency)])
        let bytes = try row.envelope.bytes()
        if let refusal = row.refusal {
            #expect(throws: refusal) { try keys.payload(bytes) }
        } else {
            #expect(try keys.payload(bytes) == Array([UInt8](hex: row.envelope.payload).dropFirst()))
        }
        // Bytes after the envelope are never part of it.
        #expect(throws: (any Error).self) { try keys.payload(bytes + [0]) }
    }

    /// Labels of unprotected headers are looked for among protected ones, of which there may be many.
    @Test func `of many labels are read in time`() throws {
        func map(of labels: Range<Int>, prefix: String = "") -> String {
            "b8" + [UInt8(labels.count + prefix.count / 4)].hexadecimal + prefix
                + labels.reversed().map { "19" + [UInt8($0 >> 8), UInt8($0 & 255)].hexadecimal + "f6" }.joined()
        }
        let envelope = CraftedEnvelope(
            protected: map(of: 1000..<1100, prefix: "0105"),
            unprotected: map(of: 2000..<2100)
        )
        let keys = try KeySet([Example.macKey()])
        #expect(try keys.payload(envelope.bytes()) == [0xA0])
    }
}
