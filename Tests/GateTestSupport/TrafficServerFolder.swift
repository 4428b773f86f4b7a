// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation

/// The folder of a Traffic Server that a test starts, with the files that each needs.
package struct TrafficServerFolder {
    /// The path.
    package let path: String
    /// The arguments of `traffic_server`.
    package let arguments: [String]

    /// The folder of plugins in Debian's package.
    package static let plugins = "/usr/lib/trafficserver/modules"

    /// The lines of `records.config` for a test: one thread, and another user than root.
    package static let records = """
        CONFIG proxy.config.exec_thread.autoconfig INT 0
        CONFIG proxy.config.exec_thread.limit INT 1
        CONFIG proxy.config.admin.user_id STRING trafficserver

        """

    /// Creates a folder of a name in `folder`.
    package init(in folder: TemporaryFolder, name: String) throws {
        let root = folder.file(name)
        path = root
        // Traffic Server runs as another user than root.
        for path in [folder.path, root] + ["etc", "run", "log", "cache"].map({ "\(root)/\($0)" }) {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
        }
        let paths = [
            "prefix: \(root)", "exec_prefix: /usr", "bindir: /usr/bin", "sbindir: /usr/sbin", "sysconfdir: \(root)/etc",
            "datadir: \(root)/cache", "includedir: /usr/include", "libdir: /usr/lib", "libexecdir: \(Self.plugins)",
            "localstatedir: \(root)/run", "runtimedir: \(root)/run", "logdir: \(root)/log", "mandir: /usr/share/man",
            "infodir: /usr/share/info", "cachedir: \(root)/cache",
        ]
        arguments = ["--run-root=\(root)/runroot.yaml"]
        try Data((paths.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: "\(root)/runroot.yaml"))
        try write("storage.config", contents: "\(root)/cache 16M\n")
        try write("ip_allow.yaml", contents: "ip_allow: [{ apply: in, ip_addrs: 0/0, action: allow, methods: ALL }]\n")
    }

    /// All that the Traffic Servers in `folder` have logged of themselves.
    package static func diagnostics(in folder: TemporaryFolder) -> String {
        let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return files.filter { $0.hasSuffix("/diags.log") }
            .map { (try? String(contentsOfFile: folder.file($0), encoding: .utf8)) ?? "" }.joined()
    }

    /// True if the server has read its configuration. It listens before that, and ends if it cannot.
    package var isInitialized: Bool { Self.isInitialized(path) }

    /// True if the server in the folder `path` has.
    package static func isInitialized(_ path: String) -> Bool {
        let text = try? String(contentsOfFile: "\(path)/log/diags.log", encoding: .utf8)
        return text?.contains("Traffic Server is fully initialized") == true
    }

    /// Writes a file of the configuration.
    package func write(_ name: String, contents text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(path)/etc/\(name)"))
    }
}
