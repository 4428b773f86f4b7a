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
struct Secret: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }
}

extension Secret: CustomStringConvertible, CustomReflectable {
    var description: String { "<secret>" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// The environment of this process.
enum ProcessEnvironment {
    /// The value of a variable; nil where there is none.
    static func value(_ name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }
}
