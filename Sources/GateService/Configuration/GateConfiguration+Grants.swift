// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import PlaybackGate

extension GateConfiguration.Grants {
    init(_ section: ConfigurationSection) {
        guard let secret = section.secret("subjectKey") else {
            if !section.has("subjectKey") {
                section.note("subjectKey", "subjectKey is missing: name a file with a secret")
            }
            return
        }
        do throws(SubjectKeyError) { subjectKey = try SubjectKey(secret: [UInt8](secret.text.utf8)) } catch {
            section.note("subjectKey", "\(error)")
        }
    }
}
