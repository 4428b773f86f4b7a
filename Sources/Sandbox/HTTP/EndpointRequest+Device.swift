// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import MediaResources
internal import XML

extension EndpointRequest {
    /// What a device of REST API v1 and of the native SDKs calls itself.
    var deviceName: String? {
        // Some answers tell it in XML.
        guard let name = deviceParameter, name.utf8.count <= 512, name.isLegalXML else { return nil }
        return name
    }

    /// Whether there is such a name, good or not.
    var namesDevice: Bool { deviceParameter != nil }

    private var deviceParameter: String? { parameter("deviceId", "device_id") ?? header("Ap_21") }

    /// The JSON object that a header has in Base64.
    ///
    /// - Returns: Nil where the header is missing, and `.some(nil)` where it is malformed.
    func object(inHeader name: String) -> [JSONValue.Member]?? {
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
