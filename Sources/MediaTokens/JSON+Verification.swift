// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Encodings

// Tokens and verifications in JSON: the same members from the command line and from the API.

extension JSON {
    /// Creates an object with the fields of an authentic token. Times are in Unix milliseconds, durations in milliseconds.
    package init(_ token: MediaToken) {
        self = .object([
            ("requestorID", .string(token.requestorID)), ("resourceID", .string(token.resourceID)),
            ("timeIssued", .number(token.timeIssued.millisecondsSince1970)),
            ("timeToLive", .number(token.timeToLiveMilliseconds)),
            ("expires", .number(token.expires.millisecondsSince1970)),
            ("userSessionGUID", .string(token.userSessionGUID)), ("mvpdID", .string(token.mvpdID)),
            ("proxyMVPDID", .optional(token.proxyMVPDID)), ("fingerprint", .string(token.fingerprint.hexadecimal)),
        ])
    }

    /// Returns the members of a verification's result; `code` is null for a valid token.
    package static func members(_ answer: Verification) -> [JSON.Member] {
        members(
            valid: answer.isValid,
            answer.status,
            code: answer.reason?.rawValue,
            token: answer.token,
            key: answer.key
        )
    }

    /// Appends the members of ``members(_:)``, each with a comma before it, without making a tree of them: a file has millions.
    package static func writeMembers(_ answer: Verification, to line: inout [UInt8]) {
        line.append(answer.isValid ? ",\"valid\":true,\"verifierStatus\":" : ",\"valid\":false,\"verifierStatus\":")
        write(answer.status.rawValue, to: &line)
        line.append(",\"code\":")
        write(optional: answer.reason?.rawValue, to: &line)
        line.append(",\"token\":")
        if let token = answer.token { write(token, to: &line) } else { line.append("null") }
        line.append(",\"key\":")
        write(optional: answer.key, to: &line)
    }

    private static func write(optional text: String?, to line: inout [UInt8]) {
        if let text { write(text, to: &line) } else { line.append("null") }
    }

    /// Appends ``init(_:)-(MediaToken)``.
    private static func write(_ token: MediaToken, to line: inout [UInt8]) {
        line.append("{\"requestorID\":")
        token.fields.withBytes(of: .requestorID) { write(utf8: $0, to: &line) }
        line.append(",\"resourceID\":")
        token.fields.withBytes(of: .resourceID) { write(utf8: $0, to: &line) }
        line.append(",\"timeIssued\":")
        line.append(decimal: token.timeIssued.millisecondsSince1970)
        line.append(",\"timeToLive\":")
        line.append(decimal: token.timeToLiveMilliseconds)
        line.append(",\"expires\":")
        line.append(decimal: token.expires.millisecondsSince1970)
        line.append(",\"userSessionGUID\":")
        token.fields.withBytes(of: .userSessionGUID) { write(utf8: $0, to: &line) }
        line.append(",\"mvpdID\":")
        token.fields.withBytes(of: .mvpdID) { write(utf8: $0, to: &line) }
        line.append(",\"proxyMVPDID\":")
        if token.fields.isMissing(.proxyMVPDID) {
            line.append("null")
        } else {
            token.fields.withBytes(of: .proxyMVPDID) { write(utf8: $0, to: &line) }
        }
        line.append(",\"fingerprint\":\"")
        let digit = { (value: UInt8) in value < 10 ? 0x30 + value : 0x57 + value }
        for byte in token.fingerprint.bytes {
            line.append(digit(byte >> 4))
            line.append(digit(byte & 15))
        }
        line.append("\"}")
    }

    /// Returns the members of a result of which the parts are known.
    package static func members(
        valid: Bool,
        _ status: VerificationStatus?,
        code: String?,
        token: MediaToken? = nil,
        key: String? = nil
    ) -> [JSON.Member] {
        [
            ("valid", .bool(valid)), ("verifierStatus", .optional(status?.rawValue)), ("code", .optional(code)),
            ("token", token.map { JSON($0) } ?? .null), ("key", .optional(key)),
        ]
    }
}
