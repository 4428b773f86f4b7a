// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import CommonAccessTokens
import EdgeTokens
import Encodings
import Keys
import Licences
import Platform
import URISigning

extension GrantCommand {
    struct Explain: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "explain",
            abstract: "Show each claim of a grant: pass, fail, not evaluated or ignored.",
            discussion: """
                Evaluates each restriction by itself, for the request that the options describe. A restriction whose facts \
                are not given is not evaluated. Without --keys nobody has verified the grant, and the output says so.

                A token for a licence server is explained too: its claims are listed, and nobody but that server can verify it.

                Exits with 1 if a claim fails, the grant is refused for the request of --url, or it cannot be read.
                """
        )

        @OptionGroup var token: TokenArgument

        @Option(help: "The format of the grant.")
        var format = GrantFormatName.cat

        @Option(
            help: ArgumentHelp(
                "A JWK Set, or a COSE key set in CBOR. Without it, the grant is not verified.",
                valueName: "file"
            ),
            completion: .file()
        )
        var keys: String?

        @Option(
            help: ArgumentHelp("The issuer of the keys; the one that the token names by default.", valueName: "name")
        )
        var issuer: String?

        @Option(
            help: ArgumentHelp(
                "A name of this recipient, for grants with an audience; may be repeated.",
                valueName: "name"
            )
        )
        var audience: [String] = []

        @OptionGroup(title: "Signed URIs (--format uri-signing)")
        var signing: SignedURIOptions

        @OptionGroup(title: "The request")
        var facts: GrantFactOptions

        @Option(help: ArgumentHelp("Explain at this time, \(TimeArgument.help); now by default.", valueName: "time"))
        var at: TimeArgument?

        @Flag(help: "Print a JSON object.")
        var json = false

        var answersInJSON: Bool { json }

        func validate() throws {
            if format.vendor != nil {
                throw ValidationError("--format \(format.rawValue) has nothing to explain: its text is plain")
            }
            if issuer != nil, keys == nil { throw ValidationError("--issuer requires --keys") }
            try token.demandInput(besides: keys)
        }

        func run() throws {
            let (now, text) = (at?.time ?? .now(), try token.read())
            if format == .cat, keys == nil, let licence = UnverifiedLicenceToken(text).map(LicenceTokenReport.init) {
                Terminal.output.write(json ? licence.json(at: now).line + "\n" : licence.text(at: now))
                if licence.isExpired(at: now) { throw ExitCode.refused }
                return
            }
            let explained = try explanation(of: text, at: now)
            Terminal.output.write(json ? explained.json.line + "\n" : explained.report(at: now))
            guard !explained.isRefused else { throw ExitCode.refused }
        }

        /// Explains a token.
        func explanation(of token: String, at now: Timestamp) throws(CommandFailure) -> GrantExplanation {
            if format == .cat { try self.facts.demandURLWithout(token) }
            let url = format == .cat ? self.facts.url : self.facts.url?.cutting(signing.package).url
            let facts = try self.facts.facts(url)
            guard let facts else {
                return GrantExplanation(hasURL: true, isVerified: false, refusal: GrantRefusal(.uriMismatch))
            }
            let hasURL = url != nil
            guard let keys else { return try unverified(token, for: facts, hasURL: hasURL, at: now) }
            let checker = try GrantChecker(
                try GrantKeySet(keys, for: format),
                issuer: issuer,
                audience: audience,
                format: format,
                options: signing
            )
            return Self.verified(token, for: facts, by: try checker.select(for: token), hasURL: hasURL, at: now)
        }

        private static func verified(
            _ token: String,
            for facts: RequestFacts,
            by selected: GrantChecker.Selected,
            hasURL: Bool,
            at now: Timestamp
        ) -> GrantExplanation {
            let (verdict, key, claims): (GrantVerdict, TokenKey?, [ExplainedClaim])
            switch selected.verifier {
            case .cat(let verifier):
                let explained = verifier.explain(token.utf8.span, for: facts, at: now)
                (verdict, key, claims) = (explained.verdict, explained.key, explained.claims)
            case .signedURI(let verifier):
                let explained = verifier.explain(token.utf8.span, for: facts, at: now)
                (verdict, key, claims) = (explained.verdict, explained.key, explained.claims)
            }
            var answer = GrantExplanation(hasURL: hasURL, isVerified: key != nil, refusal: verdict.refusal)
            answer.issuer = key == nil ? nil : selected.issuer
            answer.isIssuerAssumed = selected.isIssuerAssumed
            answer.keyID = key?.id
            answer.algorithm = key?.algorithm
            answer.claims = claims
            return answer
        }

        private func unverified(
            _ token: String,
            for facts: RequestFacts,
            hasURL: Bool,
            at now: Timestamp
        ) throws(CommandFailure) -> GrantExplanation {
            let keys = try signing.decryptionKeys()
            do throws(UnverifiedTokenError) {
                if format == .uriSigning {
                    let read = try UnverifiedSignedURI(token.utf8.span)
                    let policy = GrantChecker.signedPolicy(audience: audience, keys)
                    let explained = read.explain(for: facts, under: policy, at: now)
                    var answer = GrantExplanation(hasURL: hasURL, isVerified: false, refusal: explained.refusal)
                    (answer.issuer, answer.isIssuerAssumed) = (read.issuer, true)
                    (answer.keyID, answer.algorithm) = (read.keyID, read.algorithm)
                    answer.claims = explained.claims
                    return answer
                }
                let read = try UnverifiedCAT(token.utf8.span)
                let policy = GrantChecker.policy(audience: audience)
                let explained = read.explain(presentedAs: token.utf8.span, for: facts, under: policy, at: now)
                var answer = GrantExplanation(hasURL: hasURL, isVerified: false, refusal: explained.refusal)
                answer.issuer = read.issuer
                answer.isIssuerAssumed = true
                answer.keyID = read.keyID
                answer.algorithm = read.algorithm
                answer.claims = explained.claims
                return answer
            } catch {
                return GrantExplanation(hasURL: hasURL, isVerified: false, refusal: GrantRefusal(error.code))
            }
        }
    }
}

/// The claims of a grant with their outcomes.
struct GrantExplanation {
    /// True if the URL of the request is known.
    let hasURL: Bool
    /// True if the grant is authentic.
    let isVerified: Bool
    /// The refusal by a check for the request; of a grant that is not verified, the one that it would get.
    let refusal: GrantRefusal?
    var issuer: String?
    /// True if the name of the issuer is the token's own word.
    var isIssuerAssumed = false
    var keyID: KeyID?
    var algorithm: KeyAlgorithm?
    var claims: [ExplainedClaim] = []

    /// True if the grant is refused for a reason other than facts that were not given.
    var isRefused: Bool {
        if claims.contains(where: { outcome($0) == .fail }) { return true }
        guard let refusal else { return false }
        guard !isVerified || !hasURL else { return true }
        return refusal.code != .contextMissing && !isUndecided(refusal)
    }

    /// True if only the request, which is not known, could decide.
    private func isUndecided(_ refusal: GrantRefusal) -> Bool {
        guard !hasURL, !claims.isEmpty else { return false }
        return refusal.code == .contextMissing || refusal.code == .uriMismatch
    }

    private func outcome(_ claim: ExplainedClaim) -> ExplainedClaim.Outcome {
        let isURI = !hasURL && claim.refusal?.code == .uriMismatch
        return isURI ? .notEvaluated : claim.outcome
    }

    /// The fact that a claim which is not evaluated lacks; `nil` if it lacks none.
    private func missing(_ claim: ExplainedClaim) -> String? {
        let isOfURI = claim.refusal?.claim == .uri || claim.refusal?.claimName == URISigningClaim.container.rawValue
        if !hasURL, isOfURI, outcome(claim) == .notEvaluated { return "url" }
        if let fact = claim.refusal?.fact { return fact.rawValue }
        if claim.label == nil, outcome(claim) == .notEvaluated { return missingOfSignedURI(claim) }
        guard outcome(claim) == .notEvaluated, let label = claim.label.map({ ClaimLabel($0) }) else { return nil }
        switch label {
        case .replay, .rejection: return "store"
        case .session, .revocation: return "revocations"
        case .protection, .profile, .generation: return "catalogue"
        default: return nil
        }
    }

    private func missingOfSignedURI(_ claim: ExplainedClaim) -> String? {
        switch URISigningClaim(rawValue: claim.name) {
        case .identifier: "store"
        case .session, .revocation: "revocations"
        case .protection, .profile: "catalogue"
        default: nil
        }
    }

    // MARK: For programs

    var json: JSON {
        let notice: [JSON.Member] = isVerified ? [] : [("notice", .string("NOT VERIFIED"))]
        let isAllowed = isVerified && hasURL && refusal == nil
        let reported = refusal.map { isUndecided($0) ? GrantRefusal(.contextMissing, detail: $0.detail) : $0 }
        let facts: [JSON.Member] = [
            ("issuer", .optional(issuer)), ("issuerAssumed", .bool(isIssuerAssumed)),
            ("keyID", .optional(keyID?.description)), ("algorithm", .optional(algorithm?.rawValue)),
            ("claims", .array(claims.map(json))),
        ]
        return .object(notice + JSON.grantVerdict(isValid: isAllowed, reported) + facts)
    }

    private func json(_ claim: ExplainedClaim) -> JSON {
        let code = outcome(claim) == .fail ? claim.refusal?.code.rawValue : nil
        return .object([
            ("label", claim.label.map { .number($0) } ?? .null), ("name", .string(claim.name)),
            ("outcome", .string(outcome(claim).rawValue)), ("code", .optional(code)),
            ("fact", .optional(missing(claim))), ("value", .string(claim.value)),
        ])
    }

    // MARK: For people

    func report(at now: Timestamp) -> String {
        var text = ""
        if isVerified {
            let source = isIssuerAssumed ? " (the token's own word)" : ""
            text += "made by \((issuer ?? "").printable(limit: 256))\(source) with the key \(keyName)\n"
        } else if !claims.isEmpty {
            text += Style.yellow("NOT VERIFIED") + ": anybody can have written this; give --keys to verify it.\n"
            text += "names the issuer \((issuer ?? "none").printable(limit: 256)) and the key \(keyName)\n"
        }
        if !claims.isEmpty { text += "\n" + table + "\n" }
        return text + verdict(at: now)
    }

    private var keyName: String { "\(keyID?.description ?? "without id") (\(algorithm?.rawValue ?? "no algorithm"))" }

    private var table: String {
        let names = claims.map { $0.name.printable(limit: 40) }
        let width = max(8, names.map(\.count).max() ?? 0) + 2
        func padded(_ text: String, to width: Int) -> String {
            text + String(repeating: " ", count: max(1, width - text.count))
        }
        let rows = zip(claims, names).map { claim, name in
            let outcome = outcome(claim)
            let columns = padded(name, to: width) + outcome.styled(padded(outcome.words, to: 15))
            return "  " + columns + claim.value.printable(limit: 100) + reason(claim) + "\n"
        }
        return rows.joined()
    }

    /// The code of a claim that fails, or the missing fact of a claim that is not evaluated.
    private func reason(_ claim: ExplainedClaim) -> String {
        if outcome(claim) == .fail { return claim.refusal.map { Style.faint("  \($0.code.rawValue)") } ?? "" }
        return missing(claim).map { Style.faint("  needs \($0)") } ?? ""
    }

    private func verdict(at now: Timestamp) -> String {
        guard let refusal else {
            guard isVerified else { return "No claim fails at \(now). This does not verify the grant.\n" }
            return hasURL
                ? Style.green("valid") + " at \(now), unless a store knows better\n"
                : "No claim fails at \(now). Give --url for a verdict.\n"
        }
        if isUndecided(refusal) { return "Undecided at \(now): give --url for a verdict.\n" }
        let advice = isVerified || claims.isEmpty ? "" : "This is what would be answered if it were authentic.\n"
        return refusal.report(at: now) + advice
    }
}

extension ExplainedClaim.Outcome {
    fileprivate var words: String {
        switch self {
        case .pass: "pass"
        case .fail: "fail"
        case .notEvaluated: "not evaluated"
        case .ignored: "ignored"
        }
    }

    fileprivate func styled(_ text: String) -> String {
        switch self {
        case .pass: Style.green(text)
        case .fail: Style.red(text)
        case .notEvaluated: Style.yellow(text)
        case .ignored: Style.faint(text)
        }
    }
}
