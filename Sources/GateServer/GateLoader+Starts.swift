// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import AccessTokens
internal import ConfigurationReading
internal import GateConfiguration
package import KeySources
package import Keys
internal import Platform
package import PlaybackGate
internal import TokenIntrospection

// The keys of identity providers, and the verifier of their tokens.

extension GateLoader {
    /// The parts of a starter that a configuration describes.
    package struct StartParts: Sendable {
        package let issuers: [AccessTokenIssuer]
        /// The keys of files.
        let keys: [TokenKey]
        /// The key sets to fetch.
        package let remotes: [KeySetKeeper.Remote]
        /// The server that knows opaque tokens; `nil` for none.
        let introspector: HTTPSTokenIntrospector?

        /// Returns the verifier with the keys of fetched sets.
        package func verifier(with fetched: [TokenKey]) -> AccessTokenVerifier? {
            try? AccessTokenVerifier(issuers, keys: keys + fetched)
        }

        /// Fetches the key sets once. Returns their keys, and the faults of those that cannot be had.
        package func fetchedKeys() async -> (keys: [TokenKey], faults: [(issuer: String, fault: KeySetFault)]) {
            var (keys, faults): ([TokenKey], [(issuer: String, fault: KeySetFault)]) = ([], [])
            for remote in remotes {
                let binding = remote.configuration.binding
                var state = KeySetState(binding: binding, rules: remote.configuration.rules)
                let answer = await remote.completeFetcher.fetch(KeySetRequest(remote.configuration.address))
                let outcome = state.finish(answer, at: .now(), spread: 0)
                if case .failed(let fault) = outcome { faults.append((binding.issuer, fault)) }
                keys += state.keys
            }
            return (keys, faults)
        }

        /// Verifies a token as a gate does at a start, but consumes nothing.
        package func verify(
            _ token: String,
            by verifier: AccessTokenVerifier,
            for resource: MediaResource,
            at now: Timestamp
        ) async -> AccessTokenVerification {
            let isJWT = token.utf8.count { $0 == UInt8(ascii: ".") } >= 2 && token.hasPrefix("ey")
            guard !isJWT, let introspector else { return verifier.verify(token.utf8.span, for: resource, at: now) }
            guard let answer = await introspector.introspect(token[...], at: now) else {
                return .refused(.introspectionUnavailable, provider: nil)
            }
            return verifier.verify(
                introspection: answer.body,
                of: token.utf8.span,
                by: answer.issuer,
                for: resource,
                at: now
            )
        }

        /// Creates a starter.
        package func starter(keySets: KeySetKeeper) -> PlaybackStarter? {
            verifier(with: keySets.keys).map { verifier in
                PlaybackStarter(
                    verifier,
                    introspector: introspector,
                    askForKey: { keySets.ask(for: $0, of: { $0 == .accessToken }, at: $1) }
                )
            }
        }
    }

    /// Reads the keys of identity providers. Returns `nil` if there are none.
    static func starts(
        from configuration: GateConfiguration,
        problems: ProblemList,
        warnings: inout [String]
    ) -> StartParts? {
        guard !configuration.starts.isEmpty else { return nil }
        var (keys, remotes): ([TokenKey], [KeySetKeeper.Remote]) = ([], [])
        var introspector: HTTPSTokenIntrospector?
        for start in configuration.starts {
            keys += Self.keys(of: start, problems: problems, warnings: &warnings)
            if let set = start.remote {
                let folder = configuration.keySetFolder
                remotes += [remote(set, binding: start.issuer.binding, folder: folder, problems: problems)]
                    .compactMap(\.self)
                if let warning = set.warning { warnings.append(warning) }
            }
            if start.introspection != nil { introspector = Self.introspector(of: start, problems: problems) }
        }
        return StartParts(
            issuers: configuration.starts.map(\.issuer),
            keys: keys,
            remotes: remotes,
            introspector: introspector
        )
    }

    private static func keys(
        of start: GateConfiguration.Start,
        problems: ProblemList,
        warnings: inout [String]
    ) -> [TokenKey] {
        guard let file = start.keySet else { return [] }
        do {
            let bytes = try file.value.bytesOfFile(limit: KeySetReading.maximumSize)
            let set = try KeySetReading(bytes, source: .published, binding: start.issuer.binding)
            warnings += set.skipped.map { "\(file.value): key \($0.index + 1) is not used: \($0.reason)" }
            return set.keys
        } catch {
            let reason = (error as? FileFault)?.reason ?? "\(error)"
            problems.add(at: file.location, message: "\(file.value): \(reason)")
            return []
        }
    }

    private static func introspector(
        of start: GateConfiguration.Start,
        problems: ProblemList
    ) -> HTTPSTokenIntrospector? {
        guard let settings = start.introspection else { return nil }
        do {
            let server = IntrospectionServer(
                issuer: start.issuer.identifier,
                address: settings.address,
                client: settings.client,
                secret: settings.secret.text,
                authorities: try settings.authorities.map { try $0.value.bytesOfFile(limit: 1 << 20) },
                deadline: settings.deadline,
                life: settings.life
            )
            return try HTTPSTokenIntrospector(server)
        } catch {
            let reason = (error as? FileFault)?.reason ?? "\(error)"
            let file = settings.authorities
            problems.add(at: file?.location ?? start.location, message: "\(file?.value ?? ""): \(reason)")
            return nil
        }
    }
}
