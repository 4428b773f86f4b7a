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

    @discardableResult
    package func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }

    package func text(_ name: String) throws -> String { try String(contentsOfFile: file(name), encoding: .utf8) }
}
