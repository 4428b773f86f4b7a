// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Platform
internal import PlaybackGate
package import SharedGrants

extension GateConfiguration {
    /// The section `leaks`: what is done about grants that more than one hold.
    package struct Leaks: Sendable {
        /// The consequence of a proof; `nil` if renewals and requests are not counted.
        package var action: LeakWatch.Action?
        /// The time for which two devices may play with one grant, while a viewer changes from one to the other.
        package var handover: Duration
        /// The parts of paths that name a rendition.
        package var renditions: [RenditionPattern]
    }
}

extension GateConfiguration.Leaks {
    init(_ section: ConfigurationSection) {
        let off = "off"
        let names = [off] + LeakWatch.Action.allCases.map(\.rawValue)
        action = LeakWatch.Action(rawValue: section.choice("action", among: names, default: off))
        handover = section.duration("handover", in: .seconds(10) ... .seconds(600), default: .seconds(45))
        let texts = section.strings("renditions") ?? []
        if texts.count > RenditionPattern.maximumCount {
            section.note(at: "renditions", message: "has more than \(RenditionPattern.maximumCount) patterns")
        }
        renditions = texts.compactMap { text in
            let pattern = RenditionPattern(text)
            if pattern == nil {
                let form = "must have one *, and characters before and after it, such as /v*/"
                section.note(at: "renditions", message: "\(text) \(form)")
            }
            return pattern
        }
    }

    /// The shortest time in which a grant is not renewed yet, so that answers that cross have arrived, also those that an origin
    /// holds: a jar that has two successors of a grant for a moment renews one of them.
    static let shortestAge = Duration.seconds(60)
}

extension GrantProfile.Rules {
    /// Lets the renewals be counted, if the grants are renewed and have a claim for it.
    ///
    /// - Parameter format: The format of the grants.
    mutating func countRenewals(of format: GrantFormat, in section: ConfigurationSection) {
        guard format == .cat, let renewal else { return }
        countsRenewals = true
        guard life - renewal.deadline < GateConfiguration.Leaks.shortestAge else { return }
        section.note(
            at: "renew",
            message:
                "deadline must be at least \(GateConfiguration.Leaks.shortestAge.text) shorter than life (\(life.text)), with leaks"
        )
    }
}
