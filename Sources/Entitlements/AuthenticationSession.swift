// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

/// A login that has begun, in REST API v2, and what is to be done next.
public struct AuthenticationSession: Hashable, Sendable {
    /// What is to be done next; unknown words are kept.
    public struct Action: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// Open ``AuthenticationSession/url`` in a browser.
        public static let authenticate = Action(rawValue: "authenticate")
        /// Give what is in ``AuthenticationSession/missingParameters``.
        public static let resume = Action(rawValue: "resume")
        /// The viewer is authenticated: ask for decisions.
        public static let authorize = Action(rawValue: "authorize")
    }

    /// What is to be done next.
    public var action: Action
    /// `interactive` where a person must do it, `direct` otherwise.
    public var actionType: String
    /// Why it is so: `none`, `authenticated`, `temporary`, `degraded`, `authenticatedSSO`.
    public var reasonType: String?
    /// The names of what is missing before a login can begin.
    public var missingParameters: [String]?
    /// Where to go, as a path of the service or as a URL.
    public var url: String?
    /// The code that a second screen gives: seven characters, good for 30 minutes.
    public var code: String?
    /// Names the login in the logs of the service.
    public var sessionID: String?
    /// The id of the provider, once one is chosen.
    public var mvpd: String?
    /// The requestor.
    public var serviceProvider: String?
    /// From when the code is good.
    public var notBefore: Timestamp?
    /// Until when the code is good.
    public var notAfter: Timestamp?

    /// Makes a session.
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

    /// Writes its times as texts, as sessions have them.
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

/// What is to be done to log out, by the ids of providers, in REST API v2.
public struct Logouts: Hashable, Sendable, Codable {
    /// What is to be done at one provider.
    public struct Logout: Hashable, Sendable, Codable {
        /// `logout`, `partner_logout`, `complete` or `invalid`.
        public var actionName: String
        /// `interactive`, `partner_interactive` or `none`.
        public var actionType: String
        /// The id of the provider.
        public var mvpd: String
        /// Where a person must go, if anywhere.
        public var url: String?

        /// Makes a logout.
        public init(actionName: String, actionType: String, mvpd: String, url: String? = nil) {
            self.actionName = actionName
            self.actionType = actionType
            self.mvpd = mvpd
            self.url = url
        }
    }

    /// What is to be done, by the ids of providers.
    public var logouts: [String: Logout]

    /// Makes an answer.
    public init(logouts: [String: Logout]) { self.logouts = logouts }
}
