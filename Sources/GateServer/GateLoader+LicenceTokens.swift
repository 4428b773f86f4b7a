// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import EdgeListener
internal import GateConfiguration
internal import Keys
internal import Licences
internal import Platform
internal import PlaybackGate

// The issuers of tokens for licence servers, and the content that they are for.

extension GateLoader {
    /// Reads the keys, claims and documents of licence tokens. Notes all that would prevent a token at a start.
    static func licensed(by configuration: GateConfiguration, problems: ProblemList) -> LicensedEntries {
        var issuers: [String: LicenceTokenIssuer] = [:]
        for tokens in configuration.licenceTokens {
            issuers[tokens.rules.name] = issuer(of: tokens, problems: problems)
        }
        // The entries of a stream have one content.
        var made: [ConfigurationLocation: LicensedEntries.Content?] = [:]
        var contents: [Catalogue.Entry: LicensedEntries.Content] = [:]
        for (entry, settings) in configuration.catalogue.contents {
            let content = made[settings.location] ?? content(settings, by: issuers, problems: problems)
            made[settings.location] = .some(content)
            contents[entry] = content
        }
        return LicensedEntries(contents)
    }

    /// Reads a content; `nil` if there are problems.
    private static func content(
        _ settings: GateConfiguration.LicensedContent,
        by known: [String: LicenceTokenIssuer],
        problems: ProblemList
    ) -> LicensedEntries.Content? {
        let issuers = settings.tokens.compactMap { known[$0] }
        guard issuers.count == settings.tokens.count, let keys = keys(of: settings, problems: problems) else {
            return nil
        }
        var isWhole = true
        for issuer in issuers {
            do throws(LicenceTokenError) { try issuer.check(asset: settings.asset, keys: keys) } catch {
                problems.add(at: settings.location, message: "\(issuer.rules.name): \(error.reason)")
                isWhole = false
            }
        }
        return isWhole ? LicensedEntries.Content(asset: settings.asset, keys: keys, issuers: issuers) : nil
    }

    private static func issuer(
        of tokens: GateConfiguration.LicenceTokens,
        problems: ProblemList
    ) -> LicenceTokenIssuer? {
        var rules = tokens.rules
        if let file = tokens.claims {
            do throws(FileFault) { rules.claims = try file.value.bytesOfFile(limit: 64 << 10) } catch {
                problems.add(at: file.location, message: "\(file.value): \(error.reason)")
                return nil
            }
        }
        if case .doveRunner(let keys) = tokens.key {
            do throws(LicenceTokenError) { return try LicenceTokenIssuer(rules, keys: keys) } catch {
                problems.add(at: tokens.location, message: error.reason)
                return nil
            }
        }
        let binding = KeyBinding(issuer: rules.name, format: .licence)
        let key: TokenKey
        do throws(KeySetError) {
            switch tokens.key {
            case .doveRunner: return nil
            case .secret(let bytes):
                key = try TokenKey(secret: bytes, id: tokens.keyID, algorithm: tokens.algorithm, binding: binding)
            case .pem(let pem):
                key = try TokenKey(
                    pem: [UInt8](pem.text.utf8),
                    id: tokens.keyID,
                    algorithm: tokens.algorithm,
                    binding: binding
                )
            }
        } catch {
            problems.add(at: tokens.location, message: error.reason)
            return nil
        }
        do throws(LicenceTokenError) { return try LicenceTokenIssuer(rules, key: key) } catch {
            problems.add(at: tokens.location, message: error.reason)
            return nil
        }
    }

    /// Returns the content keys that a configuration names, and those of its CPIX document.
    private static func keys(
        of content: GateConfiguration.LicensedContent,
        problems: ProblemList
    ) -> ContentKeys? {
        guard let file = content.cpix else { return content.keys }
        let bytes: [UInt8]
        do throws(FileFault) { bytes = try file.value.bytesOfFile(limit: CPIXDocument.maximumSize) } catch {
            problems.add(at: file.location, message: "\(file.value): \(error.reason)")
            return nil
        }
        do throws(CPIXError) { return ContentKeys(content.keys.tracks + (try CPIXDocument(bytes)).keys.tracks) } catch {
            problems.add(at: file.location, message: "\(file.value): \(error)")
            return nil
        }
    }
}
