// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import MediaTokens

extension AccessEnabler {
    /// Returns metadata of the viewer or the device: the documented `getMetadata:`.
    ///
    /// The client's own values (the two expiry times and the device id) are texts and never encrypted; times have the form
    /// `2031/01/02 10:04:05 GMT +0000`. Metadata of the provider is requested from the service.
    ///
    /// The device id is available if ``AccessEnablerOptions/isDeviceIDAvailable`` is set.
    ///
    /// - Returns: The answer that ``AccessEnablerDelegate/setMetadataStatus(_:encrypted:forKey:andArguments:)`` also receives.
    ///   It has no value if there is none, if no viewer is authenticated, or if the request fails.
    @discardableResult
    public func getMetadata(_ request: MetadataRequest) async -> MetadataAnswer {
        let requestor = await configured()
        let viewer = requestor.flatMap { knownViewer($0) }
        var answer = MetadataAnswer(request: request, value: nil, isEncrypted: false)
        switch request {
        case .deviceID: answer = own(for: request, text: options.isDeviceIDAvailable ? records.device : nil)
        case .authentication: answer = own(for: request, text: viewer?.expires.longLivedForm)
        case .authorization(let resource):
            if let requestor, let viewer {
                let end = records.grant(of: requestor.id, mvpd: viewer.mvpd, for: resource, at: clock())
                answer = own(for: request, text: end?.longLivedForm)
            }
        case .userMetadata(let key):
            if let requestor, let viewer, let service = requestor.services[viewer.mvpd] {
                let interface = interface(service, requestor: requestor.id)
                if let metadata = try? await interface.userMetadata(viewer.mvpd) {
                    answer = read(from: metadata, key: key, for: request)
                }
            }
        }
        let (value, isEncrypted) = (answer.value, answer.isEncrypted)
        callbacks.call { delegate in
            await delegate.setMetadataStatus(
                value,
                encrypted: isEncrypted,
                forKey: request.opcode,
                andArguments: request.arguments
            )
        }
        return answer
    }

    private func own(for request: MetadataRequest, text: String?) -> MetadataAnswer {
        MetadataAnswer(request: request, value: text.map { .text($0) }, isEncrypted: false)
    }

    /// Returns a value of the provider, decrypted if the programmer's key is configured.
    private func read(from metadata: UserMetadata, key: String, for request: MetadataRequest) -> MetadataAnswer {
        guard let value = metadata.data[key] else {
            return MetadataAnswer(request: request, value: nil, isEncrypted: false)
        }
        guard metadata.encrypted.contains(key) else {
            return MetadataAnswer(request: request, value: value, isEncrypted: false)
        }
        guard let metadataKey = options.metadataKey else {
            return MetadataAnswer(request: request, value: value, isEncrypted: true)
        }
        // The value was encrypted for another key. The answer then has no value, rather than ciphertext that looks like one.
        guard let plain = value.decrypted(by: metadataKey) else {
            callbacks.status(
                .serverError,
                message:
                    "\(key) cannot be decrypted: the service encrypts with a different public key; check metadataKey"
            )
            return MetadataAnswer(request: request, value: nil, isEncrypted: false)
        }
        return MetadataAnswer(request: request, value: plain, isEncrypted: false)
    }
}

extension MetadataValue {
    /// Returns this value with every text in it decrypted; `nil` if a text cannot be decrypted. A decrypted text that is a
    /// JSON list or object is parsed; any other text stays a text.
    fileprivate func decrypted(by key: MetadataKey) -> MetadataValue? {
        switch self {
        case .text(let cipher):
            guard let text = key.decrypt(cipher) else { return nil }
            guard let first = text.utf8.first, first == UInt8(ascii: "[") || first == UInt8(ascii: "{") else {
                return .text(text)
            }
            return (try? EntitlementBody.read(MetadataValue.self, json: [UInt8](text.utf8))) ?? .text(text)
        case .list(let values):
            let plain = values.map { $0.decrypted(by: key) }
            return plain.contains(nil) ? nil : .list(plain.compactMap { $0 })
        case .map(let values):
            let plain = values.mapValues { $0.decrypted(by: key) }
            return plain.values.contains(nil) ? nil : .map(plain.compactMapValues { $0 })
        case .number, .truth, .null: return self
        }
    }
}
