// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import MediaResources
internal import NIOCore
internal import Platform
internal import XML

/// A parsed request, complete in memory and of bounded size.
struct EndpointRequest: Sendable {
    let method: HTTPRequest.Method
    let headers: HTTPFields
    /// The `Host` header field as the client sent it.
    let authority: String?
    /// The values of the named path segments, percent-decoded.
    let segments: [String: String]
    let query: Fields
    /// The form fields; empty if the body is not a form.
    let form: Fields
    let body: [UInt8]
    /// The remote address of the connection.
    let peer: SocketAddress?
    let channel: any Channel
    /// The time of the request.
    let now: Timestamp
    /// An identifier of the request, for answers and logs.
    let trace: String
    /// The form of its errors.
    let dialect: Dialect

    /// The maximum size of a body in bytes.
    static let bodyLimit = 256 * 1024

    /// Returns the value of the path segment `name`; empty if there is none.
    func segment(_ name: String) -> String { segments[name] ?? "" }

    /// Returns the value of the first of these parameters that is not empty. The query comes before the form.
    func parameter(_ names: String...) -> String? {
        for name in names {
            if let value = query.first(name) ?? form.first(name) { return value }
        }
        return nil
    }

    /// True if the request is one of REST API v2, or of a browser that continues one.
    var isV2: Bool { dialect == .v2 || dialect == .page && segments["provider"] != nil }

    func header(_ name: String) -> String? {
        guard let name = HTTPField.Name(name), let value = headers[name], !value.isEmpty else { return nil }
        return value
    }

    /// The token of `Authorization: Bearer`.
    var bearer: String? {
        guard let value = headers[.authorization] else { return nil }
        let parts = value.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    /// The base URL of this service as the client addresses it: `http://127.0.0.1:8070`.
    var origin: String { "http://\(host ?? "localhost")" }

    /// The `Host` header field; `nil` if it is missing, longer than 255 bytes or malformed.
    var host: String? {
        guard let host = authority, !host.isEmpty, host.utf8.count <= 255,
            host.utf8.allSatisfy({ $0.isHostCharacter })
        else { return nil }
        return host
    }

    /// The address of the device, if a server that acts for it sends `X-Forwarded-For`.
    var forwardedAddress: String? {
        guard let forwarded = header("X-Forwarded-For")?.split(separator: ",").first else { return nil }
        return String(forwarded.filter { $0 != " " }.prefix(64))
    }

    /// True if the client prefers JSON to XML.
    func wantsJSON(default fallback: Bool) -> Bool {
        switch parameter("format")?.lowercased() {
        case "json": return true
        case "xml": return false
        default: break
        }
        // Browsers and browser-like clients list XML among other types, so `text/html` in `Accept` means no preference.
        let accept = headers[.accept]?.lowercased() ?? ""
        guard !accept.contains("text/html") else { return fallback }
        if accept.contains("json") { return true }
        if accept.contains("xml") { return false }
        return fallback
    }
}

// MARK: Devices and lists

extension EndpointRequest {
    private var deviceParameter: String? { parameter("deviceId", "device_id") ?? header("Ap_21") }

    /// True if the request has a device identifier, valid or not.
    var namesDevice: Bool { deviceParameter != nil }

    /// The identifier of a device in REST API v1 and in the native SDKs.
    var deviceName: String? {
        // Some answers contain the identifier in XML.
        guard let name = deviceParameter, name.utf8.count <= 512, name.isLegalXML else { return nil }
        return name
    }

    /// Parses the Base64-encoded JSON object of a header field.
    ///
    /// - Returns: `nil` if the header field is missing, and `.some(nil)` if it is malformed.
    func object(inHeader name: String) -> JSON?? {
        guard let text = header(name) else { return nil }
        guard text.utf8.count <= 8192 else { return .some(nil) }
        return .some(JSON(base64Object: text))
    }

    /// True if the device information is missing or a JSON object in Base64.
    var hasValidDeviceInfo: Bool {
        if case .some(nil) = object(inHeader: "X-Device-Info") { return false }
        return parameter("device_info").map { JSON(base64Object: $0) != nil } ?? true
    }

    /// Returns the identity to which temporary access is bound. It is the device or, for a promotion, the application's
    /// data about the viewer: `AP-TempPass-Identity` in v2; in v1 `generic_data`, plain or in Base64. `nil` if that is
    /// missing or malformed.
    func temporaryIdentity(_ access: TemporaryAccess, of device: Device) -> String? {
        guard access.isPromotional else { return device.name }
        if dialect != .v2 {
            guard let data = parameter("generic_data") else { return nil }
            return SHA256.digest(Base64.decode([UInt8](data.utf8)) ?? [UInt8](data.utf8)).hexadecimal
        }
        let name = "AP-TempPass-Identity"
        guard case .some(.some) = object(inHeader: name) else { return nil }
        return header(name).flatMap { Base64.decode([UInt8]($0.utf8)) }.map { SHA256.digest($0).hexadecimal }
    }

    /// The resources in a request of REST API v1: separated by commas, or in several parameters. A fragment whose commas are
    /// percent-encoded is one resource.
    var resourceList: [String] {
        [query, form].flatMap { fields in fields.list("resource") + fields.list("resource_id") }
    }

    /// Returns the resources in the body of a request of REST API v2.
    ///
    /// - Throws: ``EndpointError`` if the list is missing, empty or malformed.
    func resourcesOfBody() throws(EndpointError) -> [String] {
        let body = try? JSONReader.read(body.span, limits: JSONLimits(depth: 4, members: 32, elements: 200))
        let resources = body?["resources"]?.values?.map { $0.text ?? "" } ?? []
        guard !resources.isEmpty, !resources.contains("") else { throw .v2(.invalidParameterResources) }
        return resources
    }
}

extension JSON {
    /// Reads a JSON object in Base64; `nil` if `text` is none.
    init?(base64Object text: some StringProtocol) {
        let limits = JSONLimits(depth: 8, members: 64, elements: 64)
        guard let bytes = Base64.decode([UInt8](text.utf8)),
            let value = try? JSONReader.read(bytes.span, limits: limits), case .object = value
        else { return nil }
        self = value
    }
}

extension UInt8 {
    fileprivate var isHostCharacter: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"): true
        default: isASCIIAlphanumeric
        }
    }
}
