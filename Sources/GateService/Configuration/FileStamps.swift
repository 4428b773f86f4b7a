// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Platform

/// The state of a configuration file and of the files that it names, for detecting changes.
///
/// Compare with the stamps taken *before* the files were read: a write during the read, or before the watch starts, is a
/// change too.
struct FileStamps: Equatable, Sendable {
    private let stamps: [String: FileStamp]

    /// Takes the stamps of the files as they are now.
    init(_ configuration: GateConfiguration) {
        self.init(configuration, FileStamp(configuration.file.path)) { FileStamp($0.path) }
    }

    /// Takes the stamps before the files that `configuration` names are read. The stamp of the configuration file itself is
    /// from before its own reading.
    init(before configuration: GateConfiguration) {
        self.init(configuration, configuration.file.stamp) { $0.stamp }
    }

    private init(_ configuration: GateConfiguration, _ own: FileStamp?, _ stamp: (Secret.File) -> FileStamp?) {
        let named =
            configuration.trust.keys.map(\.file.value) + configuration.trust.anchors.map(\.value)
            + configuration.catalogue.feeds.map(\.file.value)
            + configuration.listenersWithTLS.flatMap { $0.tls?.files ?? [] }
            + (configuration.grants?.files ?? [])
        var stamps: [String: FileStamp] = [:]
        for path in named { stamps[path] = FileStamp(path) }
        // Keys were read with the configuration, and have stamps from before that.
        for file in configuration.grants?.keys.compactMap(\.file) ?? [] { stamps[file.path] = stamp(file) }
        stamps[configuration.file.path] = own
        self.stamps = stamps
    }
}

extension GateConfiguration.Listener.TLS {
    fileprivate var files: [String] { [certificate, key, clientAuthorities].compactMap { $0?.value } }
}

extension GateConfiguration.Grants {
    /// The files that are read after the configuration.
    fileprivate var files: [String] {
        let sets = keys.compactMap { key -> String? in
            if case .set(let file) = key.material { file.value } else { nil }
        }
        return sets + issuers.flatMap { [$0.keySet?.value, $0.remote?.authorities?.value].compactMap(\.self) }
    }
}
