// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

/// A text that is never printed.
package struct Secret: Hashable, Sendable {
    package let text: String
    /// The file that the text was read from; `nil` if it stood elsewhere.
    package let file: File?

    package init(_ text: String, file: File? = nil) {
        self.text = text
        self.file = file
    }

    /// A file, with its state before it was read.
    package struct File: Hashable, Sendable {
        package let path: String
        package let stamp: FileStamp?

        /// Creates a file with its state.
        package init(path: String, stamp: FileStamp?) {
            self.path = path
            self.stamp = stamp
        }
    }
}

extension Secret: CustomStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
