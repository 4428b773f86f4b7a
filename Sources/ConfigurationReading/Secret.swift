// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

/// A text that does not print.
package struct Secret: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }
}

extension Secret: CustomStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The environment of this process.
package enum ProcessEnvironment {
    /// The value of a variable; nil where there is none.
    package static func value(_ name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }
}
