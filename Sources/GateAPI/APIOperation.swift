// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import GateConfiguration
internal import KeySources
internal import Manifests
internal import NIOHTTP1
internal import SharedGrants

/// An operation of the API, identified by its path.
enum APIOperation {
    case playback
    case batch
    /// A request of a player for a licence.
    case licence
    case verify
    /// The recording of a revocation, and the list of those in force.
    case revoke
    /// The lifting of the revocation of a subject.
    case lift
    /// The lifting of the revocation with an id.
    case liftByID(Substring)
    case exchange
    case renew
    case explain
    case redirect
    /// The rewriting of a manifest.
    case rewrite
    /// The signing of a URL for a playback.
    case sign
    /// The verification of a token, as a hosted service had it.
    case hostedValidate
    /// The signing of a URL, as a hosted service had it.
    case hostedSign
    /// The end of a playback session.
    case end(Substring)
    case revocations
    /// The playbacks whose grants more than one hold.
    case leaks
    /// One of them, by the id of its session.
    case leak(Substring)
    /// The policy for edges that check by themselves.
    case policy
    /// The reports of such an edge, and its orders.
    case reports
    case codes
    case code(Substring)
    case catalogue(Substring)
    case document
    /// The public keys of the gate.
    case keys(KeySetNotation)

    /// Finds the operation at a path; `nil` if there is none.
    init?(_ path: Substring) {
        switch path {
        case "/v1/playback": self = .playback
        case "/v1/playback/batch": self = .batch
        case "/v1/licence": self = .licence
        case "/v1/verify": self = .verify
        case "/v1/revocations": self = .revoke
        case "/v1/revocations/lift": self = .lift
        case "/v1/grants": self = .exchange
        case "/v1/grants/renew": self = .renew
        case "/v1/grants/verify": self = .explain
        case "/v1/grants/redirect": self = .redirect
        case "/v1/manifests/rewrite": self = .rewrite
        case "/v1/sign": self = .sign
        // A client is known to double the first slash.
        case "/tvs/v1/validate", "//tvs/v1/validate": self = .hostedValidate
        case "/tvs/v1/sign", "//tvs/v1/sign": self = .hostedSign
        case "/v1/revocations/export": self = .revocations
        case "/v1/leaks": self = .leaks
        case "/v1/policy": self = .policy
        case "/v1/edge/reports": self = .reports
        case "/v1/codes": self = .codes
        case "/openapi.yaml": self = .document
        case "/.well-known/jwks.json": self = .keys(.jwkSet)
        case "/.well-known/cose-keys": self = .keys(.coseKeySet)
        default:
            if let code = path.below("/v1/codes/") {
                self = .code(code)
            } else if let media = path.below("/v1/catalogue/") {
                self = .catalogue(media)
            } else if let session = path.below("/v1/playback/") {
                self = .end(session)
            } else if let id = path.below("/v1/revocations/") {
                self = .liftByID(id)
            } else if let session = path.below("/v1/leaks/") {
                self = .leak(session)
            } else {
                return nil
            }
        }
    }

    /// The scope that a caller needs; `nil` if every caller is allowed.
    var scope: Scope? {
        switch self {
        case .playback, .batch, .licence, .end, .sign: .playback
        case .hostedValidate, .hostedSign: .tvs
        case .verify: .verify
        case .exchange, .renew, .explain, .redirect, .rewrite: .grant
        case .revoke, .lift, .liftByID, .revocations, .leaks, .leak: .revoke
        case .catalogue: .catalogue
        case .policy, .reports: .edge
        case .codes, .code, .document, .keys: nil
        }
    }

    /// The most bytes of the operation's request body; `nil` if it has none.
    var largestBody: Int? {
        switch self {
        case .playback: PlaybackBody.largestBody
        case .batch: BatchBody.largestBody
        case .licence: LicenceBody.largestBody
        case .verify: VerifyBody.largestBody
        case .revoke, .lift: RevocationBody.largestBody
        case .exchange: GrantExchangeBody.largestBody
        case .renew: GrantBody.largestBody
        case .explain: GrantVerifyBody.largestBody
        case .redirect: GrantRedirectBody.largestBody
        case .rewrite: Self.largestManifest
        case .sign: SignBody.largestBody
        case .hostedValidate, .hostedSign: 64 * 1024
        case .reports: LeakReportBatch.maximumSize
        case .end, .liftByID, .revocations, .leaks, .leak, .policy, .codes, .code, .catalogue, .document, .keys: nil
        }
    }

    /// The most bytes of a manifest that is sent to be rewritten.
    static let largestManifest = 8 << 20

    /// True if the operation is one of a hosted service, with forms instead of JSON.
    var isHosted: Bool {
        switch self {
        case .hostedValidate, .hostedSign: true
        default: false
        }
    }

    /// True if the operation accepts bodies of this type.
    func accepts(_ type: String?) -> Bool {
        if case .rewrite = self { return ManifestType(type: type, path: "") != nil }
        if isHosted { return FormParameters.isForm(type) }
        if case .reports = self { return type == "application/octet-stream" }
        if type == "application/json" { return true }
        return type?.prefix { $0 != ";" }.lowercased().filter { $0 != " " } == "application/json"
    }

    /// Checks that the method is that of the operation.
    func check(_ method: HTTPMethod) throws(APIRefusal) {
        switch self {
        case .end, .liftByID:
            guard method == .DELETE else { throw APIRefusal(.methodNotAllowed, allow: "DELETE") }
            return
        case .revoke where method == .GET || method == .HEAD: return
        case .revoke:
            guard method == .POST else { throw APIRefusal(.methodNotAllowed, allow: "GET, HEAD, POST") }
            return
        default: break
        }
        if isHosted {
            guard method == .POST || method == .GET else { throw APIRefusal(.methodNotAllowed, allow: "GET, POST") }
        } else if largestBody != nil {
            guard method == .POST else { throw APIRefusal(.methodNotAllowed, allow: "POST") }
        } else {
            guard method == .GET || method == .HEAD else { throw APIRefusal(.methodNotAllowed, allow: "GET, HEAD") }
        }
    }
}

extension Substring {
    /// Returns the rest after `prefix`; `nil` if the prefix is missing or the rest is empty.
    fileprivate func below(_ prefix: String) -> Substring? {
        utf8.count > prefix.utf8.count && utf8.starts(with: prefix.utf8)
            ? self[utf8.index(startIndex, offsetBy: prefix.utf8.count)...] : nil
    }
}
