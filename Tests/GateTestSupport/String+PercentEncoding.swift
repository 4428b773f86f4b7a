// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation

extension String {
    /// The text for a query, with all but letters and digits percent-encoded.
    package var percentEncoded: String {
        addingPercentEncoding(withAllowedCharacters: .alphanumerics.intersection(.init(charactersIn: "!"..."~"))) ?? ""
    }
}
