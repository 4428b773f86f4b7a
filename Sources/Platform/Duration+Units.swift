// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension Duration {
    /// This duration in milliseconds, truncated.
    package var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }

    /// This duration in nanoseconds, truncated.
    package var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }

    /// This duration in seconds.
    package var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
