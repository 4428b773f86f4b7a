// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL
internal import Platform

/// The messages of OpenSSL's error queue, oldest first.
package struct OpenSSLError: Error {
    package let messages: [String]

    /// Empties this thread's error queue and returns its messages as an error.
    package static func drained() -> OpenSSLError {
        var messages: [String] = []
        while true {
            let code = ERR_get_error()
            if code == 0 { break }
            if let reason = unsafe ERR_reason_error_string(code) {
                messages.append(unsafe String(cString: reason))
            } else if copenssl_error_is_system(code) == 1 {
                messages.append(unsafe String(cString: strerror(ERR_GET_REASON(code))))
            } else {
                messages.append("error \(code)")
            }
        }
        return OpenSSLError(messages: messages)
    }

    /// Empties this thread's error queue.
    package static func forget() { ERR_clear_error() }

    /// The messages in one line.
    package var text: String { messages.isEmpty ? "OpenSSL reported no error" : messages.joined(separator: "; ") }
}
