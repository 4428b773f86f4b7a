// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import Platform

/// The requests of a client to an entitlement service, independent of the API version.
protocol EntitlementInterface: Sendable {
    /// True if media tokens are issued by separate requests; otherwise each authorization includes one.
    var handsOutTokens: Bool { get }

    /// Gets the programmer's configuration.
    func configuration() async throws(ServiceFailure) -> ServiceConfiguration

    /// Starts a login.
    func beginLogin(_ login: LoginRequest) async throws(ServiceFailure) -> LoginStep

    /// Gets the viewer who is authenticated with the provider; `nil` if there is none.
    ///
    /// - Parameter code: The code of the login that has ended, if there was one.
    func viewer(_ mvpd: String?, code: String?) async throws(ServiceFailure) -> KnownViewer?

    /// Gets the request for an assertion, for the platform's provider.
    func platformRequest(_ mvpd: String) async throws(ServiceFailure) -> String

    /// Submits the assertion of the platform's provider.
    func exchange(_ assertion: String, mvpd: String) async throws(ServiceFailure)

    /// Gets the decisions about the resources, for display only.
    func preauthorize(_ call: PreauthorizeQuery) async throws(ServiceFailure) -> PreauthorizeResponse

    /// Requests the authorization to get media tokens for the resource.
    func authorize(_ call: AuthorizeRequest) async throws(ServiceFailure) -> Authorized

    /// Gets a new media token. If ``handsOutTokens`` is false, this is a new authorization.
    func mediaToken(_ call: AuthorizeRequest) async throws(ServiceFailure) -> AuthorizedToken

    /// Gets the provider's metadata of the viewer.
    func userMetadata(_ mvpd: String) async throws(ServiceFailure) -> UserMetadata

    /// Ends the viewer's session at the service.
    ///
    /// - Returns: The URL to open in a browser to end the session at the provider too; `nil` if none is needed.
    func logout(_ mvpd: String, redirectURL: String) async throws(ServiceFailure) -> String?
}

/// The parameters of a login.
struct LoginRequest {
    let mvpd: MVPD
    let domain: String
    let redirectURL: String
    /// The application's data for the service, which promotional temporary access requires.
    let data: [String: String]
}

/// The next step of a login.
enum LoginStep {
    /// Open this URL in a browser on this device, or enter the code in a browser on another device.
    case navigate(url: String, code: String, expires: Timestamp?)
    /// The viewer is authenticated already.
    case done
}

/// A viewer as the service reports it.
struct KnownViewer {
    let mvpd: String
    let userID: String
    let expires: Timestamp
    let kind: Profile.Kind

    /// The viewer with the kind `temporary`, if the interface does not report the kind.
    var temporary: KnownViewer { KnownViewer(mvpd: mvpd, userID: userID, expires: expires, kind: .temporary) }
}

struct PreauthorizeQuery {
    let mvpd: String
    let resources: [String]
    let usesRemoteCache: Bool
}

struct AuthorizeRequest {
    let mvpd: String
    let resource: String
    let data: [String: String]
    /// True if the viewer has temporary access.
    let isTemporary: Bool
}

/// The authorization of a viewer.
struct Authorized {
    let source: AuthorizationDecision.Source
    /// The expiry; `nil` if the service does not report it.
    let expires: Timestamp?
    /// The media token, if the interface includes it in the authorization.
    let token: AuthorizedToken?
}

extension [String: String] {
    /// The dictionary as JSON text, for header fields and forms; `nil` if it is empty.
    var json: String? {
        guard !isEmpty, let bytes = try? EntitlementBody.json(self) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The JSON text in Base64.
    var base64JSON: String? { json.map { Base64.encode([UInt8]($0.utf8)) } }
}
