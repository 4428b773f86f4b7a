// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The action that a refused client should perform, in the terms of the entitlement services' enhanced errors.
@nonexhaustive
public enum ClientAction: String, Sendable, CaseIterable {
    /// No action: a retry changes nothing.
    case none
    /// An operator must correct the configuration of the gate.
    case configuration
    /// Authorize again, and retry with a new media token. No new login is needed.
    case authorization
    /// Retry after a short delay, a few times at most.
    case retry
}
