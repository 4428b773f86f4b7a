// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Platform
import SystemPackage

extension FilePath {
    /// Creates the folder at this path, unless it exists. The system package has no call for it.
    func makeFolder() throws(Errno) {
        guard unsafe mkdir(string, 0o755) != 0 else { return }
        let error = Errno(rawValue: errno)
        guard error == .fileExists else { throw error }
    }
}
