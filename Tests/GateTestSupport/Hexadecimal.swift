// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings

extension [UInt8] {
    /// Creates bytes of hexadecimal digits. Blanks are ignored.
    package init(hex: String) {
        let digits = hex.utf8.compactMap(\.hexadecimalDigit)
        self = stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
