// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The environment of this process.
package enum ProcessEnvironment {
    /// The value of a variable; nil where there is none.
    package static func value(_ name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }
}
