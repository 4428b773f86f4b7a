// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import MediaResources

extension GateConfiguration.Verification {
    package init(_ section: ConfigurationSection, cacheCapacity fallback: Int) {
        earlyLeeway = section.duration("earlyLeeway", in: .zero ... .seconds(120), default: .seconds(60))
        lateLeeway = section.duration("lateLeeway", in: .zero ... .seconds(120), default: .zero)
        maximumTimeToLive = section.duration(
            "maximumTimeToLive",
            in: .milliseconds(1) ... .seconds(86_400),
            default: .seconds(900)
        )
        matchOptions = section.section("match", read: MediaResource.MatchOptions.init)
        cacheCapacity = section.integer("cache", in: 0...1_000_000, default: fallback)
    }
}

extension MediaResource.MatchOptions {
    fileprivate init(_ section: ConfigurationSection) {
        self.init()
        channelCoversAssets = section.bool("channelCoversAssets", default: false)
        ignoreRating = section.bool("ignoreRating", default: false)
        schemeAliases = section.bool("schemeAliases", default: false)
        ignoreCase = section.bool("ignoreCase", default: false)
        collapseWhitespace = section.bool("collapseWhitespace", default: false)
        videoNamespaceAlias = section.bool("videoNamespaceAlias", default: true)
    }
}
