// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The options of the application in the form in which every request carries them.
struct RequestOptions: Sendable {
    var headers: [(String, String)] = []
    /// The options without a header field, in the query.
    var parameters: [(String, String)] = []
    /// All options, for URLs of the service that a browser opens: it sends no header fields of the client.
    var browserParameters: [(String, String)] = []

    /// Returns the URL with all options. They come first in its query, because a redirect URL must be its last parameter.
    func adding(to url: String) -> String {
        guard !browserParameters.isEmpty else { return url }
        let index = url.firstIndex { $0 == "?" || $0 == "#" } ?? url.endIndex
        let rest = url[index...]
        let separator = rest.hasPrefix("?") ? rest.count > 1 ? "&" : "" : ""
        return url[..<index] + "?" + browserParameters.formEncoded + separator
            + (rest.hasPrefix("?") ? rest.dropFirst() : rest)
    }
}

extension ServiceRequest {
    /// Adds the options. A parameter that the request has by itself is not replaced.
    mutating func add(_ options: RequestOptions) {
        headers += options.headers
        let own = Set(query.map(\.0) + lists.map(\.0) + (form ?? []).map(\.0))
        query = options.parameters.filter { !own.contains($0.0) } + query
    }
}

extension AccessEnablerOptions {
    /// The options for requests. A value that would end its header field line is not sent.
    var forRequests: RequestOptions {
        let device = (encodedDeviceInformation ?? deviceInformation.base64JSON)?.fieldValue
        let (visitor, profile) = (visitorID?.fieldValue, applicationProfile?.fieldValue)
        func present(_ fields: [(String, String?)]) -> [(String, String)] {
            fields.compactMap { name, value in value.map { (name, $0) } }
        }
        let parameters = others.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        return RequestOptions(
            headers: present([
                ("X-Device-Info", device), ("X-Forwarded-For", deviceAddress?.addressValue),
                ("AP-Visitor-Identifier", visitor), ("AP-Application-Profile", profile),
            ]),
            parameters: parameters,
            browserParameters: present([
                ("device_info", device), ("visitorID", visitor), ("applicationProfile", profile),
            ]) + parameters
        )
    }
}

extension String {
    /// The text as the value of a header field; `nil` if it cannot be one (RFC 9110 §5.5).
    fileprivate var fieldValue: String? {
        !isEmpty && utf8.allSatisfy { 0x20...0x7E ~= $0 } && utf8.count <= 4096 ? self : nil
    }

    /// The text as an IP address; `nil` if it cannot be one.
    fileprivate var addressValue: String? {
        !isEmpty && utf8.count <= 45 && utf8.allSatisfy { $0.isAddressCharacter } ? self : nil
    }
}

extension UInt8 {
    /// True if the byte may occur in an IPv4 or IPv6 address.
    fileprivate var isAddressCharacter: Bool {
        hexadecimalDigit != nil || self == UInt8(ascii: ".") || self == UInt8(ascii: ":")
    }
}
