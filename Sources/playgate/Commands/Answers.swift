// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateService
import MediaResources
import MediaTokens

// The output formats of verification results, for programs and for people.

extension JSONText {
    /// Creates an object with the fields of a token.
    init(_ token: MediaToken) {
        self = .object([
            ("requestorID", .string(token.requestorID)), ("resourceID", .string(token.resourceID)),
            ("timeIssued", .string(token.timeIssued.iso8601)),
            ("timeToLive", .number(token.timeToLiveMilliseconds)),
            ("userSessionGUID", .string(token.userSessionGUID)), ("mvpdID", .string(token.mvpdID)),
            ("proxyMVPDID", .optional(token.proxyMVPDID)),
        ])
    }

    /// Creates an object with the result of a verification.
    init(_ answer: Verification) {
        self = .object([
            ("status", .string(answer.status.rawValue)), ("reason", .optional(answer.reason?.rawValue)),
            ("token", answer.token.map { JSONText($0) } ?? .null), ("key", .optional(answer.key)),
        ])
    }
}

extension MediaToken {
    /// The fields of the token, one on a line, for people. Control characters are replaced by spaces.
    var table: String {
        let rows: [(String, String)] = [
            ("requestor", requestorID), ("resource", resourceID), ("issued", timeIssued.iso8601),
            ("time to live", "\(timeToLiveMilliseconds) ms, until \(expires.iso8601)"), ("session", userSessionGUID),
            ("MVPD", mvpdID), ("proxied MVPD", proxyMVPDID ?? "none"),
        ]
        return rows.map { name, value in
            "  \(name)\(String(repeating: " ", count: 15 - name.count))\(value.printable(limit: 2000))\n"
        }.joined()
    }
}

extension RefusalReason {
    /// The reason in words.
    var meaning: String {
        switch self {
        case .tokenEmpty: "There is no token."
        case .tokenTooLarge: "The token is larger than \(Verifier.maximumEncodedSize) bytes."
        case .invalidBase64: "The text is neither a raw token nor Base64 in one piece."
        case .invalidEnvelope:
            "The parts <signatureInfo>, signature, <signatureInfo> and element are not there in this order."
        case .invalidSignatureEncoding: "The signature is not Base64."
        case .unsupportedRoot: "The element is not a media token; long-lived tokens never open a stream."
        case .malformedBody: "The element is not well-formed, or holds more than fields of text."
        case .missingField: "A mandatory field is missing."
        case .repeatedField: "A field is there twice."
        case .emptyField: "A mandatory field is empty."
        case .invalidTTL: "The ttl is not a number of milliseconds."
        case .invalidIssueTime: "The issueTime has no known form."
        case .noUsableKey: "No key is trusted for this requestor at this time."
        case .signatureLength: "The signature has the length of no trusted key."
        case .untrustedSignature: "No trusted key made this signature, or the token was changed."
        case .keyOutOfScope: "The key that signed may not speak for the token's requestor."
        case .requestorMismatch: "The token was issued to another requestor."
        case .ttlNotPositive: "The token's life is zero or negative."
        case .ttlTooLong: "The token's life is longer than the policy allows."
        case .issuedInFuture: "The token comes from the future."
        case .expired: "The token's life is over."
        case .resourceMismatch: "The token is good for another resource."
        case .internalFailure: "OpenSSL failed; the token was not judged."
        @unknown default: "The token was refused."
        }
    }

    /// The remedy.
    var advice: String {
        switch step {
        case .envelope:
            "Pass on the serializedToken exactly as the entitlement service returned it, whole and unchanged."
        case .signature where self == .noUsableKey:
            "Check --trust, --requestor and --minimum-rsa-bits, and that no certificate has expired."
        case .signature:
            "Check that --trust has the issuer's present key for this environment (staging and production differ)."
        case .fields: "Tell the issuer: it signed something that is not a media token by its documentation."
        case .requestor:
            "Ask for the token with the requestor of this service, or verify with --requestor of the token."
        case .time where self == .issuedInFuture: "Check this machine's clock and the issuer's."
        case .time where self == .expired: "Authorize again for a new token; tokens are for one start within minutes."
        case .time: "Check the life that the issuer is configured for, or --max-ttl."
        case .resource: "Authorize for the resource that is to be played; see `playgate resource match`."
        case nil: "Try again; if it stays, look at the machine's memory."
        }
    }
}
