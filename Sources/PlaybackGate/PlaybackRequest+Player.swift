// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import RequestTargets

extension PlaybackRequest {
    /// The facts about a player to which its grants may be bound: see ``GrantProfile/Binding``.
    ///
    /// A class, so that a request stays small.
    public final class Player: Hashable, Sendable {
        /// The address; `nil` if it is not known.
        public let address: IPAddress?
        /// The lines of header fields, with their names in lower case.
        private let headers: [Header]

        private struct Header: Hashable {
            let name: String
            let value: String
        }

        /// Creates the facts about a player.
        ///
        /// - Parameters:
        ///   - address: The address; `nil` if it is not known.
        ///   - headers: The header fields that a grant may be bound to, in the order of the request.
        public init(address: IPAddress?, headers: [(name: String, value: String)] = []) {
            self.address = address
            self.headers = headers.map { Header(name: $0.name.lowercased(), value: $0.value) }
        }

        /// Returns the values of a header field by its name in lower case.
        func values(of name: String) -> [Substring] { headers.filter { $0.name == name }.map { $0.value[...] } }

        /// Compares all facts.
        public static func == (one: Player, other: Player) -> Bool {
            one.address == other.address && one.headers == other.headers
        }

        public func hash(into hasher: inout Hasher) { hasher.combine(address) }
    }
}

extension PlaybackRequest.Client {
    /// Reads the trace ID and the span of `traceparent`; creates a new ID if the field is missing or malformed.
    package init(traceparent: Substring?, caller: String? = nil, edge: String? = nil) {
        let (trace, parent) = traceparent.flatMap { TraceID.parse($0.utf8.span) } ?? (.new(), .none)
        self.init(trace: trace, parent: parent, caller: caller, edge: edge)
    }
}
