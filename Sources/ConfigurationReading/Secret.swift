// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A text that is never printed.
package struct Secret: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }
}

extension Secret: CustomStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
