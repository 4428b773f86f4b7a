// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Platform

/// What a configuration and the files that it names looked like.
///
/// To see a change, compare with what they looked like *before* they were read: what is written while they are read, or
/// before anybody watches, is a change too.
struct FileStamps: Equatable, Sendable {
    private let stamps: [String: FileStamp]

    /// What they look like now.
    init(_ configuration: GateConfiguration) {
        self.init(configuration, FileStamp(configuration.file.path))
    }

    /// What they looked like before they were read, where what `configuration` names is yet to be read.
    init(before configuration: GateConfiguration) {
        self.init(configuration, configuration.file.stamp)
    }

    private init(_ configuration: GateConfiguration, _ own: FileStamp?) {
        let named =
            configuration.trust.keys.map(\.file.value) + configuration.trust.anchors.map(\.value)
            + configuration.catalogue.feeds.map(\.file.value)
        var stamps: [String: FileStamp] = [:]
        for path in named { stamps[path] = FileStamp(path) }
        stamps[configuration.file.path] = own
        self.stamps = stamps
    }
}
