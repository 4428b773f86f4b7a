// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// The state that all endpoints share.
struct SandboxCore: Sendable {
    let configuration: SandboxConfiguration
    let keys: SandboxKeys
    let store: Store
    let control: Control
    /// The pages of an application that the service also serves.
    let pages: [ApplicationPages.File]
    let clock: @Sendable () -> Timestamp
}
