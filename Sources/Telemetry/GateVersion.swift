// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// The version of this program.
public enum GateVersion {
    /// The version, by Semantic Versioning.
    public static let current = "\(ReleaseVersion.current)"
}
