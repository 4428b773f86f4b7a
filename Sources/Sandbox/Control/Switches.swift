// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens

/// What is made to go wrong on purpose.
struct Switches: Sendable {
    var faults: [Fault] = []
    /// A key that nobody trusts, in place of the service's own.
    var wrongKey: SigningKey?
    /// What is added to the time that media tokens say, in milliseconds.
    var clockSkew: Int64 = 0
    /// Whether media tokens have something missing.
    var malformsTokens = false
    var throttling: SandboxConfiguration.Throttling?
    /// Resources and channels that every provider denies.
    var denied: [String] = []
    var degradation: [SandboxConfiguration.DegradationRule]

    /// As they are before anybody touches them.
    init(_ configuration: SandboxConfiguration) {
        throttling = configuration.throttling
        degradation = configuration.degradation
    }
}
