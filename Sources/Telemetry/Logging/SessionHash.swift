// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Cryptography
internal import Encodings
package import GateConfiguration
internal import PlaybackGate

/// The salted hash of session GUIDs in logs. Equal GUIDs have equal hashes, so that a session can be followed; the hash does not
/// reveal the GUID.
package struct SessionHash: Sendable {
    private let salt: String

    /// Creates the hash with the salt of a configuration, or with a random one.
    package init(_ log: GateConfiguration.Log) { salt = log.salt?.text ?? "\(TraceID.new())" }

    /// Returns the hash of a GUID, in 24 hexadecimal digits.
    package func text(_ guid: String) -> String {
        SHA256.digest("\(salt.utf8.count):\(salt)\(guid)").prefix(12).hexadecimal
    }
}
