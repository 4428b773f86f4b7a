// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation

/// The `openssl` command line in a temporary folder, which is removed with the value.
final class OpenSSLCommand {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The path of the command; `nil` if it is not installed.
    static let path: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        .split(separator: ":").map { "\($0)/openssl" }
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    struct Failure: Error {
        let arguments: String
        let output: String
    }

    /// Runs the command in the folder, with arguments separated by spaces, and returns its output.
    @discardableResult
    func callAsFunction(_ arguments: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.path ?? "/usr/bin/openssl")
        process.arguments = arguments.split(separator: " ").map(String.init)
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = String(decoding: data, as: UTF8.self)
        guard process.terminationStatus == 0 else { throw Failure(arguments: arguments, output: text) }
        return text
    }
}

/// A temporary folder, which is removed with the value.
final class TemporaryFolder {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("playgate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String { try write([UInt8](text.utf8), to: name) }

    @discardableResult
    func write(_ bytes: [UInt8], to name: String) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        return "\(path)/\(name)"
    }

    func bytes(of name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")))
    }

    func text(of name: String) throws -> String { String(decoding: try bytes(of: name), as: UTF8.self) }
}
