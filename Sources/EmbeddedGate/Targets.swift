// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import CPlaygate
internal import Encodings
internal import RequestTargets

/// See `playgate_target.h`.
@c @implementation
public func playgate_target_cut(
    _ rules: UnsafePointer<playgate_target_rules>?,
    _ target: playgate_slice,
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ capacity: Int,
    _ cut: UnsafeMutablePointer<playgate_cut>?
) -> Int32 {
    guard let cut = unsafe cut, unsafe cut.pointee.size >= UInt32(PLAYGATE_CUT_SIZE_1) else {
        return Result.argument
    }
    let size = unsafe cut.pointee.size
    unsafe cut.pointee = playgate_cut()
    unsafe cut.pointee.size = size
    guard let rules = unsafe rules, let names = unsafe ParsedTarget.TokenNames(rules.pointee), unsafe !target.isBroken,
        unsafe target.length <= ParsedTarget.maximumSize
    else { return Result.argument }
    let text = unsafe target.text
    guard let whole = ParsedTarget(text, tokens: names) else { return Result.argument }
    let found = names.values(of: whole)
    guard found.count <= 16 else { return Result.argument }
    let rest = whole.text(hiding: names.parameters)
    if whole.isAmbiguous { unsafe cut.pointee.flags = UInt32(PLAYGATE_REQUEST_AMBIGUOUS) }
    if unsafe rest.utf8.count == target.length {
        unsafe cut.pointee.target = target
    } else {
        var copy = unsafe TextBuffer(buffer, capacity: capacity)
        unsafe cut.pointee.target = copy.write(rest.utf8.span)
        guard unsafe !copy.isTruncated else { return Result.buffer }
    }
    unsafe cut.pointee.found_count = UInt32(found.count)
    unsafe withUnsafeMutablePointer(to: &cut.pointee.found) { list in
        unsafe list.withMemoryRebound(to: playgate_found.self, capacity: 16) { list in
            for (index, value) in found.enumerated() {
                unsafe list[index].value = target.slice(of: value.text, in: text, isCut: !whole.packages.isEmpty)
                unsafe list[index].rule = UInt32(value.rule)
            }
        }
    }
    return Result.ok
}

extension ParsedTarget.TokenNames {
    /// The most names and prefixes.
    private static let maximum = 32

    /// Copies the rules; `nil` if they have a length without memory, too much memory, or an empty name.
    fileprivate init?(_ rules: playgate_target_rules) {
        let (first, second) = unsafe (Int(rules.parameter_count), Int(rules.segment_count))
        let counts = 0...Self.maximum
        guard unsafe rules.size >= UInt32(PLAYGATE_TARGET_RULES_SIZE_1), counts ~= first, counts ~= second,
            first + second <= Self.maximum,
            unsafe first == 0 || rules.parameters != nil, unsafe second == 0 || rules.segments != nil,
            unsafe !rules.package.isBroken
        else { return nil }
        let parameters = (0..<first).compactMap { unsafe rules.parameters?[$0].text }.map { String($0) }
        let segments = (0..<second).compactMap { unsafe rules.segments?[$0].text }.map { String($0) }
        guard !parameters.contains(""), !segments.contains("") else { return nil }
        let name = unsafe String(rules.package.text)
        let package = name.isEmpty ? nil : PackageAttribute(name)
        guard name.isEmpty || package != nil else { return nil }
        self.init(parameters: parameters, segments: segments, package: package)
    }

    /// Returns the values in a target, with the numbers of their rules.
    fileprivate func values(of target: ParsedTarget) -> [(text: Substring, rule: Int)] {
        var values: [(text: Substring, rule: Int)] = []
        for (rule, name) in parameters.enumerated() {
            target.forEachValue(parameter: name) { values.append(($0, rule)) }
        }
        for (rule, prefix) in segments.enumerated() {
            target.forEachValue(segment: prefix) { values.append(($0, parameters.count + rule)) }
        }
        for package in target.packages { values.append((package, parameters.count + segments.count)) }
        return values
    }
}

extension playgate_slice {
    /// Returns the part of this slice that a value of its target is.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - text: The text of this slice.
    ///   - isCut: True if the value may be of another text, from which packages were cut: it is searched for then.
    fileprivate func slice(of value: Substring, in text: Substring, isCut: Bool) -> playgate_slice {
        guard let start = unsafe bytes, !value.utf8.isEmpty else { return unsafe playgate_slice() }
        let length = value.utf8.count
        guard isCut else {
            let offset = text.utf8.distance(from: text.startIndex, to: value.startIndex)
            return unsafe playgate_slice(bytes: start + offset, length: length)
        }
        guard let offset = text.utf8.span.firstPosition(of: value.utf8.span) else { return unsafe playgate_slice() }
        return unsafe playgate_slice(bytes: start + offset, length: length)
    }
}
