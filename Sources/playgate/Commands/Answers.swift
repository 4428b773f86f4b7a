// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import MediaResources
import MediaTokens

// The output formats of verification results, for people.

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
        case .tokenEmpty: "The token is empty."
        case .tokenTooLarge: "The token is larger than \(Verifier.maximumEncodedSize) bytes."
        case .invalidBase64: "The text is neither a raw token nor valid Base64 of one."
        case .blanksForPlus: "The token has blanks where its plus signs were."
        case .invalidEnvelope:
            "The token does not consist of <signatureInfo>, signature, <signatureInfo> and element, in this order."
        case .invalidSignatureEncoding: "The signature is not valid Base64."
        case .unsupportedRoot: "The element is not a media token; long-lived tokens cannot start a playback."
        case .malformedBody: "The element is not well-formed, or has content other than text fields."
        case .missingField: "A mandatory field is missing."
        case .repeatedField: "A field is repeated."
        case .emptyField: "A mandatory field is empty."
        case .invalidTTL: "The ttl is not a number of milliseconds."
        case .invalidIssueTime: "The issueTime has an unknown format."
        case .noUsableKey: "No trusted key is valid for this requestor at this time."
        case .signatureLength: "The length of the signature matches no trusted key."
        case .untrustedSignature: "The signature is not by a trusted key, or the token was changed."
        case .keyOutOfScope: "The signing key is not trusted for the token's requestor."
        case .requestorMismatch: "The token was issued to another requestor."
        case .ttlNotPositive: "The token's ttl is zero or negative."
        case .ttlTooLong: "The token's ttl exceeds the maximum of the policy."
        case .issuedInFuture: "The issueTime is in the future."
        case .expired: "The token has expired."
        case .resourceMismatch: "The token is for another resource."
        case .internalFailure: "OpenSSL failed; the token was not verified."
        @unknown default: "The token was refused."
        }
    }

    /// The remedy.
    var advice: String {
        switch step {
        case .envelope:
            "Pass the complete serializedToken on, unchanged from the entitlement service."
        case .signature where self == .noUsableKey:
            "Check --trust, --requestor and --minimum-rsa-bits, and that no certificate has expired."
        case .signature:
            "Check that --trust has the issuer's current key for this environment (staging and production differ)."
        case .fields: "Report this to the issuer: it signed a token that does not conform to its documentation."
        case .requestor:
            "Request the token for this service's requestor, or verify with --requestor and the token's requestor."
        case .time where self == .issuedInFuture: "Check this machine's clock and the issuer's."
        case .time where self == .expired: "Authorize again for a new token; a token starts one playback."
        case .time: "Check the issuer's ttl, or --max-ttl."
        case .resource: "Authorize the resource to be played; see `playgate resource match`."
        case nil: "Retry; if the failure persists, check the memory of this machine."
        }
    }
}
