// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

@testable import Licences

/// CPIX documents, read strictly.
@Suite struct `A CPIX document` {
    private static let one = "00112233-4455-6677-8899-aabbccddeeff"
    private static let two = "FFEEDDCC-BBAA-9988-7766-554433221100"

    private static func document(
        keys: String = "<ContentKey kid=\"\(one)\"/><ContentKey kid=\"\(two)\"/>",
        rules: String =
            "<ContentKeyUsageRule kid=\"\(one)\" intendedTrackType=\"SD+HD\"/><ContentKeyUsageRule kid=\"\(two)\" intendedTrackType=\"AUDIO\"/>",
        namespace: String = "urn:dashif:org:cpix",
        more: String = ""
    ) -> [UInt8] {
        let lists =
            "<ContentKeyList>\(keys)</ContentKeyList>\(more)<ContentKeyUsageRuleList>\(rules)</ContentKeyUsageRuleList>"
        return [UInt8](
            "<?xml version=\"1.0\"?>\n<CPIX xmlns=\"\(namespace)\" contentId=\"film-1\">\n\(lists)\n</CPIX>".utf8
        )
    }

    private static func rule(_ inside: String = "", attributes: String = "intendedTrackType=\"SD\"") -> String {
        "<ContentKeyUsageRule kid=\"\(one)\" \(attributes)>\(inside)</ContentKeyUsageRule>"
    }

    @Test func `has keys and their tracks, and no secrets`() throws {
        let secret =
            "<ContentKey kid=\"\(Self.one)\"><Data><pskc:Secret xmlns:pskc=\"urn:ietf:params:xml:ns:keyprov:pskc\"><pskc:PlainValue>c2VjcmV0</pskc:PlainValue></pskc:Secret></Data></ContentKey><ContentKey kid=\"\(Self.two)\"/>"
        let drm =
            "<DRMSystemList><DRMSystem kid=\"\(Self.one)\" systemId=\"x\"><PSSH>AAAA</PSSH></DRMSystem></DRMSystemList>"
        let document = try CPIXDocument(Self.document(keys: secret, more: drm))
        #expect(document.keys.tracks.map(\.track) == ["SD", "HD", "AUDIO"])
        #expect(document.keys.tracks.map(\.id.description) == [Self.one, Self.one, Self.two.lowercased()])
        #expect(!"\(document)".contains("c2VjcmV0"))
        let filtered = Self.rule("<VideoFilter maxPixels=\"442368\"/><KeyPeriodFilter periodId=\"1\"/>")
        #expect(
            try CPIXDocument(Self.document(keys: "<ContentKey kid=\"\(Self.one)\"/>", rules: filtered)).keys.tracks
                .count == 1
        )
    }

    /// A document of an independent maker, with keys in it.
    @Test(.enabled(if: Requirement.hasOracles(importing: "cpix"))) func `of another maker is read`() throws {
        let program = """
            import cpix
            keys = cpix.ContentKeyList(cpix.ContentKey(kid="\(Self.one)", cek="WADwG2qCqkq5TVml+U5PXw=="),
                                       cpix.ContentKey(kid="\(Self.two)", cek="WADwG2qCqkq5TVml+U5PXw=="))
            rules = cpix.UsageRuleList(
                cpix.UsageRule(kid="\(Self.one)", filters=[cpix.VideoFilter(max_pixels=442368)]),
                cpix.UsageRule(kid="\(Self.two)", filters=[cpix.AudioFilter()]))
            for rule, track in zip(rules, ["SD", "AUDIO"]): rule.intended_track_type = track
            drm = cpix.DRMSystemList(cpix.DRMSystem(kid="\(Self.one)", system_id="edef8ba9-79d6-4ace-a3c8-27dcd51d21ed"))
            print(cpix.CPIX(content_keys=keys, usage_rules=rules, drm_systems=drm).pretty_print().decode())
            """
        let run = try CommandRun("\(repository)/.build-oracles/bin/python", arguments: ["-c", program])
        let document = try CPIXDocument([UInt8](run.output.utf8))
        #expect(document.keys.tracks.map(\.track) == ["SD", "AUDIO"], "\(run.output)\(run.error)")
        #expect(document.keys.tracks.map(\.id.description) == [Self.one, Self.two.lowercased()])
    }

    @Test(arguments: [
        (document(keys: ""), "is not in the list"), (document(keys: "", rules: ""), "no content keys"),
        (document(rules: ""), "has no usage rule"),
        (document(keys: "<ContentKey/>"), "has no kid"), (document(keys: "<ContentKey kid=\"x\"/>"), "no UUID"),
        (document(keys: "<ContentKey kid=\"\(one)\"/><ContentKey kid=\"\(one.uppercased())\"/>"), "duplicate"),
        (document(keys: "<ContentKey kid=\"\(one)\" dependsOnKey=\"\(two)\"/>"), "depends on another"),
        (document(rules: rule(attributes: "")), "no intendedTrackType"),
        (document(rules: rule("<BitrateFilter minBitrate=\"1\"/>")), "BitrateFilter, which cannot be evaluated"),
        (document(rules: rule("<LabelFilter label=\"a\"/>")), "LabelFilter"),
        (document(rules: rule("<VideoFilter xmlns=\"urn:other\"/>")), "VideoFilter, which cannot be evaluated"),
        (document(namespace: "urn:other"), "the root is not in the namespace"),
        (
            [UInt8]("<!DOCTYPE CPIX [<!ENTITY a \"b\">]><CPIX xmlns=\"urn:dashif:org:cpix\">&a;</CPIX>".utf8),
            "document type"
        ),
        ([UInt8]("<CPIX xmlns=\"urn:dashif:org:cpix\">".utf8), "well-formed"), ([], "well-formed"),
        ([UInt8]("<Other/>".utf8), "no CPIX document"),
        ([UInt8](repeating: 0x20, count: 1 << 20 | 1), "more than 1 MiB"),
    ])
    func `is refused for what nobody can know`(bytes: [UInt8], reason: String) {
        let error = #expect(throws: CPIXError.self) { try CPIXDocument(bytes) }
        #expect(error?.reason.contains(reason) ?? false, "\(error?.description ?? "")")
    }

    /// Random damage never crashes the reader, and never makes a key out of nothing.
    @Test func `survives damage`() {
        var random = SplitMix64(seed: 20)
        let good = Self.document()
        for _ in 0..<3000 {
            var bytes = good
            for _ in 0...Int.random(in: 0...3, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: index)
                default: bytes.insert(UInt8.random(in: 0x20...0x7E, using: &random), at: index)
                }
            }
            guard let document = try? CPIXDocument(bytes) else { continue }
            #expect(!document.keys.tracks.isEmpty)
        }
    }
}
