// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens

extension GrantRefusal {
    /// The next step, for the user of the command.
    var advice: String {
        switch code {
        case .missing, .malformed, .tooLarge: malformedAdvice
        case .algorithmRefused: "Its key in --keys is for another algorithm, or the token's header was changed."
        case .keyUnknown:
            "Check that --keys has the issuer's current keys; playgate grant explain shows the token's key id."
        case .signatureInvalid:
            "It was changed, or made with another key of the same id: compare the keys of both sides."
        case .issuerRefused: "Compare --issuer with the issuer in the token: see playgate grant explain."
        case .audienceMismatch: "Give this recipient's name with --audience, or ask the issuer to name it."
        case .expired, .sessionEnded, .replayed, .revoked, .shared, .sampled:
            "Start the playback again for a new grant."
        case .notYetValid: "Compare the clocks, or check at another time with --at."
        case .contextMissing: contextAdvice
        case .resourceMismatch: "Use it only for the resource and the requestor that it was given for."
        case .addressMismatch: "Compare --client and --asn with the token's networks: see playgate grant explain."
        case .uriMismatch: "Compare --url with the token's scope: see playgate grant explain."
        case .methodRefused: "Compare --method with the token's methods: HEAD is not implied by GET."
        case .headerMismatch: "Compare the fields of --header with the token: see playgate grant explain."
        case .tlsMismatch: "Compare --alpn and --client-key with the token: see playgate grant explain."
        case .locationMismatch: "Compare --country and --position with the token: see playgate grant explain."
        case .proofMissing, .proofInvalid: "Give the player's proof for this request: --header 'DPoP: …'."
        case .versionUnsupported, .claimUnsupported, .subjectInvalid, .renewalInvalid, .streamLimitReached:
            "No edge may accept it: ask the issuer to leave it out."
        }
    }

    private var malformedAdvice: String {
        claimName == nil
            ? "Pass it on unchanged: the URL-safe Base64 of the whole token, without a name, blanks or quotes."
            : "Report this to the issuer, which signed a claim that no verifier may accept."
    }

    private var contextAdvice: String {
        guard let fact else { return "Give the facts of the request." }
        let option =
            switch fact {
            case .scheme, .host, .port, .query: "the whole URL with --url"
            case .method: "--method"
            case .clientAddress: "--client"
            case .clientASN: "--asn"
            case .headers: "the fields of the request with --header"
            case .alpn: "--alpn"
            case .clientKey: "--client-key"
            case .countries: "--country"
            case .position: "--position"
            }
        return "Give \(option)."
    }
}
