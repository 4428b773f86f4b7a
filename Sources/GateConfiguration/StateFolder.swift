// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import Cryptography
internal import Encodings
internal import Platform
internal import Synchronization

/// The folder of what the gate makes itself: the keys of streams.
///
/// Reading a configuration writes nothing. A key whose file is absent is made in memory, and the service writes it before it
/// issues a grant.
package final class StateFolder: Sendable {
    /// The path.
    package let path: String
    private let made = Mutex<[NewKey]>([])

    /// A key that was made because its file is absent.
    package struct NewKey: Sendable {
        /// The path of its file.
        package let path: String
        /// True for the key that signs grants; false for the subject key.
        package let signsGrants: Bool
        fileprivate let text: String
    }

    /// Creates a folder.
    package init(_ path: String) { self.path = path }

    /// The keys whose files are absent.
    package var newKeys: [NewKey] { made.withLock { $0 } }

    /// Returns the secret of a file with at least 32 bytes in Base64. If the file is absent, the secret is new.
    func secret(
        _ name: String,
        at location: ConfigurationLocation,
        problems: ProblemList
    ) -> (bytes: [UInt8], file: Secret.File?) {
        let path = path + "/" + name
        let file = Secret.File(path: path, stamp: FileStamp(path))
        do throws(FileFault) {
            let text = try path.contentsOfFile(limit: 64 * 1024)
            if let bytes = Base64.decode([UInt8](text.trimmingTrailingLineEnds.utf8)), bytes.count >= 32 {
                return (bytes, file)
            }
            problems.add(at: location, message: "\(path): must be at least 32 bytes in Base64")
        } catch {
            if error.isMissing, let bytes = new(path, signsGrants: name == GateConfiguration.StreamDefaults.keyFile) {
                return (bytes, file)
            }
            problems.add(at: location, message: "\(path): \(error.reason)")
        }
        // Nobody gets a gate with it: there is a problem.
        return ([UInt8](repeating: 0, count: 32), nil)
    }

    /// Writes the new keys, each readable for its owner only, in a folder that is made if it is absent.
    ///
    /// - Returns: The paths that were written.
    /// - Throws: ``ConfigurationError`` if one cannot be written, or if another process has written one in the meantime.
    package func writeNewKeys() throws(ConfigurationError) -> [String] {
        let keys = newKeys
        guard !keys.isEmpty else { return [] }
        do throws(FileFault) { try path.createFolder() } catch {
            throw ConfigurationError(file: path, reason: error.reason)
        }
        for key in keys {
            let isNew: Bool
            do throws(FileFault) { isNew = try key.path.createFile(with: [UInt8]((key.text + "\n").utf8)) } catch {
                throw ConfigurationError(file: key.path, reason: error.reason)
            }
            guard isNew else {
                throw ConfigurationError(file: key.path, reason: "was made by another gate at this moment: start again")
            }
        }
        made.withLock { $0 = [] }
        return keys.map(\.path)
    }

    private func new(_ path: String, signsGrants: Bool) -> [UInt8]? {
        made.withLock { made in
            if let known = made.first(where: { $0.path == path }) { return Base64.decode([UInt8](known.text.utf8)) }
            guard let bytes = try? RandomBytes.make(32) else { return nil }
            made.append(NewKey(path: path, signsGrants: signsGrants, text: Base64.encode(bytes)))
            return bytes
        }
    }
}

extension StateFolder {
    /// Reads `stateFolder`. Without it: the folder of the store's file, else `state` beside the configuration file.
    convenience init(_ root: ConfigurationSection, store: GateConfiguration.Use.Store) {
        if let named = root.optionalPath("stateFolder") {
            self.init(named)
        } else if case .sqlite(let file) = store {
            let folder = file.value.lastIndex(of: "/").map { String(file.value[..<$0]) } ?? "."
            self.init(folder.isEmpty ? "/" : folder)
        } else {
            self.init(root.file.resolve("state"))
        }
    }
}

extension ConfigurationError {
    /// Creates an error about a file of the state folder.
    package init(file path: String, reason: String) {
        self.init(ConfigurationLocation(file: path, key: "stateFolder"), reason: reason)
    }
}
