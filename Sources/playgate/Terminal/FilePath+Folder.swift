// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Platform
import SystemPackage

extension FilePath {
    /// Makes the folder at this path, unless there is one. The system package has no call for it.
    func makeFolder() throws(Errno) {
        guard unsafe mkdir(string, 0o755) != 0 else { return }
        let error = Errno(rawValue: errno)
        guard error == .fileExists else { throw error }
    }
}
