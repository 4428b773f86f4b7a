// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

/// A login that has started, in REST API v2, with its next step.
public struct AuthenticationSession: Hashable, Sendable {
    /// The next step of a login. Unknown values are retained.
    public struct Action: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// Open ``AuthenticationSession/url`` in a browser.
        public static let authenticate = Action(rawValue: "authenticate")
        /// Supply the parameters in ``AuthenticationSession/missingParameters``.
        public static let resume = Action(rawValue: "resume")
        /// Request decisions: the viewer is authenticated.
        public static let authorize = Action(rawValue: "authorize")
    }

    /// The next step.
    public var action: Action
    /// The kind of step: `interactive` if the viewer must act, `direct` otherwise.
    public var actionType: String
    /// The reason for the step: `none`, `authenticated`, `temporary`, `degraded`, `authenticatedSSO`.
    public var reasonType: String?
    /// The names of the parameters that are missing before a login can start.
    public var missingParameters: [String]?
    /// The next URL: a path of the service or an absolute URL.
    public var url: String?
    /// The code for a second screen: seven characters, valid for 30 minutes.
    public var code: String?
    /// The id of the login in the logs of the service.
    public var sessionID: String?
    /// The id of the provider; `nil` until one is chosen.
    public var mvpd: String?
    /// The requestor's id.
    public var serviceProvider: String?
    /// The start of the validity of the code.
    public var notBefore: Timestamp?
    /// The end of the validity of the code.
    public var notAfter: Timestamp?

    /// Creates a session.
    public init(
        action: Action,
        actionType: String,
        reasonType: String? = nil,
        missingParameters: [String]? = nil,
        url: String? = nil,
        code: String? = nil,
        sessionID: String? = nil,
        mvpd: String? = nil,
        serviceProvider: String? = nil,
        notBefore: Timestamp? = nil,
        notAfter: Timestamp? = nil
    ) {
        self.action = action
        self.actionType = actionType
        self.reasonType = reasonType
        self.missingParameters = missingParameters
        self.url = url
        self.code = code
        self.sessionID = sessionID
        self.mvpd = mvpd
        self.serviceProvider = serviceProvider
        self.notBefore = notBefore
        self.notAfter = notAfter
    }
}

extension AuthenticationSession: Codable {
    private enum Key: String, CodingKey {
        case actionName, actionType, reasonType, missingParameters, url, code, sessionId, mvpd, serviceProvider
        case notBefore, notAfter
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        action = Action(rawValue: try members.decode(String.self, forKey: .actionName))
        actionType = try members.decode(String.self, forKey: .actionType)
        reasonType = try members.decodeIfPresent(String.self, forKey: .reasonType)
        missingParameters = try members.decodeIfPresent([String].self, forKey: .missingParameters)
        url = try members.decodeIfPresent(String.self, forKey: .url)
        code = try members.decodeIfPresent(String.self, forKey: .code)
        sessionID = try members.decodeIfPresent(String.self, forKey: .sessionId)
        mvpd = try members.decodeIfPresent(String.self, forKey: .mvpd)
        serviceProvider = try members.decodeIfPresent(String.self, forKey: .serviceProvider)
        notBefore = try members.millisecondsIfPresent(.notBefore)
        notAfter = try members.millisecondsIfPresent(.notAfter)
    }

    /// Encodes the session, with its times as strings.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(action.rawValue, forKey: .actionName)
        try members.encode(actionType, forKey: .actionType)
        try members.encodeIfPresent(reasonType, forKey: .reasonType)
        try members.encodeIfPresent(missingParameters, forKey: .missingParameters)
        try members.encodeIfPresent(url, forKey: .url)
        try members.encodeIfPresent(code, forKey: .code)
        try members.encodeIfPresent(sessionID, forKey: .sessionId)
        try members.encodeIfPresent(mvpd, forKey: .mvpd)
        try members.encodeIfPresent(serviceProvider, forKey: .serviceProvider)
        try members.encode(notBefore, asTextFor: .notBefore)
        try members.encode(notAfter, asTextFor: .notAfter)
    }
}

/// The steps that complete a logout in REST API v2, keyed by provider id.
public struct Logouts: Hashable, Sendable, Codable {
    /// The step that completes a logout at one provider.
    public struct Logout: Hashable, Sendable, Codable {
        /// `logout`, `partner_logout`, `complete` or `invalid`.
        public var actionName: String
        /// `interactive`, `partner_interactive` or `none`.
        public var actionType: String
        /// The id of the provider.
        public var mvpd: String
        /// The URL to open in a browser; `nil` if none is needed.
        public var url: String?

        /// Creates a logout step.
        public init(actionName: String, actionType: String, mvpd: String, url: String? = nil) {
            self.actionName = actionName
            self.actionType = actionType
            self.mvpd = mvpd
            self.url = url
        }
    }

    /// The steps, keyed by provider id.
    public var logouts: [String: Logout]

    /// Creates a response.
    public init(logouts: [String: Logout]) { self.logouts = logouts }
}
