// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements
internal import Platform

/// The requestor, the application and the device, which every request of REST API v1 and v2 names.
struct Caller: Sendable {
    let core: SandboxCore
    let call: EndpointRequest
    let requestor: Requestor
    let client: Client
    let device: Device

    /// Reads the parameters of a request and checks its access token.
    ///
    /// - Throws: ``EndpointError`` if a parameter is missing or malformed, or the access token is not accepted.
    init(of call: EndpointRequest, in core: SandboxCore) async throws {
        self.call = call
        self.core = core
        requestor = try core.requestor(call)
        client = try await core.client(call, for: requestor)
        if call.dialect == .v2 {
            guard let device = Device(v2: call.header("AP-Device-Identifier")) else {
                throw EndpointError.v2(.invalidHeaderDeviceIdentifier)
            }
            self.device = device
        } else if let name = call.deviceName {
            device = Device(name)
        } else {
            guard call.dialect == .v1Preauthorization, !call.namesDevice else {
                throw EndpointError.v1(.invalidDeviceID)
            }
            throw EndpointError.v1(.badRequest, message: "Missing required parameter : deviceId", details: "")
        }
        guard call.hasValidDeviceInfo else {
            throw EndpointError.of(call, v1: .invalidDeviceInfo, v2: .invalidHeaderDeviceInfo)
        }
    }

    /// Returns a provider that works with the requestor.
    func provider(_ id: String?) throws(EndpointError) -> Provider { try core.provider(id, of: requestor, in: call) }

    /// Returns the identity that temporary access is bound to; `nil` if it is missing or malformed, or the provider has no
    /// temporary access.
    func temporaryIdentity(_ provider: Provider) -> String? {
        provider.temporaryAccess.flatMap { call.temporaryIdentity($0, of: device) }
    }

    /// Returns a viewer who needs no login, because of temporary access or of a degradation rule.
    ///
    /// - Parameter identity: The identity that temporary access is bound to; `nil` if only a rule counts.
    /// - Returns: `nil` if the provider requires a login. The profile of temporary access may have expired.
    func viewerWithoutLogin(_ provider: Provider, identity: String? = nil) async throws -> Viewer? {
        if let access = provider.temporaryAccess, let identity {
            let use = try await core.store.temporaryUse(identity, requestor: requestor.id, provider: provider.id)
            let start = use?.started ?? call.now
            return core.viewer(
                profile(at: provider, kind: .temporary, from: start, lifetime: access.duration, session: identity)
            )
        }
        guard core.degradation(of: requestor, at: provider) == .authNAll else { return nil }
        let life = provider.authorizationLifetime
        return core.viewer(profile(at: provider, kind: .degraded, from: call.now, lifetime: life, session: device.name))
    }

    /// Returns a profile on the device for a viewer who needs no login.
    func profile(
        at provider: Provider,
        kind: Profile.Kind,
        from start: Timestamp,
        lifetime: Int64,
        session: String
    ) -> StoredProfile {
        StoredProfile(
            device: device,
            requestor: requestor.id,
            provider: provider.id,
            user: "",
            kind: kind,
            issued: start,
            expires: start.advanced(byMilliseconds: lifetime),
            session: session
        )
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

extension SandboxCore {
    /// Returns the requestor that a request names, in the path or in a parameter.
    func requestor(_ call: EndpointRequest) throws(EndpointError) -> Requestor {
        let id = call.segments["provider"] ?? call.segments["requestor"] ?? call.parameter("requestor", "requestor_id")
        guard let requestor = id.flatMap(configuration.requestor) else {
            throw .of(call, v1: .invalidRequestor, v2: .invalidParameterServiceProvider)
        }
        return requestor
    }

    /// Returns the requestor that a request names, and the application of its access token.
    func authorized(_ call: EndpointRequest) async throws -> (Requestor, Client) {
        let requestor = try requestor(call)
        return (requestor, try await client(call, for: requestor))
    }

    /// Returns a provider that works with a requestor.
    func provider(_ id: String?, of requestor: Requestor, in call: EndpointRequest) throws(EndpointError) -> Provider {
        if let provider = id.flatMap({ configuration.provider($0, of: requestor) }) { return provider }
        let isKnown = id.flatMap(configuration.provider) != nil
        throw .of(call, v1: .unknownIntegration, v2: isKnown ? .invalidIntegration : .invalidParameterMVPD)
    }

    /// Returns the application of a request, according to its access token, if it may act for `requestor`.
    ///
    /// - Throws: ``EndpointError`` if the token is missing, unknown, expired or for another requestor.
    @discardableResult
    func client(_ call: EndpointRequest, for requestor: Requestor) async throws -> Client {
        let client = try await call.bearer.asyncFlatMap { try await store.client(withAccessToken: $0, at: call.now) }
        if let client, isBound(client, to: requestor) { return client }
        guard call.dialect == .v2 else {
            let problem = client == nil ? "missing, unknown or expired" : "for another requestor"
            throw EndpointError(
                401,
                message: "Unauthorized: the access token is \(problem).",
                action: .applicationRegistration
            )
        }
        throw EndpointError.v2(
            client == nil ? .invalidAccessTokenClientApplication : .invalidAccessTokenServiceProvider
        )
    }

    /// True if an application may act for a requestor. A requestor with a list of statements accepts only those. Without a
    /// list, the statement must name this requestor or no known one.
    func isBound(_ client: Client, to requestor: Requestor) -> Bool {
        if let statements = requestor.statements {
            return statements.contains { SHA256.digest($0) == client.statement }
        }
        let named = client.audiences.filter { configuration.requestor($0) != nil }
        return named.isEmpty || named.contains(requestor.id)
    }
}

extension Optional {
    /// Returns the result of an asynchronous `transform`, like `flatMap`.
    func asyncFlatMap<Value>(_ transform: (Wrapped) async throws -> Value?) async rethrows -> Value? {
        if let self { try await transform(self) } else { nil }
    }
}
