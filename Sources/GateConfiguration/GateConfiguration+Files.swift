// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Platform

// The files that a configuration names.

extension GateConfiguration {
    /// The files that are read after the configuration, each where it is named.
    var namedFiles: [Located<String>] {
        trust.keys.map(\.file) + trust.anchors + catalogue.feeds.map(\.file)
            + listenersWithTLS.flatMap { $0.tls?.files ?? [] } + (grants?.files ?? [])
    }

    /// Notes named files that cannot be read, so that they are in one list with the errors of the configuration itself.
    func noteUnreadableFiles(_ problems: ProblemList) {
        for file in namedFiles where !file.value.isEmpty && !problems.contains(below: file.location.key) {
            do throws(FileFault) { _ = try file.value.bytesOfFile(limit: 64 << 20) } catch {
                problems.add(at: file.location, message: "\(file.value): \(error.reason)")
            }
        }
    }
}

extension GateConfiguration.Listener.TLS {
    fileprivate var files: [Located<String>] { [certificate, key, clientAuthorities].compactMap(\.self) }
}

extension GateConfiguration.Grants {
    fileprivate var files: [Located<String>] {
        let sets = keys.compactMap { key -> Located<String>? in
            if case .set(let file) = key.material { file } else { nil }
        }
        return sets + issuers.flatMap { [$0.keySet, $0.remote?.authorities].compactMap(\.self) }
    }
}
