// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

/// The terms of an authorization that a token of an identity provider proves, beyond the rules of the gate.
package struct ProviderTerms: Hashable, Sendable {
    /// True if the token starts any number of playbacks until it expires.
    package let isReusable: Bool
    /// The number of playbacks that the viewer may have at a time; `nil` if the token does not limit it.
    package let streamLimit: Int?
    /// The end of what the viewer is entitled to; `nil` if the token does not say.
    package let sessionEnd: Timestamp?

    /// Creates a value of its members.
    package init(isReusable: Bool, streamLimit: Int?, sessionEnd: Timestamp?) {
        (self.isReusable, self.streamLimit, self.sessionEnd) = (isReusable, streamLimit, sessionEnd)
    }

    /// The size of ``encoded``.
    private static let size = 17

    /// The terms as bytes: a flag, and two numbers, each the largest if there is none.
    fileprivate var encoded: [UInt8] {
        let numbers = [Int64(streamLimit ?? .max), sessionEnd?.millisecondsSince1970 ?? .max]
        return [isReusable ? 1 : 0]
            + numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
    }

    /// Reads the terms of ``encoded``; `nil` for another size.
    fileprivate init?(encoded bytes: ArraySlice<UInt8>) {
        guard bytes.count == Self.size, let flag = bytes.first else { return nil }
        func number(at offset: Int) -> Int64? {
            let start = bytes.startIndex + offset
            let value = (0..<8).reduce(Int64(0)) { $0 | Int64(bytes[start + $1]) << ($1 * 8) }
            return value == .max ? nil : value
        }
        isReusable = flag == 1
        streamLimit = number(at: 1).flatMap { Int(exactly: $0) }
        sessionEnd = number(at: 9).map { Timestamp(millisecondsSince1970: $0) }
    }
}

extension MediaToken {
    /// The terms of a token of an identity provider; `nil` for a media token.
    ///
    /// They stand behind the texts, so that the tokens of all other gates are no longer for them: a longer structure costs
    /// each decision a copy.
    package var terms: ProviderTerms? { fields.hasAppendix ? ProviderTerms(encoded: fields.appendix) : nil }

    /// Creates the proof of an authorization from a token of an identity provider, so that policies, limits, stores and grants
    /// treat it as that of a TV provider. `nil` if its texts are too large.
    ///
    /// - Parameters:
    ///   - requestor: The requestor of the resource.
    ///   - resource: The resource as it is written in the catalogue.
    ///   - viewer: The viewer.
    ///   - provider: The name of the provider.
    ///   - issued: The time of issue.
    ///   - expires: The last time at which the token is valid.
    ///   - fingerprint: The key of the token in replay stores.
    ///   - terms: The terms of the authorization.
    package init?(
        requestor: String,
        resource: String,
        viewer: String,
        provider: String,
        issued: Timestamp,
        expires: Timestamp,
        fingerprint: TokenFingerprint,
        terms: ProviderTerms
    ) {
        var texts: [UInt8] = []
        var ends = [5 of UInt16](repeating: 0)
        let order = [requestor, resource, viewer, provider]
        for index in order.indices {
            texts += order[index].utf8
            guard let end = UInt16(exactly: texts.count) else { return nil }
            ends[index] = end
        }
        ends[4] = ends[3]
        texts += terms.encoded
        let fields = TokenFields(
            timeIssued: issued,
            timeToLiveMilliseconds: expires.millisecondsSince1970 - issued.millisecondsSince1970,
            texts: texts,
            ends: ends
        )
        self.init(fields: fields, fingerprint: fingerprint)
    }
}
