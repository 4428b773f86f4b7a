// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements

/// The requestor, the application and the device, which every request of REST API v2 names.
struct V2Caller: Sendable {
    let requestor: SandboxConfiguration.Requestor
    let client: Client
    let device: Device

    /// Reads the parameters of a request and checks its access token.
    ///
    /// - Throws: ``EndpointError`` if a parameter is missing or malformed, or the access token is not accepted.
    init(_ call: EndpointRequest, _ core: SandboxCore) async throws {
        guard let requestor = core.configuration.requestor(call.segment("provider")) else {
            throw EndpointError.v2(.invalidParameterServiceProvider)
        }
        self.requestor = requestor
        client = try await core.caller(call, for: requestor)
        if case .some(nil) = call.object(inHeader: "X-Device-Info") { throw EndpointError.v2(.invalidHeaderDeviceInfo) }
        guard let device = Device(v2: call.header("AP-Device-Identifier")) else {
            throw EndpointError.v2(.invalidHeaderDeviceIdentifier)
        }
        self.device = device
    }

    /// Returns the provider in the path.
    func provider(_ call: EndpointRequest, _ core: SandboxCore) throws -> SandboxConfiguration.Provider {
        try provider(call.segment("mvpd"), core)
    }

    func provider(_ id: String, _ core: SandboxCore) throws -> SandboxConfiguration.Provider {
        guard let provider = core.configuration.provider(id) else { throw EndpointError.v2(.invalidParameterMVPD) }
        guard core.configuration.provider(id, of: requestor) != nil else {
            throw EndpointError.v2(.invalidIntegration)
        }
        return provider
    }

    /// Returns the identity that temporary access is bound to; `nil` if the provider requires `AP-TempPass-Identity` and
    /// that header field is missing or malformed.
    func temporaryIdentity(_ access: SandboxConfiguration.TemporaryAccess, _ call: EndpointRequest) -> String? {
        guard access.isPromotional else { return device.name }
        guard case .some(.some) = call.object(inHeader: "AP-TempPass-Identity"),
            let text = call.header("AP-TempPass-Identity"), let bytes = Base64.decode([UInt8](text.utf8))
        else { return nil }
        return SHA256.digest(bytes).hexadecimal
    }
}

extension Device {
    /// Parses `fingerprint`, a space and the Base64 of the device's name.
    fileprivate init?(v2 header: String?) {
        let parts = (header ?? "").split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "fingerprint", parts[1].utf8.count <= 512,
            let bytes = Base64.decode([UInt8](parts[1].utf8)), !bytes.isEmpty
        else { return nil }
        // As text, all names with invalid UTF-8 could become the same device.
        self.init(bytes)
    }
}
