// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The version of this package.
package enum ReleaseVersion {
    /// The version, by Semantic Versioning.
    package static let current: StaticString = "0.2.0"
}
