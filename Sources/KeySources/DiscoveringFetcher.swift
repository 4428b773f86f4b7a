// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Keys

/// A fetcher that reads the address of a key set from the document of its issuer: OpenID Connect Discovery 1.0 §4, or RFC 8414 §3.
///
/// The document is fetched before each set, so that a provider can move its keys. It must be of the issuer itself
/// (RFC 8414 §3.3), and cannot name any other setting of the gate.
public struct DiscoveringFetcher: KeySetFetcher {
    private let fetcher: any KeySetFetcher
    private let issuer: String

    private static let limits = JSONLimits(depth: 6, members: 256, elements: 1024)

    /// Creates a fetcher.
    ///
    /// - Parameters:
    ///   - fetcher: Fetches the document, and then the set.
    ///   - issuer: The issuer, as the document must spell it.
    public init(_ fetcher: any KeySetFetcher, issuer: String) {
        (self.fetcher, self.issuer) = (fetcher, issuer)
    }

    /// Requests the document at the address of the request, and the key set that it names.
    public func fetch(_ request: KeySetRequest) async -> Result<KeySetResponse, KeySetFault> {
        let document = await fetcher.fetch(KeySetRequest(request.address))
        guard case .success(let answer) = document, answer.status == 200 else { return document }
        guard let address = address(in: answer) else { return .failure(.discoveryRefused) }
        return await fetcher.fetch(KeySetRequest(address, entityTag: request.entityTag))
    }

    private func address(in answer: KeySetResponse) -> KeySetAddress? {
        guard answer.mediaType == "application/json", answer.body.count <= KeySetReading.maximumSize,
            let document = try? JSONReader.read(answer.body.span, limits: Self.limits),
            let named = document["issuer"]?.text, named.utf8.elementsEqual(issuer.utf8),
            let set = document["jwks_uri"]?.text
        else { return nil }
        return try? KeySetAddress(set)
    }
}
