// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation

/// The folder of this repository.
package let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path
