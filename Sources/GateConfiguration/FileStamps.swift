// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Platform

/// The state of a configuration file and of the files that it names, for detecting changes.
///
/// Compare with the stamps read *before* the files were read: a write during the read, or before the watch starts, is a
/// change too.
package struct FileStamps: Equatable, Sendable {
    private let stamps: [String: FileStamp]
    /// The stamp of the configuration file; `nil` if its text is retained regardless of the file.
    private let own: FileStamp?

    /// The stamps of the files that the configuration names, without its own.
    package var ofNamedFiles: FileStamps { FileStamps(stamps, own: nil) }

    private init(_ stamps: [String: FileStamp], own: FileStamp?) { (self.stamps, self.own) = (stamps, own) }

    /// Reads the present stamps of the files.
    package init(_ configuration: GateConfiguration) {
        let own = configuration.file.stamp.flatMap { _ in FileStamp(configuration.file.path) }
        self.init(configuration, own: own) { FileStamp($0.path) }
    }

    /// Reads the stamps before the files that `configuration` names are read. The stamp of the configuration file
    /// itself is from before its own reading.
    package init(before configuration: GateConfiguration) {
        self.init(configuration, own: configuration.file.stamp) { $0.stamp }
    }

    private init(_ configuration: GateConfiguration, own: FileStamp?, stamp: (Secret.File) -> FileStamp?) {
        var stamps: [String: FileStamp] = [:]
        for file in configuration.namedFiles { stamps[file.value] = FileStamp(file.value) }
        // Keys were read with the configuration, and have stamps from before that.
        for file in configuration.grants?.keys.compactMap(\.file) ?? [] { stamps[file.path] = stamp(file) }
        for file in configuration.starts.compactMap(\.introspection?.secret.file) { stamps[file.path] = stamp(file) }
        for file in configuration.licenceTokens.flatMap(\.keyFiles) { stamps[file.path] = stamp(file) }
        self.init(stamps, own: own)
    }
}
