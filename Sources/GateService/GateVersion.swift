// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The version of this program.
public enum GateVersion {
    /// The version, by Semantic Versioning.
    public static let current = "0.1.0"
}
