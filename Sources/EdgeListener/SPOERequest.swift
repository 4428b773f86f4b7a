// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import HTTPServer
package import SPOPServer

/// The request of a notification of HAProxy's: one message, whose arguments report the client's request.
package struct SPOERequest {
    /// The header fields of a check: those of the client, and those that report facts.
    package let fields: HTTPFields
    /// The variables that the answer sets.
    package var variables: SPOEVariables { SPOEVariables(in: fields) }

    /// The name of the message.
    package static let message: StaticString = "playgate-check"
    /// The name of the field that an argument of variables becomes.
    package static let variables: StaticString = ":variables"

    /// Reads the request; `nil` if there is another message, or if there are several. Also `nil` if an argument is
    /// unknown, has another type, or is malformed: a mistyped page opens nothing.
    package init?(_ messages: consuming SPOPMessages) {
        guard messages.count == 1, var message = messages.next(), message.name.isText(Self.message) else { return nil }
        var fields = HTTPFieldsBuilder(bytes: 2048, count: 24)
        var namesVariables = false
        while let argument = message.next() {
            if argument.name.isText("variables"), case .string(let names) = argument.value {
                guard !namesVariables, SPOEVariables(names) != nil else { return nil }
                namesVariables = true
                fields.add(name: Self.variables, value: names)
            } else if !Self.add(argument, to: &fields) {
                return nil
            }
        }
        self.fields = fields.fields()
    }

    /// Adds the fact of an argument. Returns false if it is unknown, or of another type. A sample that HAProxy does not
    /// have is null, and reports nothing.
    private static func add(_ argument: borrowing SPOPMessage.Argument, to fields: inout HTTPFieldsBuilder) -> Bool {
        let name = argument.name
        switch argument.value {
        case .string(let text): return addText(name: name, value: text, to: &fields)
        case .bool(let isSecure) where name.isText("secure"):
            let scheme: StaticString = isSecure ? "https" : "http"
            fields.add(name: ":scheme", value: scheme)
        case .ipv4(let address) where name.isText("client"): fields.add(":client", ipv4: address)
        case .ipv6(let address) where name.isText("client"):
            fields.add(name: ":client", value: address.colonSeparated.utf8.span)
        case .binary(let bytes) where name.isText("headers"):
            var reader = SPOPReader(bytes)
            return reader.forEachHeaderField { addClients(name: $0, value: $1, to: &fields) }
        case .signed(let number) where name.isText("asn"):
            fields.add(name: "x-original-asn", value: "\(number)".utf8.span)
        case .unsigned(let number) where name.isText("asn"):
            fields.add(name: "x-original-asn", value: "\(number)".utf8.span)
        case .null: return isKnown(name)
        default: return false
        }
        return true
    }

    private static func addText(name: Span<UInt8>, value text: Span<UInt8>, to fields: inout HTTPFieldsBuilder) -> Bool
    {
        if name.isText("target") {
            fields.add(name: ":path", value: text)
        } else if name.isText("method") {
            fields.add(name: ":method", value: text)
        } else if name.isText("scheme") {
            fields.add(name: ":scheme", value: text)
        } else if let field = factField(name) {
            fields.add(name: field, value: text)
        } else if let field = clientField(name) {
            addClients(name: field, value: text, to: &fields)
        } else {
            return false
        }
        return true
    }

    /// Adds a field of the client, unless it has the name of a field that reports facts.
    private static func addClients(name: Span<UInt8>, value: Span<UInt8>, to fields: inout HTTPFieldsBuilder) {
        if name.isSameField("host") { fields.add(name: ":authority", value: value) }
        for fact in facts where name.isSameField(fact.field) { return }
        fields.add(name: name, value: value)
    }

    /// The arguments that report facts for grants, and the names of their fields.
    private static let facts: [(argument: StaticString, field: StaticString)] = [
        ("alpn", "x-original-alpn"), ("client-key", "x-original-client-key"), ("asn", "x-original-asn"),
        ("geo", "x-original-geo"), ("position", "x-original-position"),
    ]

    /// Returns the name of the field that reports a fact; `nil` if the argument has another name.
    private static func factField(_ name: Span<UInt8>) -> StaticString? {
        for fact in facts where name.isText(fact.argument) { return fact.field }
        return nil
    }

    /// Returns the name of the client's field in an argument's name, which is `header.` and that name; `nil` for
    /// another argument.
    @_lifetime(copy name)
    private static func clientField(_ name: Span<UInt8>) -> Span<UInt8>? {
        let prefix: StaticString = "header."
        guard name.starts(with: prefix, at: 0), name.count > prefix.utf8CodeUnitCount else { return nil }
        let field = name.extracting(prefix.utf8CodeUnitCount...)
        for index in field.indices {
            let byte = field[index]
            guard byte.isASCIIAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") else { return nil }
        }
        return field
    }

    private static func isKnown(_ name: Span<UInt8>) -> Bool {
        name.isText("target") || name.isText("method") || name.isText("secure") || name.isText("scheme")
            || name.isText("client") || name.isText("headers") || factField(name) != nil || clientField(name) != nil
    }
}

extension Span<UInt8> {
    /// True if these bytes are `literal`.
    fileprivate func isText(_ literal: StaticString) -> Bool {
        count == literal.utf8CodeUnitCount && starts(with: literal, at: 0)
    }
}

extension UInt128 {
    /// The address as eight hexadecimal numbers with colons between them.
    fileprivate var colonSeparated: String {
        stride(from: 112, through: 0, by: -16).map {
            String(UInt16(truncatingIfNeeded: self >> UInt128($0)), radix: 16)
        }
        .joined(separator: ":")
    }
}
