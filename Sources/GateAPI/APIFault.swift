// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
package import EdgeTokens
internal import MediaTokens
package import NIOHTTP1
package import PlaybackGate

/// A fault in an API request that is not a decision of the gate.
///
/// The raw values are stable and differ from all deny codes.
package enum APIFault: String, CaseIterable, Sendable {
    /// The body does not match the operation's schema.
    case invalidRequest = "invalid_request"
    /// The request has neither a bearer key nor a client certificate.
    case credentialMissing = "credential_missing"
    /// The bearer key or the client certificate is unknown.
    case credentialUnknown = "credential_unknown"
    /// The caller lacks the scope of the operation.
    case scopeMissing = "scope_missing"
    /// The host of a request without a credential is not one of this gate: a web page may be behind it.
    case hostRefused = "host_refused"
    /// The path names no operation.
    case operationUnknown = "operation_unknown"
    /// The operation requires another method.
    case methodNotAllowed = "method_not_allowed"
    /// The body is larger than allowed.
    case bodyTooLarge = "body_too_large"
    /// The `Content-Type` of the body is not JSON.
    case unsupportedMediaType = "unsupported_media_type"
    /// The `Content-Type` of the body is not that of a manifest.
    case manifestTypeUnsupported = "manifest_type_unsupported"
    /// The code is not in the table.
    case codeUnknown = "code_unknown"
    /// The token to be revoked is not authentic.
    case tokenNotAuthentic = "token_not_authentic"
    /// No policy names the MVPD that is to be revoked.
    case mvpdUnknown = "mvpd_unknown"
    /// The subject is not revoked.
    case revocationUnknown = "revocation_unknown"
    /// The gate knows no suspicion of the playback.
    case leakUnknown = "leak_unknown"
    /// The store has no room for one more revocation.
    case revocationsFull = "revocations_full"
    /// The gate issues and accepts no grants.
    case grantsNotConfigured = "grants_not_configured"
    /// The format of the profile cannot sign the URL, or its key does not sign now.
    case urlNotSigned = "url_not_signed"
    /// No key for the tags of revocations is configured.
    case revocationsNotExported = "revocations_not_exported"

    package var status: HTTPResponseStatus {
        switch self {
        case .invalidRequest, .tokenNotAuthentic: .badRequest
        case .urlNotSigned, .mvpdUnknown: .unprocessableEntity
        case .credentialMissing, .credentialUnknown: .unauthorized
        case .scopeMissing, .hostRefused: .forbidden
        case .operationUnknown, .codeUnknown, .grantsNotConfigured, .revocationsNotExported, .revocationUnknown,
            .leakUnknown:
            .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .bodyTooLarge: .payloadTooLarge
        case .unsupportedMediaType, .manifestTypeUnsupported: .unsupportedMediaType
        case .revocationsFull: .serviceUnavailable
        }
    }

    package var action: ClientAction {
        switch self {
        case .credentialMissing, .credentialUnknown, .scopeMissing, .hostRefused, .grantsNotConfigured,
            .revocationsNotExported:
            .configuration
        case .revocationsFull: .retry
        default: .none
        }
    }

    package var message: String {
        switch self {
        case .invalidRequest: "The request body is not valid for this operation."
        case .credentialMissing: "A bearer key or a client certificate is required."
        case .credentialUnknown: "The bearer key or client certificate is unknown."
        case .scopeMissing: "The caller lacks the scope for this operation."
        case .hostRefused: "The host of the request is not one of this gate: use its address, or configure api.hosts."
        case .operationUnknown: "The operation does not exist; see /openapi.yaml."
        case .methodNotAllowed: "The operation does not support this method."
        case .bodyTooLarge: "The request body is too large."
        case .unsupportedMediaType: "The body must be JSON, with Content-Type: application/json."
        case .manifestTypeUnsupported: "The body must be a manifest, with the Content-Type of HLS or DASH."
        case .codeUnknown: "The code does not exist; see /v1/codes."
        case .tokenNotAuthentic: "The token to revoke is not authentic, so it cannot start a playback."
        case .urlNotSigned: "The format of the profile cannot express the URL, or its key does not sign now."
        case .grantsNotConfigured: "This gate issues and accepts no grants."
        case .mvpdUnknown: "No policy of this gate names the MVPD, so it may be misspelt."
        case .revocationUnknown: "The subject is not revoked, or no longer."
        case .leakUnknown: "This gate does not suspect the playback to be shared, or no longer."
        case .revocationsFull: "The replay store has no room for another revocation."
        case .revocationsNotExported: "Revocations are exported only if grants.subjectKey is configured."
        }
    }
}

/// A refusal in an API response, with the members of its body.
package struct APIRefusal: Error {
    package var status: HTTPResponseStatus
    package private(set) var action: String
    package let code: String
    package let message: String
    package var details: String?
    package var verifierStatus: String?
    /// The permitted methods, if the method was wrong.
    package var allow: String?

    package init(_ fault: APIFault, details: String? = nil, allow: String? = nil) {
        status = fault.status
        action = fault.action.rawValue
        code = fault.rawValue
        message = fault.message
        self.details = details
        self.allow = allow
    }

    package init(status: HTTPResponseStatus, action: ClientAction, code: String, message: String, details: String?) {
        self.status = status
        self.action = action.rawValue
        self.code = code
        self.message = message
        self.details = details
    }

    package init(_ code: DenyCode) {
        status = code.status
        action = code.action.rawValue
        self.code = code.rawValue
        message = code.message
        verifierStatus = code.verifierStatus?.rawValue
    }
}

extension APIRefusal {
    /// Creates the refusal of a grant, with its claim or fact.
    package init(_ refusal: GrantRefusal) {
        self.init(DenyCode.grant(refusal.code))
        action = refusal.action.rawValue
        details = refusal.detail?.description
    }
}
