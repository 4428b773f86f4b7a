// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import Platform

/// What a client asks of an entitlement service, by whichever of its interfaces.
protocol EntitlementInterface: Sendable {
    /// Whether media tokens are handed out by themselves; otherwise each authorization has its own.
    var handsOutTokens: Bool { get }

    /// The programmer's configuration.
    func configuration() async throws(ServiceFailure) -> ServiceConfiguration

    /// Begins a login.
    func beginLogin(_ login: LoginRequest) async throws(ServiceFailure) -> LoginStep

    /// Who is authenticated with the provider; nil where nobody is.
    ///
    /// - Parameter code: Of the login that has ended, where one has.
    func viewer(_ mvpd: String?, code: String?) async throws(ServiceFailure) -> KnownViewer?

    /// What the service needs of the platform's provider: a request for an assertion.
    func platformRequest(_ mvpd: String) async throws(ServiceFailure) -> String

    /// Hands in what the platform's provider asserts.
    func exchange(_ assertion: String, mvpd: String) async throws(ServiceFailure)

    /// Which of the resources the viewer may see.
    func preauthorize(_ question: PreauthorizeQuestion) async throws(ServiceFailure) -> PreauthorizeResponse

    /// Whether the viewer may have media tokens for the resource.
    func authorize(_ question: AuthorizeQuestion) async throws(ServiceFailure) -> Authorized

    /// A new media token, where they are handed out by themselves.
    func mediaToken(_ question: AuthorizeQuestion) async throws(ServiceFailure) -> ServiceToken

    /// What the provider tells of the viewer.
    func userMetadata(_ mvpd: String) async throws(ServiceFailure) -> UserMetadata

    /// Ends what the service knows of the viewer.
    ///
    /// - Returns: Where a browser must go to end it at the provider too; nil where it need not.
    func logout(_ mvpd: String, redirectURL: String) async throws(ServiceFailure) -> String?
}

/// What a login begins with.
struct LoginRequest {
    let mvpd: MVPD
    let domain: String
    let redirectURL: String
    /// The application's own words for it, as promotional temporary access needs them.
    let data: [String: String]
}

/// What comes next in a login.
enum LoginStep {
    /// A browser goes to this URL; or, with the code, a browser elsewhere.
    case navigate(url: String, code: String, expires: Timestamp?)
    /// Nothing: the viewer is authenticated.
    case done
}

/// What the service says of a viewer.
struct KnownViewer {
    let mvpd: String
    let userID: String
    let expires: Timestamp
    let kind: Profile.Kind

    /// The same by temporary access, where the interface does not say so.
    var temporary: KnownViewer { KnownViewer(mvpd: mvpd, userID: userID, expires: expires, kind: .temporary) }
}

struct PreauthorizeQuestion {
    let mvpd: String
    let resources: [String]
    let usesRemoteCache: Bool
}

struct AuthorizeQuestion {
    let mvpd: String
    let resource: String
    let data: [String: String]
    /// Whether the viewer is one of temporary access.
    let isTemporary: Bool
}

/// That the viewer is authorized.
struct Authorized {
    let source: AuthorizationDecision.Source
    /// Until when; nil where the service does not say.
    let expires: Timestamp?
    /// With a media token, where the interface gives it at once.
    let token: ServiceToken?
}

/// A media token as it came from the service.
struct ServiceToken {
    let serialized: String
    let expires: Timestamp
}

extension [String: String] {
    /// As one text, for headers and forms: JSON.
    var json: String? {
        guard !isEmpty, let bytes = try? EntitlementBody.json(self) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The same in Base64.
    var base64JSON: String? { json.map { Base64.encode([UInt8]($0.utf8)) } }
}
