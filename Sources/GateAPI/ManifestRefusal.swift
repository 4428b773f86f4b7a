// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Manifests
package import NIOHTTP1
package import PlaybackGate

/// A refusal by the manifest listener, and not by a decision of the gate: a fault of the request, the origin or the
/// manifest.
///
/// The raw values are stable, and differ from all other codes.
package enum ManifestRefusal: Error, Hashable {
    /// The path does not end as manifests do.
    case notServed
    /// The request is allowed, but no grant can be written into its manifest. Its references would be refused.
    case withoutGrant
    /// The origin has no such manifest.
    case notFound
    /// The origin answered with another status than 200.
    case failed
    /// The origin redirects to a host that is not named, or again and again.
    case redirected
    /// No connection to the origin, or one that breaks.
    case unreachable
    /// The origin did not answer in time.
    case timedOut
    /// The origin's answer has a content coding other than gzip and deflate, or is no valid data of its coding.
    case encoding
    /// The origin's answer is no manifest by its type.
    case type
    /// The client closed its connection before the answer.
    case abandoned
    /// The manifest cannot be rewritten.
    case manifest(ManifestCode)
}

extension ManifestRefusal: RawRepresentable, CaseIterable {
    package static let allCases: [ManifestRefusal] =
        [
            .notServed, .withoutGrant, .notFound, .failed, .redirected, .unreachable, .timedOut, .encoding, .type,
            .abandoned,
        ] + ManifestCode.allCases.map { .manifest($0) }

    package var rawValue: String {
        switch self {
        case .notServed: "manifest_path_not_served"
        case .withoutGrant: "manifest_without_grant"
        case .notFound: "origin_not_found"
        case .failed: "origin_failed"
        case .redirected: "origin_redirected"
        case .unreachable: "origin_unreachable"
        case .timedOut: "origin_timed_out"
        case .encoding: "origin_encoding_refused"
        case .type: "origin_type_refused"
        case .abandoned: "manifest_abandoned"
        case .manifest(let code): code.rawValue
        }
    }

    package init?(rawValue: String) {
        guard let refusal = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = refusal
    }
}

extension ManifestRefusal {
    package var status: HTTPResponseStatus {
        switch self {
        case .notServed, .notFound: .notFound
        case .failed, .redirected, .unreachable, .encoding, .type, .manifest: .badGateway
        case .timedOut: .gatewayTimeout
        case .withoutGrant, .abandoned: .serviceUnavailable
        }
    }

    package var action: ClientAction {
        switch self {
        case .failed, .unreachable, .timedOut, .abandoned: .retry
        case .notServed, .notFound: .none
        case .withoutGrant, .redirected, .encoding, .type, .manifest: .configuration
        }
    }

    package var message: String {
        switch self {
        case .notServed: "This listener serves manifests only."
        case .withoutGrant: "There is no grant for the references of this manifest."
        case .notFound: "The origin does not have this manifest."
        case .failed: "The origin answered with an error."
        case .redirected: "The origin answered with a redirect that is not followed."
        case .unreachable: "The origin cannot be reached."
        case .timedOut: "The origin did not answer in time."
        case .encoding: "The origin's answer has a content coding that is not supported."
        case .type: "The origin's answer is not a manifest."
        case .abandoned: "The client closed its connection."
        case .manifest(let code): code.message
        }
    }

    /// The first thing for an operator to check if this code is frequent.
    package var operatorHint: String {
        switch self {
        case .notServed: "Check that the edge sends only manifests here, and manifest.advanced.suffixes."
        case .withoutGrant: "Check that the entry has a profile of format cat, its signing key, and the store of uses."
        case .notFound: "Check manifest.origin: the path of a request follows its path."
        case .failed: "Check the origin's log."
        case .redirected: "Name the host that the origin redirects to in manifest.advanced.allowRedirectsTo."
        case .unreachable: "Check manifest.origin, the origin's certificate and the network."
        case .timedOut:
            "Check the origin, and advanced.manifests.response: blocking reloads take three target durations."
        case .encoding: "Configure the origin to send manifests plainly or with gzip."
        case .type: "Check the content type that the origin gives to manifests."
        case .abandoned: "Players give up: check the time that the origin takes."
        case .manifest(.tooLarge): "Raise advanced.manifests.bytes, or make the playlist shorter."
        case .manifest: "Run playgate manifest rewrite on the origin's manifest: it names the line."
        }
    }
}

extension ManifestCode {
    fileprivate var message: String {
        switch self {
        case .malformed: "The manifest is malformed."
        case .encodingInvalid: "The manifest is not in UTF-8."
        case .tooLarge: "The manifest is too large."
        case .referenceInvalid: "A reference of the manifest could be read in different ways."
        case .unsupported: "The manifest uses a part of its format that cannot be rewritten safely."
        }
    }
}

extension APIRefusal {
    /// Creates a refusal of the manifest listener.
    package init(_ refusal: ManifestRefusal, details: String? = nil) {
        self.init(
            status: refusal.status,
            action: refusal.action,
            code: refusal.rawValue,
            message: refusal.message,
            details: details
        )
    }
}
