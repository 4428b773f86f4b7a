// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The preauthorization of resources, for lock icons. **Never a reason to play**; only a media token is.
public struct PreauthorizeResponse: Hashable, Sendable {
    /// The preauthorization of one resource.
    public struct Decision: Hashable, Sendable, Codable {
        /// The resource as it was requested: an identifier or a Media RSS fragment.
        public var id: String
        /// True if the viewer may see the resource.
        public var isAuthorized: Bool
        /// The reason for a denial, if the service is configured to report it.
        public var error: Status?

        private enum CodingKeys: String, CodingKey {
            case id
            case isAuthorized = "authorized"
            case error
        }

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

    /// Decodes the body of a service, or the flat one of a client's failure, which is a status with the HTTP status 0.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        if !members.contains(.resources), let failure = try? Status(from: decoder), failure.status == 0,
            !failure.code.isEmpty
        {
            self.init(decisions: [], status: failure)
        } else {
            self.init(
                decisions: try members.decode([Decision].self, forKey: .resources),
                status: try members.decodeIfPresent(Status.self, forKey: .status)
            )
        }
    }

    /// Encodes the body of a service, or the flat one of a client's failure.
    public func encode(to encoder: any Encoder) throws {
        if let status, status.status == 0, decisions.isEmpty { return try status.encode(to: encoder) }
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(decisions, forKey: .resources)
        try members.encodeIfPresent(status, forKey: .status)
    }
}
