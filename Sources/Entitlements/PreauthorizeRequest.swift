// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Which resources to ask a preauthorization for, and what may answer. A value: it can be used again.
public struct PreauthorizeRequest: Hashable, Sendable {
    /// What may answer in the provider's place.
    public enum Feature: String, Sendable, CaseIterable {
        /// The client's own memory.
        case localCache = "LOCAL_CACHE"
        /// The service's memory; without it, the provider is asked.
        case remoteCache = "REMOTE_CACHE"
    }

    /// Identifiers or Media RSS fragments, as agreed with the provider.
    public let resources: [String]
    /// What must not answer.
    public let disabledFeatures: Set<Feature>

    /// Makes a request; every feature is on but for those that are named.
    public init(resources: [String], disabling disabledFeatures: Set<Feature> = []) {
        self.resources = resources
        self.disabledFeatures = disabledFeatures
    }

    /// Makes requests step by step, in the words of the documented API.
    public struct Builder: Sendable {
        private var resources: [String] = []
        private var disabledFeatures: Set<Feature> = []

        /// Makes a builder of a request for nothing, with every feature on.
        public init() {}

        /// Sets the resources.
        public func setResources(_ resources: [String]) -> Builder {
            var next = self
            next.resources = resources
            return next
        }

        /// Turns features off; those that are not named are on.
        public func disableFeatures(_ features: Set<Feature>) -> Builder {
            var next = self
            next.disabledFeatures = features
            return next
        }

        /// Makes a new request each time.
        public func build() -> PreauthorizeRequest {
            PreauthorizeRequest(resources: resources, disabling: disabledFeatures)
        }
    }
}
