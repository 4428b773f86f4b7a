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
