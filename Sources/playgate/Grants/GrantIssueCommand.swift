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
    struct Issue: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "issue",
            abstract: "Issue a grant for a folder of a content delivery network.",
            discussion: """
                Prints the grant, or with --json the grant and its times in milliseconds since 1970. The gate issues grants \
                at the start of playbacks; this command is for tests, staging, and backends of one's own.

                  playgate grant issue --keys keys.json --kid pg-2026-11 \\
                    --issuer playgate --host cdn.example --scope /live/tnt/ \\
                    --session 12h --renew cookie > grant.txt

                With --format for a vendor's edge, prints the token in every carrier of that format. docs/reference/vendors.md has the \
                settings of each.

                  playgate grant issue --format edgeauth --secret akamai.hex --scope /live/tnt/ \
                    --set name=hdntl --session-id s-1
                """
        )

        @Option(help: "The format of the grant.")
        var format = GrantFormatName.cat

        @Option(
            help: ArgumentHelp("A key set with a key that signs; playgate grant keys makes one.", valueName: "file"),
            completion: .file()
        )
        var keys = ""

        @Option(help: ArgumentHelp("The id of the key to sign with.", valueName: "id"))
        var kid = ""

        @Option(help: ArgumentHelp("The issuer that the grant names.", valueName: "name"))
        var issuer = ""

        @OptionGroup(title: "Restrictions")
        var restrictions: GrantRestrictionOptions

        @OptionGroup(title: "Gates of the issuer")
        var protection: GrantProtectionOptions

        @OptionGroup(title: "Signed URIs (--format uri-signing)")
        var signing: SignedURIIssueOptions

        @OptionGroup(title: "Vendors' formats")
        var vendor: GrantVendorOptions

        @OptionGroup(title: "Vendors' formats: scope")
        var vendorScope: GrantVendorScopeOptions

        @Option(help: ArgumentHelp("The life of the grant.", valueName: "duration"))
        var life = DurationArgument(milliseconds: 300_000)

        @Option(
            help: ArgumentHelp(
                "The length of a new playback session. The grant and its renewals end with it; none by default.",
                valueName: "duration"
            )
        )
        var session: DurationArgument?

        @Option(help: "The way in which a renewed grant reaches the player.")
        var renew = RenewalArgument.none

        @Option(
            help: ArgumentHelp(
                "The window before the end of the life in which the grant is renewed; two fifths of the life by default.",
                valueName: "duration"
            )
        )
        var deadline: DurationArgument?

        @Option(help: ArgumentHelp("The time of issue, \(TimeArgument.help); now by default.", valueName: "time"))
        var at: TimeArgument?

        @Flag(help: "Print a JSON object.")
        var json = false

        var answersInJSON: Bool { json }

        func validate() throws {
            try validateFormat()
            guard format.vendor != nil || 1...256 ~= issuer.utf8.count else {
                throw ValidationError("--issuer takes 1 to 256 bytes")
            }
            try validateTimes()
            guard format != .uriSigning else { return try validateSignedURI() }
            try restrictions.validateInClear()
            if renew == .query { throw ValidationError("--renew query is for --format uri-signing") }
            if signing.exact != nil || signing.sign != nil {
                throw ValidationError("--exact and --sign are for --format uri-signing")
            }
        }

        private func validateTimes() throws {
            guard 1000...2_592_000_000 ~= life.milliseconds else { throw ValidationError("--life takes 1s to 30d") }
            if let session, session.milliseconds > GrantLimits.longest {
                throw ValidationError("--session takes at most 366d")
            }
            if let at, !GrantLimits.times.contains(at.time) {
                throw ValidationError("--at takes a time from 1970 to 9999")
            }
            if let session, session.milliseconds < life.milliseconds {
                throw ValidationError("--session is shorter than --life: the session ends first")
            }
            guard let deadline else { return }
            guard renew != .none else { throw ValidationError("--deadline requires --renew") }
            guard 1000..<life.milliseconds ~= deadline.milliseconds else {
                throw ValidationError("--deadline takes 1s to less than --life: a grant is renewed within its life")
            }
        }

        func run() throws {
            if let vendor = format.vendor { return try runVendor(vendor) }
            let key = try GrantKeySet(keys, for: format).signingKey(kid, of: issuer)
            let now = at?.time ?? .now()
            guard format == .cat else {
                let issued = try issuedSignedURI(by: key, at: now)
                warnOfMissingSession()
                let text = signing.sign.map { signing.signed($0, with: issued.token) } ?? issued.token
                Terminal.output.write(json ? issued.json(restrictions.scopeURL).line + "\n" : text + "\n")
                return
            }
            let issued = try issued(by: key, at: now)
            if issued.token.utf8.count > 1000 {
                Terminal.error.write(
                    "The grant has \(issued.token.utf8.count) characters; some networks take 1,000 at most.\n"
                )
            }
            warnOfMissingSession()
            Terminal.output.write(json ? issued.json(restrictions.scopeURL).line + "\n" : issued.token + "\n")
        }

        private func warnOfMissingSession() {
            guard renew != .none, session == nil else { return }
            Terminal.error.write(
                "Without --session, only an edge that allows a maximum session renews the grant.\n"
            )
        }

        private func issued(by key: TokenKey, at now: Timestamp) throws(CommandFailure) -> IssuedCAT {
            var claims = CATClaims()
            claims.issued = now.wholeSeconds
            claims.notBefore = now.wholeSeconds
            claims.expires = now.wholeSeconds.advanced(byMilliseconds: life.milliseconds / 1000 * 1000)
            restrictions.restrict(&claims)
            claims.renewal = renewal
            claims.protection = try protection.tag()
            claims.profile = protection.profile
            do throws(CATIssueError) {
                if let session {
                    guard let id = SessionID(hexadecimal: try CATIssuer.randomIdentifier().hexadecimal) else {
                        throw .random
                    }
                    let end = now.wholeSeconds.advanced(byMilliseconds: session.milliseconds)
                    claims.session = PlaybackSession(id: id, end: end, revocation: nil)
                }
                return try CATIssuer(key: key).issue(claims)
            } catch { throw CommandFailure(error.words, code: error.rawValue) }
        }

        private var renewal: CATRenewal? {
            guard let delivery = renew.delivery else { return nil }
            let seconds = life.milliseconds / 1000
            let deadline = deadline.map { $0.milliseconds / 1000 } ?? max(1, seconds * 2 / 5)
            var renewal = CATRenewal(delivery, life: Int(seconds), deadline: Int(deadline))
            // With only a header, no cookie is needed.
            if delivery != .header {
                renewal.cookieAttributes = ["Path=\(restrictions.scope ?? "/")"] + SetCookie.anySite
            }
            return renewal
        }
    }
}

/// A way in which a renewed grant reaches the player, or none.
enum RenewalArgument: String, ExpressibleByArgument, CaseIterable {
    case cookie, header, automatic, query, none

    /// The way in a signed URI; `nil` for none.
    var transport: URISigningRenewal.Transport? {
        switch self {
        case .cookie: .cookie
        case .query: .query
        case .header, .automatic, .none: nil
        }
    }

    var delivery: CATRenewal.Delivery? {
        switch self {
        case .cookie: .cookie
        case .header: .header
        case .automatic: .automatic
        case .query, .none: nil
        }
    }
}

extension Timestamp {
    /// The time without its fraction of a second, as in tokens.
    var wholeSeconds: Timestamp {
        advanced(byMilliseconds: -(((millisecondsSince1970 % 1000) + 1000) % 1000))
    }
}

extension GrantKeySet {
    /// Returns the key of an issuer with an identifier that signs.
    func signingKey(_ id: String, of issuer: String) throws(CommandFailure) -> TokenKey {
        let found = try keys(of: issuer).keys.filter { $0.id?.bytes == [UInt8](id.utf8) }
        if let key = found.first(where: { $0.operations.contains(.sign) }) { return key }
        let hint =
            found.isEmpty
            ? "is not in the key set: give the kid of one of its keys with --kid"
            : "is a public key: give the key set with its private part"
        throw CommandFailure("key \(id.printable(limit: 64)) \(hint)", code: CATIssueError.key.rawValue)
    }
}

extension CATIssueError {
    /// The problem and its remedy, for people.
    var words: String {
        switch self {
        case .key: "the key does not sign, or not for COSE: RS256 keys sign no grants"
        case .issuer: "the grant is of another issuer than the key"
        case .random: "the system gives no random bytes"
        case .claims: "the restrictions are too many or contradict each other"
        case .scope: "--scope takes a path that begins and ends with / in its normal form, such as /live/a%20b/"
        case .precision: "an address prefix is longer than /24 or /56, which identifies the viewer"
        case .size: "the grant would have more than 4,096 bytes: give fewer restrictions"
        case .notRenewable: "the grant cannot be renewed"
        @unknown default: "the grant cannot be issued"
        }
    }
}

extension IssuedCAT {
    /// The grant and its times.
    func json(_ scope: String?) -> JSON {
        .object([
            ("format", .string(GrantFormatName.cat.rawValue)), ("token", .string(token)),
            ("expires", .time(expires)),
            ("renewAfter", .time(renewalStart)), ("sessionEnds", .time(session?.end)),
            ("session", .optional(session?.id.hexadecimal)), ("id", .string(identifier.hexadecimal)),
            ("scope", .array(scope.map { [.string($0)] } ?? [])),
        ])
    }
}
