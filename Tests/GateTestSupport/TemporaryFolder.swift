// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import Platform

/// A temporary folder for a test, which is removed with the value.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("playgate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package func file(_ name: String) -> String { path + "/" + name }

    /// Writes a file, and returns its path.
    @discardableResult
    package func write(_ name: String, contents text: String) throws -> String {
        try write(name, contents: [UInt8](text.utf8))
    }

    /// Writes a file, in a folder that is made if it is missing, and returns its path.
    @discardableResult
    package func write(_ name: String, contents bytes: [UInt8]) throws -> String {
        let url = URL(fileURLWithPath: file(name))
        if name.contains("/") {
            let folder = url.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        try Data(bytes).write(to: url)
        return file(name)
    }

    package func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: file(name))))
    }

    package func text(_ name: String) throws -> String { String(decoding: try bytes(name), as: UTF8.self) }
}
