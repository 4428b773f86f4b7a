// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import Encodings

extension Target {
    /// JSON: a parsed value is written on one line that parses as the same value and is written identically again.
    static let json = Target(name: "json") { input in
        let limits = JSONLimits(depth: 8, members: 32, elements: 128)
        guard let value = try? JSONReader.read(input.bytes.span, limits: limits) else { return }
        // A number that is not kept cannot be written.
        guard value.isWritable else { return }
        let line = [UInt8](value.line.utf8)
        demand(line.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, or: "a control character in \(line.debugText)")
        guard let again = try? JSONReader.read(line.span, limits: limits) else {
            return demand(false, or: "what was written is not read: \(line.debugText)")
        }
        demand(again == value, or: "what was written says something else: \(line.debugText)")
        demand(again.line.utf8.elementsEqual(line), or: "written again: \(line.debugText)")
    }
}

extension JSON {
    fileprivate var isWritable: Bool {
        switch self {
        case .null, .bool, .number, .string: true
        case .otherNumber: false
        case .array(let values): values.allSatisfy(\.isWritable)
        case .object(let members): members.allSatisfy(\.value.isWritable)
        }
    }
}
