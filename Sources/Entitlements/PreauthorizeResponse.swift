// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Which resources a viewer may see: for lock icons. **Never a reason to play**; only a media token is.
public struct PreauthorizeResponse: Hashable, Sendable {
    /// Whether a viewer may see a resource.
    public struct Decision: Hashable, Sendable {
        /// The resource as it was asked for: an identifier or a Media RSS fragment.
        public var id: String
        /// Whether the viewer may see it.
        public var isAuthorized: Bool
        /// Why not, where the service is set up to say so.
        public var error: Status?

        /// Makes a decision.
        public init(id: String, isAuthorized: Bool, error: Status? = nil) {
            self.id = id
            self.isAuthorized = isAuthorized
            self.error = error
        }
    }

    /// One for each resource that was asked for; none may be left where the whole answer is an error.
    public var decisions: [Decision]
    /// Why there are no decisions; nil where there are.
    public var status: Status?

    /// Makes an answer.
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
