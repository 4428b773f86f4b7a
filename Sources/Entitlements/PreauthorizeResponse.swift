// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The preauthorization of resources, for lock icons. **Never a reason to play**; only a media token is.
public struct PreauthorizeResponse: Hashable, Sendable {
    /// The preauthorization of one resource.
    public struct Decision: Hashable, Sendable {
        /// The resource as it was requested: an identifier or a Media RSS fragment.
        public var id: String
        /// True if the viewer may see the resource.
        public var isAuthorized: Bool
        /// The reason for a denial, if the service is configured to report it.
        public var error: Status?

        /// Creates a decision.
        public init(id: String, isAuthorized: Bool, error: Status? = nil) {
            self.id = id
            self.isAuthorized = isAuthorized
            self.error = error
        }
    }

    /// One decision for each requested resource; empty if the whole response is an error.
    public var decisions: [Decision]
    /// The reason why there are no decisions; `nil` if there are decisions.
    public var status: Status?

    /// Creates a response.
    public init(decisions: [Decision], status: Status? = nil) {
        self.decisions = decisions
        self.status = status
    }
}

extension PreauthorizeResponse: Codable {
    private enum Key: String, CodingKey { case resources, status }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        decisions = try members.decode([Decision].self, forKey: .resources)
        status = try members.decodeIfPresent(Status.self, forKey: .status)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(decisions, forKey: .resources)
        try members.encodeIfPresent(status, forKey: .status)
    }
}

extension PreauthorizeResponse.Decision: Codable {
    private enum Key: String, CodingKey { case id, authorized, error }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        id = try members.decode(String.self, forKey: .id)
        isAuthorized = try members.decode(Bool.self, forKey: .authorized)
        error = try members.decodeIfPresent(Status.self, forKey: .error)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(id, forKey: .id)
        try members.encode(isAuthorized, forKey: .authorized)
        try members.encodeIfPresent(error, forKey: .error)
    }
}
