// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// The state that all endpoints share.
struct SandboxCore: Sendable {
    let configuration: SandboxConfiguration
    let keys: SandboxKeys
    let store: Store
    let control: Control
    let clock: @Sendable () -> Timestamp
}
