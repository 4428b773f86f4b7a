// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import CommonAccessTokens
import EdgeTokens
import Encodings
import Keys
import Platform
import URISigning

extension GrantCommand {
    struct Renew: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "renew",
            abstract: "Renew a grant within its window.",
            discussion: """
                Prints a grant with the same claims and a new life, which ends with the session at the latest. The key, the \
                issuer and the times of the grant are verified. The restrictions to URL, method and client are those of the \
                player's requests: they are not evaluated, and the new grant has the same ones. If the playback was revoked, \
                only the gate knows.

                Exits with 1 if the grant is refused, or is not to be renewed (yet).
                """
        )

        @OptionGroup var token: TokenArgument

        @Option(help: "The format of the grant.")
        var format = GrantFormatName.cat

        @OptionGroup(title: "Keys")
        var keys: GrantKeyOptions

        @OptionGroup(title: "Signed URIs (--format uri-signing)")
        var signing: SignedURIOptions

        @Option(
            help: ArgumentHelp(
                "The URL of the request, with the signed URI's token unless it is given; prints the field that hands it over.",
                valueName: "url"
            )
        )
        var url: URLArgument?

        @Option(help: ArgumentHelp("The id of the key to sign with; the key of the grant by default.", valueName: "id"))
        var kid: String?

        @Option(
            help: ArgumentHelp(
                "The length of the session from now on, for a grant that has none.",
                valueName: "duration"
            )
        )
        var maximumSession: DurationArgument?

        @Option(help: ArgumentHelp("Renew at this time, \(TimeArgument.help); now by default.", valueName: "time"))
        var at: TimeArgument?

        @Flag(help: "Print a JSON object.")
        var json = false

        var answersInJSON: Bool { json }

        func validate() throws {
            try keys.demand()
            if let maximumSession, !(1000...GrantLimits.longest ~= maximumSession.milliseconds) {
                throw ValidationError("--maximum-session takes 1s to 366d")
            }
            if url != nil, format != .uriSigning { throw ValidationError("--url is for --format uri-signing") }
            try token.demandInput(besides: keys.keys)
        }

        func run() throws {
            let now = at?.time ?? .now()
            let isGiven = token.token != nil || token.tokenFile != nil
            let presented = isGiven ? nil : url?.cutting(signing.package).tokens.first
            let outcome = try outcome(of: try presented ?? token.read(), at: now)
            if let renewed = outcome.renewed {
                Terminal.output.write(json ? renewed.json.line + "\n" : (renewed.field ?? renewed.token) + "\n")
                return
            }
            if json {
                Terminal.output.write(outcome.json.line + "\n")
            } else {
                Terminal.error.write(outcome.report(at: now))
            }
            throw ExitCode.refused
        }

        /// Renews a token.
        func outcome(of token: String, at now: Timestamp) throws(CommandFailure) -> GrantRenewalOutcome {
            let set = try GrantKeySet(keys.keys, for: format)
            let name = keys.issuer ?? format.issuer(in: token, header: signing.jwtHeader) ?? ""
            guard format == .cat else { return try signedURIOutcome(of: token, keys: set, issuer: name, at: now) }
            var issuer = AcceptedIssuer(name)
            issuer.maximumSession = maximumSession?.duration
            let verifier = CATVerifier(keys: try set.keys(of: name), issuers: [issuer], policy: CATPolicy())
            let grant: CATGrant
            switch verifier.authenticate(token.utf8.span, at: now) {
            case .refused(let refusal): return GrantRenewalOutcome(refusal: refusal)
            case .authentic(let found): grant = found
            }
            if let outcome = outcomeBeforeRenewal(of: grant, at: now) { return outcome }
            let key = try kid.map { (id) throws(CommandFailure) in try set.signingKey(id, of: name) } ?? grant.key
            do throws(CATIssueError) {
                let renewed = try CATIssuer(key: key).renew(grant, at: now)
                return GrantRenewalOutcome(renewed: .init(token: renewed.token, json: renewed.json(nil)))
            } catch {
                guard error != .notRenewable else { return GrantRenewalOutcome(obstacle: .sessionEnds) }
                throw CommandFailure(error.words, code: error.rawValue)
            }
        }

        private func signedURIOutcome(
            of token: String,
            keys set: GrantKeySet,
            issuer name: String,
            at now: Timestamp
        ) throws(CommandFailure) -> GrantRenewalOutcome {
            var issuer = signing.rules(name)
            issuer.maximumSession = maximumSession?.duration
            let policy = GrantChecker.signedPolicy(audience: [], try signing.decryptionKeys())
            let verifier = URISigningVerifier(keys: try set.keys(of: name), issuers: [issuer], policy: policy)
            let grant: URISigningGrant
            switch verifier.authenticate(token.utf8.span, at: now) {
            case .refused(let refusal): return GrantRenewalOutcome(refusal: refusal)
            case .authentic(let found): grant = found
            }
            if let outcome = outcomeBeforeRenewal(of: grant, at: now) { return outcome }
            let key = try kid.map { (id) throws(CommandFailure) in try set.signingKey(id, of: name) } ?? grant.key
            do throws(URISigningIssueError) {
                var signer = try URISigningIssuer(key: key)
                signer.form = JWSForm(omitsHeader: token.utf8.count { $0 == UInt8(ascii: ".") } == 1)
                let renewed = try signer.renew(grant, at: now)
                var outcome = GrantRenewalOutcome.Renewed(token: renewed.token, json: renewed.json(nil))
                if let url {
                    guard let field = field(with: renewed, of: grant, for: url, at: now) else {
                        return GrantRenewalOutcome(obstacle: .shortPath)
                    }
                    outcome.field = field
                }
                return GrantRenewalOutcome(renewed: outcome)
            } catch {
                guard error != .notRenewable else { return GrantRenewalOutcome(obstacle: .sessionEnds) }
                throw CommandFailure(error.words, code: error.rawValue)
            }
        }

        /// Returns the field of an answer that hands a renewed token over; `nil` if the URL has too few segments for its cookie.
        private func field(
            with renewed: IssuedSignedURI,
            of grant: URISigningGrant,
            for url: URLArgument,
            at now: Timestamp
        ) -> String? {
            let bare = url.cutting(signing.package).url
            guard let renewal = grant.renewal, let uri = bare.uri else { return nil }
            switch renewal.transport {
            case .query:
                let location = URISigningRenewal.location(
                    with: renewed.token,
                    for: bare.target,
                    attribute: signing.package
                )
                return "Location: \(location)"
            case .cookie:
                let line = renewal.cookie(
                    with: renewed.token,
                    expires: renewed.expires,
                    for: uri,
                    attribute: signing.package,
                    at: now
                )
                return line.map { "Set-Cookie: \($0)" }
            }
        }

        /// Returns the outcome for a grant that is not renewed at `now`; `nil` if nothing prevents it.
        private func outcomeBeforeRenewal(of grant: any PlaybackGrant, at now: Timestamp) -> GrantRenewalOutcome? {
            if let refusal = grant.timeRefusal(at: now) { return GrantRenewalOutcome(refusal: refusal) }
            return obstacle(to: grant, at: now).map { obstacle in
                GrantRenewalOutcome(obstacle: obstacle, renewAfter: grant.renewalStart)
            }
        }

        private func obstacle(to grant: any PlaybackGrant, at now: Timestamp) -> GrantRenewalOutcome.Obstacle? {
            guard let start = grant.renewalStart, let end = grant.expires else { return .notRenewable }
            guard start <= now else { return .early }
            guard let sessionEnd = grant.sessionEnd else { return maximumSession == nil ? .noSession : nil }
            return sessionEnd <= end ? .sessionEnds : nil
        }
    }
}

/// The outcome of a renewal.
struct GrantRenewalOutcome {
    var renewed: Renewed?
    var refusal: GrantRefusal?
    var obstacle: Obstacle?
    /// The time from which on the grant is renewed.
    var renewAfter: Timestamp?

    /// A renewed grant, as text and with its times.
    struct Renewed {
        let token: String
        let json: JSON
        /// The field of an answer that hands it over, if the URL of the request is known.
        var field: String?
    }

    /// A reason why a good grant is not renewed.
    enum Obstacle: String, CaseIterable {
        case notRenewable = "not_renewable"
        case early = "too_early"
        case noSession = "no_session"
        case sessionEnds = "session_ends"
        case shortPath = "path_too_short"

        /// The reason and the next step, for people.
        var words: String {
            switch self {
            case .notRenewable:
                "It has no renewal (catr, cdnistt): start the playback again, or issue grants with --renew."
            case .early: "Its window has not begun."
            case .noSession: "It has no session that would end its renewals: bound them with --maximum-session."
            case .shortPath: "The path of --url has fewer segments than its cookie's path (cdnistd)."
            case .sessionEnds: "Its session ends with it: start the playback again."
            }
        }
    }

    var json: JSON {
        let code = refusal?.code.rawValue ?? CATIssueError.notRenewable.rawValue
        return .object([
            ("renewed", .bool(false)), ("code", .string(code)), ("claim", .optional(refusal?.claimName)),
            ("code", .optional(obstacle?.rawValue)), ("renewAfter", .time(renewAfter)),
        ])
    }

    func report(at now: Timestamp) -> String {
        if let refusal { return refusal.report(at: now) }
        let time = renewAfter.flatMap { obstacle == .early ? " It is renewed from \($0) on." : nil } ?? ""
        return "not renewed: \(CATIssueError.notRenewable.rawValue) at \(now)\n\(obstacle?.words ?? "")\(time)\n"
    }
}
