// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import HTTPServer

/// The variables of HAProxy's transaction that an answer may set. HAProxy spends time on each, also on those that its
/// configuration does not name.
package struct SPOEVariables: OptionSet {
    package let rawValue: UInt16

    package static let allowed = Self(0)
    package static let status = Self(1)
    package static let code = Self(2)
    package static let trace = Self(3)
    package static let decision = Self(4)
    static let setCookie = Self(5)
    package static let session = Self(6)
    package static let mvpd = Self(7)
    package static let resource = Self(8)
    package static let requestor = Self(9)
    package static let expires = Self(10)
    package static let token = Self(11)
    package static let grant = Self(12)

    /// All variables, which are set if the message names none.
    package static let all = Self(rawValue: 1 << 13 - 1)

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    private init(_ bit: UInt16) { rawValue = 1 << bit }

    /// Returns the variables that a check names among its fields; all if it names none.
    init(in fields: HTTPFields) {
        self = fields.first(SPOERequest.variables).flatMap { Self($0.utf8.span) } ?? .all
    }

    /// Parses names with blanks between them; `nil` if there is none, or if one is unknown.
    init?(_ names: Span<UInt8>) {
        var (found, position) = (Self(), 0)
        while position < names.count {
            let end = names.firstIndex(of: UInt8(ascii: " "), from: position) ?? names.count
            if position < end {
                guard let variable = Self(name: names.extracting(position..<end)) else { return nil }
                found.insert(variable)
            }
            position = end + 1
        }
        if found.isEmpty { return nil }
        self = found
    }

    private init?(name: Span<UInt8>) {
        func isName(_ literal: StaticString) -> Bool { name.starts(with: literal, at: 0) }
        // Few names have the same length.
        switch name.count {
        case 4 where isName("code"): self = .code
        case 4 where isName("mvpd"): self = .mvpd
        case 5 where isName("trace"): self = .trace
        case 5 where isName("token"): self = .token
        case 5 where isName("grant"): self = .grant
        case 6 where isName("status"): self = .status
        case 7 where isName("allowed"): self = .allowed
        case 7 where isName("session"): self = .session
        case 7 where isName("expires"): self = .expires
        case 8 where isName("decision"): self = .decision
        case 8 where isName("resource"): self = .resource
        case 9 where isName("requestor"): self = .requestor
        case 10 where isName("set_cookie"): self = .setCookie
        default: return nil
        }
    }
}
