// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation

/// Returns an address of this machine that is not loopback; `nil` if there is none, or no Python to ask for it.
package func ownAddress() throws -> String? {
    let script = """
        import socket as s; u = s.socket(s.AF_INET, s.SOCK_DGRAM); u.connect(('192.0.2.1', 9)); print(u.getsockname()[0])
        """
    if let python = Program.installed("python3") {
        let run = try CommandRun(python, arguments: ["-c", script])
        let address = run.status == 0 ? run.output.trimmingCharacters(in: .whitespacesAndNewlines) : ""
        if !address.isEmpty, !address.hasPrefix("127.") { return address }
    }
    return nil
}
