// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens

/// The labels of claims in the tokens of one issuer that differ from those of the registry.
///
/// Claims from 324 on are not settled. One vendor family has a fingerprint at 324, another a composite, and some have
/// their own labels for `catu` and others at 401. A token with a claim of 324 to 1023 is therefore refused unless its
/// issuer's labels name the meaning. Claims beyond are ignored.
public struct CATLabels: Hashable, Sendable {
    /// The registered meanings of private labels, such as 401 for `catu`.
    public var renamed: [Int64: ClaimLabel] = [:]
    /// The label of `or`: an array of claim sets, one of which must hold.
    public var or: Int64?
    /// The label of `nor`: an array of claim sets, none of which may hold.
    public var nor: Int64?
    /// The label of `and`: an array of claim sets, all of which must hold.
    public var and: Int64?
    /// The label of `crit`: an array of labels, each of which must be present and evaluated.
    public var critical: Int64?

    /// Creates the labels of the registry.
    public init() {}

    /// The labels of the registry.
    public static let registered = CATLabels()

    /// The labels of claims that may be restrictions, and whose meaning only the issuer's profile defines.
    package static let unsettled: ClosedRange<Int64> = 324...1023

    /// Returns the claim with a label.
    package func claim(_ label: Int64) -> CATClaim? {
        switch label {
        case or: return .or
        case nor: return .nor
        case and: return .and
        case critical: return .critical
        default: return CATClaim(renamed[label]?.rawValue ?? label)
        }
    }

    /// Returns the registered label of a claim. A composite has none: for it, returns the label in tokens of the
    /// issuer.
    package func meaning(_ claim: CATClaim) -> ClaimLabel { claim.label ?? label(claim) }

    /// Returns the registered label of a label in tokens of the issuer.
    package func meaning(of label: ClaimLabel) -> ClaimLabel { renamed[label.rawValue] ?? label }

    /// Returns the label that a claim has in tokens of the issuer.
    package func label(_ claim: CATClaim) -> ClaimLabel {
        switch claim {
        case .or: return ClaimLabel(or ?? 0)
        case .nor: return ClaimLabel(nor ?? 0)
        case .and: return ClaimLabel(and ?? 0)
        case .critical: return ClaimLabel(critical ?? 0)
        default:
            let label = claim.label ?? ClaimLabel(0)
            return renamed.first { $0.value == label }.map { ClaimLabel($0.key) } ?? label
        }
    }
}
