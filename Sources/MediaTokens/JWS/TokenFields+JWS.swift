// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Platform
internal import XML

extension TokenFields {
    private static let limits = JSONLimits(depth: 8, members: 64, elements: 256)

    /// Reads the fields from the payload of a JWS: an object whose members have the names of the elements.
    ///
    /// Texts are strings; `ttl` and `issueTime` are whole numbers of milliseconds, the latter since 1970. An absent,
    /// `null` or empty `proxyMvpdId` means that there is none. Other members are ignored, as other elements are.
    static func read(json payload: Span<UInt8>) throws(RefusalReason) -> TokenFields {
        let body: JSON
        do throws(JSONFault) { body = try JSONReader.read(payload, limits: limits) } catch {
            if case .repeatedMember = error { throw .repeatedField }
            throw .malformedBody
        }
        guard case .object(let members) = body else { throw .malformedBody }
        var values = [JSON](repeating: .null, count: Name.allCases.count)
        for member in members {
            switch Role(member.name) {
            case .field(let name): values[name.rawValue] = member.value
            case .restriction: throw .malformedBody
            case .other: continue
            }
        }
        return try fields(values)
    }

    /// Returns the fields of values in the order of ``Name``.
    private static func fields(_ values: [JSON]) throws(RefusalReason) -> TokenFields {
        // Missing fields are reported before empty ones, as for elements.
        for place in 0..<Name.proxyMVPDID.rawValue {
            if case .null = values[place] { throw .missingField }
        }
        var texts: [UInt8] = []
        var ends = [5 of UInt16](repeating: 0)
        let order: [5 of Name] = [.requestorID, .resourceID, .sessionGUID, .mvpdID, .proxyMVPDID]
        for place in order.indices {
            if let text = try text(values[order[place].rawValue]) {
                texts += text.utf8
            } else if order[place] != .proxyMVPDID {
                throw .emptyField
            }
            ends[place] = UInt16(texts.count)
        }
        guard case .number(let ttl) = values[Name.ttl.rawValue] else { throw .invalidTTL }
        guard -latest...latest ~= ttl else { throw .invalidTTL }
        guard case .number(let issued) = values[Name.issueTime.rawValue], 0...latest ~= issued else {
            throw .invalidIssueTime
        }
        return TokenFields(
            timeIssued: Timestamp(millisecondsSince1970: issued),
            timeToLiveMilliseconds: ttl,
            texts: texts,
            ends: ends
        )
    }

    /// Returns the text of a value, or `nil` if there is none but white space.
    private static func text(_ value: JSON) throws(RefusalReason) -> String? {
        if case .null = value { return nil }
        guard case .string(let text) = value, text.isLegalXML else { throw .malformedBody }
        return text.utf8.allSatisfy(\.isXMLSpace) ? nil : text
    }

    /// The largest number of milliseconds: the end of the year 9999.
    private static let latest: Int64 = 253_402_300_799_999
}

/// The meaning of a member of the payload.
private enum Role {
    case field(TokenFields.Name)
    /// A claim that would restrict the token beyond its fields. None is evaluated, so a token with one is refused.
    case restriction
    case other

    init(_ member: String) {
        switch member {
        case "sessionGUID": self = .field(.sessionGUID)
        case "requestorID": self = .field(.requestorID)
        case "resourceID": self = .field(.resourceID)
        case "ttl": self = .field(.ttl)
        case "issueTime": self = .field(.issueTime)
        case "mvpdId": self = .field(.mvpdID)
        case "proxyMvpdId": self = .field(.proxyMVPDID)
        case "exp", "nbf", "aud", "cnf": self = .restriction
        default: self = .other
        }
    }
}
