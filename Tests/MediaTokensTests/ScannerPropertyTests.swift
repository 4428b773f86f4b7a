// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Platform
import Testing

@testable import MediaTokens

@Suite struct `Scanner and libxml2` {
    /// The fields of a token, keyed by name.
    private typealias Fields = [String: [UInt8]]

    private static func scan(_ content: [UInt8]) -> Result<Fields, RefusalReason> {
        let body = [UInt8]("<authToken>".utf8) + content + [UInt8]("</authToken>".utf8)
        // In Base64, because a string cannot hold invalid UTF-8.
        let text = Base64.encode([UInt8]("<signatureInfo>AAAA<signatureInfo>".utf8) + body)
        do throws(RefusalReason) {
            let token = try UnverifiedToken(reading: text).content
            return .success([
                "sessionGUID": [UInt8](token.userSessionGUID.utf8),
                "requestorID": [UInt8](token.requestorID.utf8),
                "resourceID": [UInt8](token.resourceID.utf8),
                "ttl": [UInt8](String(token.timeToLiveMilliseconds).utf8),
                "issueTime": [UInt8](token.timeIssued.iso8601.utf8),
                "mvpdId": [UInt8](token.mvpdID.utf8),
                "proxyMvpdId": [UInt8]((token.proxyMVPDID ?? "").utf8),
            ])
        } catch {
            return .failure(error)
        }
    }

    /// Applies the rules for fields to the elements that libxml2 has read. The failures are not ordered.
    private static func apply(_ children: [(name: String, text: [UInt8])]) -> Fields? {
        var fields: Fields = [:]
        for (name, text) in children where (TokenBody.mandatory + ["proxyMvpdId"]).contains(name) {
            guard fields.updateValue(text, forKey: name) == nil else { return nil }
        }
        func isBlank(_ text: [UInt8]?) -> Bool {
            text?.allSatisfy { [0x20, 0x9, 0xA, 0xD].contains($0) } ?? true
        }
        if TokenBody.mandatory.contains(where: { isBlank(fields[$0]) }) { return nil }
        if isBlank(fields["proxyMvpdId"]) { fields["proxyMvpdId"] = [] }
        let ttl = String(decoding: fields["ttl"] ?? [], as: UTF8.self)
        guard let number = Int64(ttl), !ttl.hasPrefix("+"), ttl.utf8.count <= 18,
            let time = time(fields["issueTime"] ?? [])
        else { return nil }
        fields["ttl"] = [UInt8](String(number).utf8)
        fields["issueTime"] = [UInt8](time.iso8601.utf8)
        return fields
    }

    private static func time(_ text: [UInt8]) -> Timestamp? { TokenTime.parse(text.span) }

    @Test(arguments: UInt64(0)..<24)
    func `read the same or both refuse`(seed: UInt64) {
        var generator = BodyGenerator(seed: seed)
        var (accepted, refused) = (0, 0)
        for _ in 0..<500 {
            let content = generator.content()
            let document = [UInt8]("<authToken>".utf8) + content + [UInt8]("</authToken>".utf8)
            let oracle = LibXML2Oracle(document)
            let expected = oracle.flatMap { Self.apply($0.children) }
            let text = String(decoding: content, as: UTF8.self)
            switch Self.scan(content) {
            case .success(let fields):
                accepted += 1
                #expect(oracle?.hasMore == false, "accepted: \(text.debugDescription)")
                #expect(fields == expected, "read differently: \(text.debugDescription)")
            case .failure(let reason):
                refused += 1
                // The scanner may refuse a text that libxml2 accepts only for a construct that tokens must not contain.
                #expect(expected == nil || oracle?.hasMore == true, "\(reason): \(text.debugDescription)")
                // A repeated field is refused at its position, before later faults.
                if oracle == nil { #expect(reason == .malformedBody || reason == .repeatedField) }
            }
        }
        #expect(accepted > 50 && refused > 50)
    }
}
