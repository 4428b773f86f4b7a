// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension ClaimSet {
    func proofRefusal(
        _ context: borrowing CATContext,
        at place: Range<Int>,
        _ token: Span<UInt8>,
        _ facts: RequestFacts,
        _ obligations: inout GrantObligations
    ) -> GrantRefusal? {
        refusal(.proofMissing, .confirmation, context)
    }
}
