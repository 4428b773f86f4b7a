// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A request for a preauthorization of resources. It is a value and can be used again.
public struct PreauthorizeRequest: Hashable, Sendable {
    /// A cache that may answer instead of the provider.
    public enum Feature: String, Sendable, CaseIterable {
        /// The client's own cache.
        case localCache = "LOCAL_CACHE"
        /// The service's cache. If it is disabled, the service calls the provider.
        case remoteCache = "REMOTE_CACHE"
    }

    /// The identifiers or Media RSS fragments, as agreed with the provider.
    public let resources: [String]
    /// The caches that must not answer.
    public let disabledFeatures: Set<Feature>

    /// Creates a request. All features are enabled except the given ones.
    public init(resources: [String], disabling disabledFeatures: Set<Feature> = []) {
        self.resources = resources
        self.disabledFeatures = disabledFeatures
    }

    /// A builder of requests, with the names of the documented API. Its setters change it and return it.
    public final class Builder {
        private var resources: [String] = []
        private var disabledFeatures: Set<Feature> = []

        /// Creates a builder without resources and with every feature enabled.
        public init() {}

        /// Sets the resources, and returns this builder.
        @discardableResult
        public func setResources(_ resources: [String]) -> Builder {
            self.resources = resources
            return self
        }

        /// Disables the given features and enables all others, and returns this builder.
        @discardableResult
        public func disableFeatures(_ features: Set<Feature>) -> Builder {
            disabledFeatures = features
            return self
        }

        /// Creates a new request on every call. The builder stays as it is.
        public func build() -> PreauthorizeRequest {
            PreauthorizeRequest(resources: resources, disabling: disabledFeatures)
        }
    }
}
