// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommandLineSupport
import Encodings
import Keys
import Platform

/// A file with keys that follow each other, as ``KeyRing`` reads it, for changes.
struct KeyRingFile {
    /// The path of the file.
    let path: String
    private(set) var entries: [JSON]
    private(set) var members: [KeyRing.Member]

    /// The name of the file in a folder.
    static let name = "keys.json"

    private static let binding = KeyBinding(issuer: "", format: .cat, rsaAlgorithm: .ps256)

    /// Reads the file at `path`, or `keys.json` in the folder at `path`.
    init(_ path: String) throws(CommandFailure) {
        let file = FileStamp("\(path)/\(Self.name)") == nil ? path : "\(path)/\(Self.name)"
        let bytes: [UInt8]
        do throws(FileFault) { bytes = try file.bytesOfFile(limit: KeySetReading.maximumSize) } catch {
            throw CommandFailure("\(file): \(error.reason)", code: "input_unreadable")
        }
        let limits = JSONLimits(depth: 6, members: 64, elements: 256)
        do throws(KeySetError) { members = try KeyRing(bytes, binding: Self.binding).members } catch {
            throw CommandFailure("\(file): \(error)", code: error.code.rawValue)
        }
        guard case .object(let set)? = try? JSONReader.read(bytes.span, limits: limits),
            case .array(let entries)? = set.first(where: { $0.name == "keys" })?.value
        else { throw CommandFailure("\(file): not a JWK Set", code: KeySetError.Code.malformed.rawValue) }
        self.path = file
        self.entries = entries
    }

    /// The role of a key at a time.
    enum Role: String {
        /// It signs, and verifies.
        case signing
        /// It will sign.
        case next
        /// It verifies its former signatures.
        case verifying
        /// It does nothing any more.
        case expired
    }

    /// Returns the role of a key. Of several keys that may sign, the one that began last does.
    func role(_ index: Int, at now: Timestamp) -> Role {
        let member = members[index]
        if let end = member.verifyUntil, end < now { return .expired }
        if let start = member.signFrom, now < start { return .next }
        return index == signer(at: now) ? .signing : .verifying
    }

    /// The index of the key that signs at `now`, as a gate finds it.
    func signer(at now: Timestamp) -> Int? {
        var found: Int?
        for (index, member) in members.enumerated() where member.key.operations.contains(.sign) {
            let start = member.signFrom ?? Timestamp(millisecondsSince1970: .min)
            if start > now || member.signUntil.map({ $0 < now }) ?? false { continue }
            if let found, members[found].signFrom ?? Timestamp(millisecondsSince1970: .min) >= start { continue }
            found = index
        }
        return found
    }

    /// Returns the set with a new key, which signs from `start` on, when the others stop. Keys that do nothing any more leave it.
    ///
    /// - Parameter life: The time for which tokens of the others are verified after their last signature.
    func rotated(
        to key: JSON,
        from start: Timestamp,
        life: Duration,
        at now: Timestamp
    ) -> (set: [JSON], removed: [KeyID]) {
        var set: [JSON] = []
        var removed: [KeyID] = []
        for (index, entry) in entries.enumerated() {
            let member = members[index]
            if role(index, at: now) == .expired {
                if let id = member.key.id { removed.append(id) }
                continue
            }
            guard member.signUntil.map({ start < $0 }) ?? true else {
                set.append(entry)
                continue
            }
            let end = start.advanced(byMilliseconds: life.milliseconds)
            set.append(
                entry.with("signUntil", time: start).with("verifyUntil", time: max(end, member.verifyUntil ?? end))
            )
        }
        return (set + [key.with("signFrom", time: start)], removed)
    }

    /// Returns the text of a set.
    static func text(_ set: [JSON]) -> [UInt8] { [UInt8]((JSON.object([("keys", .array(set))]).line + "\n").utf8) }

    /// Replaces the file with another set, at once.
    func replace(with set: [JSON]) throws(CommandFailure) {
        do throws(FileFault) { try path.replaceFile(with: Self.text(set)) } catch {
            throw CommandFailure("\(path): \(error.reason)")
        }
    }
}

extension JSON {
    /// Returns the object with a member for a time, in seconds since 1970.
    func with(_ name: String, time: Timestamp) -> JSON {
        guard case .object(let members) = self else { return self }
        let value = JSON.number(time.millisecondsSince1970 / 1000)
        return .object(members.filter { $0.name != name } + [(name: name, value: value)])
    }
}
