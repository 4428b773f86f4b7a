// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The answer to a check, as in `envoy.service.auth.v3.CheckResponse`.
package enum CheckAnswer: Sendable, Equatable {
    case allow(Allowance)
    case deny(Denial)

    /// The changes that Envoy makes to a request that it lets pass.
    package struct Allowance: Sendable, Equatable {
        /// The header fields of the request to the origin that replace the client's.
        package var set: [Header] = []
        /// The names of the header fields that the origin does not get.
        package var removed: [String] = []
        /// The query parameters that the origin does not get.
        package var removedParameters: [String] = []
        /// The header fields of the answer to the client.
        package var added: [Header] = []

        package init() {}
    }

    /// The answer of Envoy instead of the origin's.
    package struct Denial: Sendable, Equatable {
        /// The status of HTTP, such as 403.
        package var status: Int
        package var headers: [Header]
        package var body: String

        package init(status: Int, headers: [Header], body: String) {
            self.status = status
            self.headers = headers
            self.body = body
        }
    }

    /// A header field that is added.
    package struct Header: Sendable, Equatable {
        package let name: String
        package let value: String
        /// True if it stands beside others of its name (`Set-Cookie`); else it replaces them.
        package let isRepeatable: Bool

        package init(name: String, value: String, isRepeatable: Bool = false) {
            self.name = name
            self.value = value
            self.isRepeatable = isRepeatable
        }
    }

    /// The bytes of the message. The status is always included: Envoy reads an absent status as 0, which allows.
    package var message: [UInt8] {
        var writer = ProtobufWriter()
        switch self {
        case .allow(let allowance):
            writer.write(field: 1) { _ in }
            writer.write(field: 3) { writer in
                for header in allowance.set { writer.write(header, field: 2) }
                for name in allowance.removed { writer.write(name, field: 5) }
                for header in allowance.added { writer.write(header, field: 6) }
                for name in allowance.removedParameters { writer.write(name, field: 8) }
            }
        case .deny(let denial):
            let code = denial.status == 401 ? Self.unauthenticated : Self.permissionDenied
            writer.write(field: 1) { $0.write(code, field: 1) }
            writer.write(field: 2) { writer in
                writer.write(field: 1) { $0.write(denial.status, field: 1) }
                for header in denial.headers { writer.write(header, field: 2) }
                if !denial.body.isEmpty { writer.write(denial.body, field: 3) }
            }
        }
        return writer.bytes
    }

    // Codes of google.rpc.Code.
    private static let permissionDenied = 7
    private static let unauthenticated = 16
}

extension ProtobufWriter {
    /// Writes a `HeaderValueOption`.
    fileprivate mutating func write(_ header: CheckAnswer.Header, field: UInt8) {
        write(field: field) { writer in
            writer.write(field: 1) { writer in
                writer.write(header.name, field: 1)
                writer.write(header.value, field: 2)
            }
            // APPEND_IF_EXISTS_OR_ADD is 0, OVERWRITE_IF_EXISTS_OR_ADD is 2.
            if !header.isRepeatable { writer.write(2, field: 3) }
        }
    }
}
