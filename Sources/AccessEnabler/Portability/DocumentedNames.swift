// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// For portability: the documented names of requests, responses and providers, for code that is written to the documents.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

@_exported public import Entitlements

/// The other documented name of `PreauthorizeRequest`.
public typealias PreauthorizationRequest = PreauthorizeRequest

/// The documented name of the preauthorization of one resource.
public typealias Decision = PreauthorizeResponse.Decision

extension PreauthorizeRequest.Feature {
    /// The client's own cache.
    public static var LOCAL_CACHE: Self { .localCache }
    /// The service's cache.
    public static var REMOTE_CACHE: Self { .remoteCache }
}

extension PreauthorizeRequest.Builder {
    /// Sets the resources, and returns this builder.
    @discardableResult
    public func setResources(resources: [String]) -> PreauthorizeRequest.Builder { setResources(resources) }

    /// Disables the given features and enables all others, and returns this builder.
    @discardableResult
    public func disableFeatures(features: Set<PreauthorizeRequest.Feature>) -> PreauthorizeRequest.Builder {
        disableFeatures(features)
    }
}

extension PreauthorizeResponse {
    /// Returns the reason why there are no decisions; `nil` if there are decisions.
    public func getStatus() -> Status? { status }
    /// Returns one decision for each requested resource; an empty list if the whole response is an error.
    public func getDecisions() -> [Decision] { decisions }
}

extension PreauthorizeResponse.Decision {
    /// Returns the resource as it was requested.
    public func getId() -> String { id }
    /// Returns the reason for a denial, if the service is configured to report it.
    public func getError() -> Status? { error }
}

extension Status {
    /// Returns the HTTP status; 0 if a client reports the error without a response of the service.
    public func getStatus() -> Int { status }
    /// Returns the error code.
    public func getCode() -> String? { code }
    /// Returns a description for developers.
    public func getMessage() -> String? { message }
    /// Returns a description for viewers, if the provider supplies one.
    public func getDetails() -> String? { details }
    /// Returns the URL of a page about the code.
    public func getHelpUrl() -> String? { helpURL }
    /// Returns the id of the response in the logs of the service.
    public func getTrace() -> String? { trace }
    /// Returns the recommended action.
    public func getAction() -> String? { action?.rawValue }
}

extension MVPD {
    /// The provider's id.
    public var ID: String { id }
}

extension MVPD.BoardingStatus: ExpressibleByStringLiteral {
    /// Creates a level of support, for comparisons with its documented text.
    public init(stringLiteral value: String) { self.init(rawValue: value) }
}

extension AccessEnablerCallback {
    /// Receives the answer of the service, a result or an error.
    @MainActor public func onResponse(result: Value) { onResponse(result) }
    /// Receives the failure of the client.
    @MainActor public func onFailure(result: Value) { onFailure(result) }
}
