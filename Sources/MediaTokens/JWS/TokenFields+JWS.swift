// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Platform
internal import XML

extension TokenFields {
    private static let limits = JSONLimits(depth: 8, members: 64, elements: 256)

    /// The values of a payload, by the number of their field.
    private typealias Values = [7 of JSONMemberReader.Member?]

    /// Reads the fields from the payload of a JWS: an object whose members have the names of the elements.
    ///
    /// Texts are strings; `ttl` and `issueTime` are whole numbers of milliseconds, the latter since 1970. An absent,
    /// `null` or empty `proxyMvpdId` means that there is none. Other members are ignored, as other elements are.
    static func read(json payload: Span<UInt8>) throws(RefusalReason) -> TokenFields {
        var values = Values(repeating: nil)
        var isRestricted = false
        do throws(JSONFault) {
            var reader = JSONMemberReader(payload, limits: limits)
            while let member = try reader.next() {
                guard let index = try reader.index(of: member, in: PayloadName.names) else { continue }
                if let field = PayloadName.all[index].field {
                    values[field.rawValue] = member
                } else {
                    isRestricted = true
                }
            }
        } catch {
            if case .repeatedMember = error { throw .repeatedField }
            throw .malformedBody
        }
        guard !isRestricted else { throw .malformedBody }
        return try fields(of: values, in: payload)
    }

    /// Returns the fields of values in the order of ``Name``.
    private static func fields(of values: Values, in payload: Span<UInt8>) throws(RefusalReason) -> TokenFields {
        // Missing fields are reported before empty ones, as for elements.
        for index in 0..<Name.proxyMVPDID.rawValue {
            guard let value = values[index], value.kind != .null else { throw .missingField }
        }
        var texts: [UInt8] = []
        var ends = [5 of UInt16](repeating: 0)
        let order: [5 of Name] = [.requestorID, .resourceID, .sessionGUID, .mvpdID, .proxyMVPDID]
        var size = 0
        for index in order.indices { size += values[order[index].rawValue]?.value.count ?? 0 }
        texts.reserveCapacity(size)
        for index in order.indices {
            let start = texts.count
            if let value = values[order[index].rawValue] { try append(value, in: payload, to: &texts) }
            guard texts.count > start || order[index] == .proxyMVPDID else { throw .emptyField }
            ends[index] = UInt16(texts.count)
        }
        guard let ttl = number(of: values[Name.ttl.rawValue], in: payload), -latest...latest ~= ttl else {
            throw .invalidTTL
        }
        guard let issued = number(of: values[Name.issueTime.rawValue], in: payload), 0...latest ~= issued else {
            throw .invalidIssueTime
        }
        return TokenFields(
            timeIssued: Timestamp(millisecondsSince1970: issued),
            timeToLiveMilliseconds: ttl,
            texts: texts,
            ends: ends
        )
    }

    /// Appends the text of a value, unless there is none but white space.
    private static func append(
        _ value: JSONMemberReader.Member,
        in payload: Span<UInt8>,
        to texts: inout [UInt8]
    ) throws(RefusalReason) {
        guard value.kind != .null else { return }
        guard case .string(let isEscaped) = value.kind else { throw .malformedBody }
        let bytes = payload.extracting(value.value.lowerBound + 1..<value.value.upperBound - 1)
        guard isEscaped || !bytes.isPlainXML else {
            var isBlank = true
            for index in bytes.indices where bytes[index] != 0x20 { isBlank = false }
            if !isBlank { texts.append(copying: bytes) }
            return
        }
        guard let text = try? JSONMemberReader.text(in: payload, at: value.value), text.isLegalXML else {
            throw .malformedBody
        }
        if !text.utf8.allSatisfy(\.isXMLSpace) { texts += text.utf8 }
    }

    private static func number(of value: JSONMemberReader.Member?, in payload: Span<UInt8>) -> Int64? {
        guard let value, value.kind == .integer else { return nil }
        return Int64(jsonInteger: payload.extracting(value.value))
    }

    /// The largest number of milliseconds: the end of the year 9999.
    private static let latest: Int64 = 253_402_300_799_999
}

/// A member of the payload with a meaning.
private enum PayloadName: String, CaseIterable {
    case sessionGUID, requestorID, resourceID, ttl, issueTime
    case mvpdID = "mvpdId"
    case proxyMVPDID = "proxyMvpdId"
    case expiration = "exp"
    case notBefore = "nbf"
    case audience = "aud"
    case confirmation = "cnf"

    static let all = allCases
    static let names = JSONNames(all.map(\.rawValue))

    /// The field; `nil` for a claim that would restrict the token beyond its fields. None is evaluated, so a token with one is
    /// refused.
    var field: TokenFields.Name? {
        switch self {
        case .sessionGUID: .sessionGUID
        case .requestorID: .requestorID
        case .resourceID: .resourceID
        case .ttl: .ttl
        case .issueTime: .issueTime
        case .mvpdID: .mvpdID
        case .proxyMVPDID: .proxyMVPDID
        case .expiration, .notBefore, .audience, .confirmation: nil
        }
    }
}
