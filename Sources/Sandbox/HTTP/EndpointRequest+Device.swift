// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import MediaResources
internal import XML

extension EndpointRequest {
    /// The identifier of a device in REST API v1 and in the native SDKs.
    var deviceName: String? {
        // Some answers contain the identifier in XML.
        guard let name = deviceParameter, name.utf8.count <= 512, name.isLegalXML else { return nil }
        return name
    }

    /// True if the request has a device identifier, valid or not.
    var namesDevice: Bool { deviceParameter != nil }

    private var deviceParameter: String? { parameter("deviceId", "device_id") ?? header("Ap_21") }

    /// Parses the Base64-encoded JSON object of a header field.
    ///
    /// - Returns: `nil` if the header field is missing, and `.some(nil)` if it is malformed.
    func object(inHeader name: String) -> [JSON.Member]?? {
        guard let text = header(name) else { return nil }
        guard text.utf8.count <= 8192, let bytes = Base64.decode([UInt8](text.utf8)),
            case .object(let members)? = try? JSONReader.read(
                bytes.span,
                limits: JSONLimits(depth: 8, members: 64, elements: 64)
            )
        else { return .some(nil) }
        return members
    }
}
