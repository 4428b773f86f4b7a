// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

/// The value of a `Set-Cookie` field (RFC 6265, section 4.1).
package enum SetCookie {
    /// The largest value in bytes: browsers drop a larger cookie silently.
    package static let maximumSize = 4096

    /// The attributes of a cookie that players on every site send by themselves.
    package static let anySite = ["Secure", "HttpOnly", "SameSite=None"]

    /// Returns the value; `nil` if it would exceed ``maximumSize``.
    ///
    /// - Parameter attributes: The attributes as they are written, such as `Secure`.
    package static func line(_ name: String, value: String, attributes: [String]) -> String? {
        var line = "\(name)=\(value)"
        for attribute in attributes { line += "; \(attribute)" }
        return line.utf8.count <= maximumSize ? line : nil
    }

    /// Returns the value of a cookie for the requests below a path, for some seconds; `nil` if it would exceed
    /// ``maximumSize``.
    package static func line(
        _ name: String,
        value: String,
        path: String,
        age: Int64,
        attributes: [String] = anySite
    ) -> String? {
        line(name, value: "\(value); Path=\(path); Max-Age=\(age)", attributes: attributes)
    }

    /// Returns the seconds from `now` to an expiry, for `Max-Age`; 0 after it.
    package static func age(until expires: Timestamp, at now: Timestamp) -> Int64 {
        max(0, (expires.millisecondsSince1970 - now.millisecondsSince1970) / 1000)
    }
}
