// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens

/// The switches for deliberate failures.
struct Switches: Sendable {
    var faults: [Fault] = []
    /// An untrusted key that signs media tokens in place of the service's own.
    var wrongKey: SigningKey?
    /// The offset that is added to the issue time of media tokens, in milliseconds.
    var clockSkew: Int64 = 0
    /// True if media tokens are issued without their closing tag.
    var malformsTokens = false
    var throttling: SandboxConfiguration.Throttling?
    /// Resources and channels that every provider denies.
    var denied: [String] = []
    var degradation: [SandboxConfiguration.DegradationRule]

    /// Creates the initial switches of a configuration.
    init(_ configuration: SandboxConfiguration) {
        throttling = configuration.throttling
        degradation = configuration.degradation
    }
}
