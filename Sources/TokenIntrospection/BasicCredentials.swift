// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The credentials of a client at a server of OAuth (RFC 6749 §2.3.1).
enum BasicCredentials {
    /// Returns the value of `Authorization`. Both parts are encoded as in a form before they are joined.
    static func value(client: String, secret: String) -> String {
        "Basic " + Base64.encode([UInt8]("\(client.percentEncoded):\(secret.percentEncoded)".utf8))
    }
}
