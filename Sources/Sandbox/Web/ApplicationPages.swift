// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import FoundationEssentials
internal import Platform

/// The pages of a web application that uses the service, such as `examples/demo-tv`: files of one folder, read once, so that
/// no request names a path. `index.html` is at `/`, and every other file at `/` and its name.
package struct ApplicationPages: Sendable {
    struct File: Sendable {
        let path: String
        let type: String
        let bytes: [UInt8]
    }

    let files: [File]

    private static let types = [
        "html": "text/html;charset=UTF-8", "js": "text/javascript;charset=UTF-8", "css": "text/css;charset=UTF-8",
        "svg": "image/svg+xml",
    ]

    /// Reads the HTML, JavaScript, CSS and SVG files of a folder, each of at most 1 MiB. Other files, hidden ones, links
    /// and subfolders are ignored.
    ///
    /// - Throws: ``SandboxError`` if there is no `index.html`, or if a file cannot be read or has the name of the service's
    ///   own style sheet.
    package init(folder: String) throws(SandboxError) {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: folder) } catch {
            throw SandboxError("\(folder): cannot be read as a folder of pages")
        }
        var files: [File] = []
        for name in names.sorted() {
            let filePath = folder + "/" + name
            guard let type = Self.type(of: name), filePath.isRegularFile else { continue }
            guard name != "sandbox.css" else {
                throw SandboxError("\(filePath): /sandbox.css is the service's own file")
            }
            do throws(FileFault) {
                let path = name == "index.html" ? "/" : "/" + name
                files.append(File(path: path, type: type, bytes: try filePath.bytesOfFile(limit: 1 << 20)))
            } catch { throw SandboxError("\(filePath): \(error.reason)") }
        }
        guard files.contains(where: { $0.path == "/" }) else { throw SandboxError("\(folder): has no index.html") }
        self.files = files
    }

    /// Returns the media type of a plain file name; `nil` if the file is not to be served.
    private static func type(of name: String) -> String? {
        guard let dot = name.lastIndex(of: "."), name.first != ".",
            name.utf8.allSatisfy({ $0.isUnreserved && $0 != UInt8(ascii: "~") })
        else { return nil }
        return types[String(name[name.index(after: dot)...])]
    }
}
