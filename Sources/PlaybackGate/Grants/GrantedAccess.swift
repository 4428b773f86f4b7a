// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens

/// The grants of an allowed request: the one that was accepted, or those that were issued.
public enum GrantedAccess: Hashable, Sendable {
    /// The grant that the request presented.
    case accepted(AcceptedGrant)
    /// New grants: of a playback that started, or the renewed one.
    case issued([IssuedGrant])

    /// A grant that allowed a request.
    public struct AcceptedGrant: Hashable, Sendable {
        /// The grant.
        public let grant: any PlaybackGrant

        /// Compares the identities.
        public static func == (left: Self, right: Self) -> Bool { left.grant === right.grant }

        public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(grant)) }
    }

    /// The new grants; empty if there is none.
    public var issued: [IssuedGrant] {
        if case .issued(let grants) = self { grants } else { [] }
    }

    /// The playback session.
    public var session: SessionID? {
        switch self {
        case .accepted(let accepted): accepted.grant.sessionID
        case .issued(let grants): grants.first?.session.id
        }
    }
}

extension Decision {
    /// The grant that allowed the request.
    package var acceptedGrant: (any PlaybackGrant)? {
        guard case .allow(let allowance) = self, case .accepted(let accepted)? = allowance.access else { return nil }
        return accepted.grant
    }
}
