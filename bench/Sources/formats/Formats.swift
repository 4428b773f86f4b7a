// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import Foundation
import Keys

/// The work of one contender in one row of `bench/formats`.
struct Work {
    /// The row and the contender, such as `uri-hs256 playgate`.
    let name: String
    /// The work, any number of times.
    let body: (Int) -> Void

    init(_ row: String, contender: String, body: @escaping (Int) -> Void) {
        name = "\(row) \(contender)"
        self.body = body
    }

    /// Returns the nanoseconds of processor time that the work takes.
    func measured(_ seconds: Double) -> Double {
        var count = 1
        while time(count) < 2_000_000 { count *= 2 }
        var (used, total) = (UInt64(0), 0)
        while Double(used) < seconds * 1e9 {
            used += time(count)
            total += count
        }
        return Double(used) / Double(total)
    }

    private func time(_ count: Int) -> UInt64 {
        let start = limits_used()
        body(count)
        return limits_used() - start
    }
}

/// Playgate's part of `bench/formats`, and the bare primitives of OpenSSL.
///
/// Usage: `formats FOLDER`. Reads `secret` (32 characters), `ec.pem` (P-256) and `rsa.pem` (2048 bits) from the folder, writes
/// the tokens that others verify to it, and prints the names of its works and an empty line. Then each line that it reads,
/// `ROW CONTENDER SECONDS`, is answered with a line: the nanoseconds of processor time of one operation.
@main
enum Formats {
    /// The keys and tokens that the rows share.
    struct Material {
        let folder: String
        let secret: [UInt8]
        let ec: String
        let rsa: String
        let now: Timestamp

        func write(_ token: [UInt8], as name: String) throws {
            try Data(token).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        }
    }

    /// The expiry of all tokens.
    static func tomorrow(_ material: Material) -> Timestamp {
        Timestamp(secondsSince1970: material.now.millisecondsSince1970 / 1000 + 86_400)
    }

    static func main() throws {
        guard CommandLine.arguments.count == 2 else { fatalError("see the usage in the source") }
        let folder = CommandLine.arguments[1]
        let read = { (name: String) in [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))) }
        let material = Material(
            folder: folder,
            secret: try read("secret"),
            ec: String(decoding: try read("ec.pem"), as: UTF8.self),
            rsa: String(decoding: try read("rsa.pem"), as: UTF8.self),
            now: .now()
        )
        let works = try tokens(material) + vendors(material)
        for work in works { print(work.name) }
        print()
        fflush(nil)
        while let line = readLine() {
            let words = line.split(separator: " ")
            guard words.count == 3, let seconds = Double(words[2]),
                let work = works.first(where: { $0.name == "\(words[0]) \(words[1])" })
            else { fatalError("no such work: \(line)") }
            print(work.measured(seconds))
            fflush(nil)
        }
    }
}
