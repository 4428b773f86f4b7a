// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import Encodings
internal import Platform
internal import RequestTargets

extension GateConfiguration {
    /// The settings of the spans that are sent to a collector.
    package struct Traces: Hashable, Sendable {
        /// The URL that spans are sent to.
        package var endpoint: String
        /// The share of decisions without a parent that get a span.
        package var share: SampleShare
        /// The most spans a second.
        package var limit: Int
        /// The name of the service in each span.
        package var service: String
        /// Further header fields of each request.
        package var headers: [Header]

        package struct Header: Hashable, Sendable {
            package let name: String
            package let value: Secret
        }
    }
}

/// A share of all traces, chosen by their ids, so that all services choose the same.
///
/// Source: OpenTelemetry specification, "TraceState: Probability Sampling": the last 56 bits of an id are its randomness.
package struct SampleShare: Hashable, Sendable {
    /// The least randomness of a trace in the share, up to 2^56 for none.
    private let threshold: UInt64

    private static let whole: UInt64 = 1 << 56

    /// Creates a share.
    ///
    /// - Parameter millionths: 0 to 1,000,000.
    package init(millionths: Int) { threshold = Self.whole / 1_000_000 * UInt64(1_000_000 - millionths) }

    /// Parses a percentage of at most four decimals, such as `0.01%`.
    package init(_ text: String) throws(ParseFault) {
        let parts = text.dropLast().utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isNumber = parts.allSatisfy { 1...4 ~= $0.count && $0.allSatisfy(\.isASCIIDigit) }
        guard text.hasSuffix("%"), 1...2 ~= parts.count, isNumber, let whole = Int(Substring(parts[0])),
            let fraction = Int((parts.count == 2 ? "\(Substring(parts[1]))0000" : "0000").prefix(4)),
            whole * 10_000 + fraction <= 1_000_000
        else { throw ParseFault("must be a percentage from 0% to 100%, such as 1% or 0.05%") }
        self.init(millionths: whole * 10_000 + fraction)
    }

    /// True if a trace is in the share.
    package func contains(randomness: UInt64) -> Bool { randomness & (Self.whole - 1) >= threshold }
}

extension GateConfiguration.Traces {
    package init(_ section: ConfigurationSection) {
        if !section.has("endpoint") {
            section.note(at: "endpoint", message: "endpoint is missing, such as http://127.0.0.1:4318/v1/traces")
        }
        endpoint = section.parsed("endpoint", default: "") { text in
            try Self.checkedEndpoint(text)
            return text
        }
        share = section.parsed("sample", default: SampleShare(millionths: 10_000)) { try SampleShare($0) }
        (limit, service) = section.advanced { part in
            let service = part.string("service", default: "playgate")
            if !(1...255 ~= service.utf8.count) { part.note(at: "service", message: "must have 1 to 255 bytes") }
            return (part.integer("limit", in: 1...5000, default: 100), service)
        }
        headers = section.secrets("headers").map { Header(name: $0.key, value: $0.value) }
        for header in headers where !header.isValid {
            section.note(
                at: "headers",
                message: "\(header.name): must be a header field, and its value visible characters"
            )
        }
        if !headers.isEmpty, endpoint.hasPrefix("http:"), !Self.isOnThisMachine(endpoint) {
            section.note(
                at: "headers",
                message: "would be sent in clear: use https, or http to 127.0.0.1, [::1] or localhost"
            )
        }
    }

    private static func checkedEndpoint(_ text: String) throws(ParseFault) {
        guard let address = try? OriginAddress(text), !address.base.isEmpty else {
            throw ParseFault(
                "must be an http or https URL with a path and without a query, such as http://127.0.0.1:4318/v1/traces"
            )
        }
    }

    private static func isOnThisMachine(_ endpoint: String) -> Bool {
        let host = RequestURI(url: endpoint[...])?.host
        return host.map { ["127.0.0.1", "[::1]", "::1", "localhost"].contains($0) } ?? false
    }
}

extension GateConfiguration.Traces.Header {
    private static let own = ["host", "content-type", "content-length", "transfer-encoding", "connection"]

    /// True if the field may be sent, and is not present in every request.
    fileprivate var isValid: Bool {
        name.isToken && !Self.own.contains(name.lowercased()) && !value.text.isEmpty
            && value.text.utf8.allSatisfy { 0x20..<0x7F ~= $0 }
    }
}
