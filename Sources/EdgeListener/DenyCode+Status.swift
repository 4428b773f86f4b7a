// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import MediaTokens
package import NIOHTTP1
package import PlaybackGate

extension DenyCode {
    /// The HTTP status of a refusal.
    package var status: HTTPResponseStatus {
        switch self {
        case .unknownMedia, .invalidPath: .notFound
        case .tokenMissing: .unauthorized
        case .methodNotPermitted: .methodNotAllowed
        case .rangeNotPermitted: .rangeNotSatisfiable
        case .token(.internalFailure), .replayStoreFull, .replayStoreUnavailable, .overloaded: .serviceUnavailable
        case .peerNotTrusted, .edgeRequestInvalid, .hostMissing, .tokenConflict, .token, .mvpdNotAllowed,
            .ratingNotAllowed,
            .tokenRevoked, .sessionRevoked, .mvpdRevoked,
            .tokenAlreadyUsed, .licenceAlreadyIssued, .licenceKeyMissing:
            .forbidden
        case .accessToken(.internalFailure), .accessToken(.keyAwaited), .accessToken(.introspectionUnavailable):
            .serviceUnavailable
        case .accessToken: .forbidden
        case .grant(let code): code.status
        }
    }
}

extension GrantCode {
    fileprivate var status: HTTPResponseStatus {
        switch self {
        case .missing: .unauthorized
        case .streamLimitReached: .conflict
        default: .forbidden
        }
    }
}
