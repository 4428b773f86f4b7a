// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import MediaResources
internal import PlaybackGate

extension PlaybackPolicy {
    package init(_ section: ConfigurationSection) {
        let requestors = section.strings("requestors")
        let (allowed, denied) = section.section("mvpds") { ($0.strings("allow"), $0.strings("deny") ?? []) }
        let ratings = section.texts("maximumRatings").map { Rating(scheme: $0.key, value: $0.value) }
        for rating in ratings where !rating.isAtMost(rating) {
            section.note(
                at: "maximumRatings",
                message:
                    "\(rating.scheme) \(rating.value): unknown rating; known: urn:v-chip (TV-Y to TV-MA) and urn:mpaa (G to NC-17)"
            )
        }
        self.init(
            requestors: requestors,
            allowedMVPDs: allowed,
            deniedMVPDs: denied,
            maximumRatings: ratings,
            allowsUnrated: section.bool("allowUnrated", default: false)
        )
    }
}
