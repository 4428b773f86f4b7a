// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

/// The terms of an authorization that a token of an identity provider proves, beyond the rules of the gate.
package final class ProviderTerms: Sendable {
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
}

extension MediaToken {
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
        let fields = TokenFields(
            timeIssued: issued,
            timeToLiveMilliseconds: expires.millisecondsSince1970 - issued.millisecondsSince1970,
            texts: texts,
            ends: ends
        )
        self.init(fields: fields, fingerprint: fingerprint, terms: terms)
    }
}
