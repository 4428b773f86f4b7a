// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import EdgeTokens
import Encodings
import MediaResources

/// The options for the resource of a new grant, which the gates of the issuer compare with their catalogues.
struct GrantProtectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The gates' subject key; without it they open nothing by the grant.", valueName: "file"),
        completion: .file()
    )
    var subjectKey: String?

    @Option(help: ArgumentHelp("The requestor of the entries that the grant opens.", valueName: "id"))
    var requestor: String?

    @Option(help: ArgumentHelp("The resource of the entries that the grant opens.", valueName: "text"))
    var resource: String?

    @Option(help: ArgumentHelp("The profile by which gates renew the grant.", valueName: "name"))
    var profile: String?

    func validate() throws {
        let given = [subjectKey, requestor, resource].compactMap(\.self)
        guard given.isEmpty || given.count == 3 else {
            throw ValidationError("--subject-key, --requestor and --resource belong together")
        }
        if let requestor, requestor.isEmpty { throw ValidationError("--requestor is empty") }
        if let profile, !(1...32 ~= profile.utf8.count) { throw ValidationError("--profile takes 1 to 32 bytes") }
    }

    /// The tag of resource and requestor; `nil` if they are not given.
    func tag() throws(CommandFailure) -> ProtectionTag? {
        guard let subjectKey, let requestor, let resource else { return nil }
        let form: String
        do throws(ResourceError) { form = try MediaResource(resource).canonicalForm } catch {
            throw CommandFailure("--resource: \(error)", code: "resource_invalid")
        }
        let text = try InputFile.text(subjectKey)
        let line = text.split(whereSeparator: \.isWhitespace).joined()
        let bytes = Base64.decode([UInt8](line.utf8)) ?? Base64.decodeURLSafe(line)
        guard let bytes, let key = try? SubjectKey(bytes),
            let tag = key.protectionTag(requestor: requestor, resource: form)
        else {
            throw CommandFailure(
                "\(subjectKey): must be at least \(SubjectKey.minimumSize) bytes in Base64, such as grant keys writes",
                code: "subject_key_unusable"
            )
        }
        return tag
    }
}
