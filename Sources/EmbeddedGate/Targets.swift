// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import CPlaygate
internal import EdgeTokens
internal import Encodings

/// See `playgate_target.h`.
@c @implementation
public func playgate_target_cut(
    _ rules: UnsafePointer<playgate_target_rules>?,
    _ target: playgate_slice,
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ capacity: Int,
    _ cut: UnsafeMutablePointer<playgate_cut>?
) -> Int32 {
    guard let cut = unsafe cut, unsafe cut.pointee.size >= UInt32(MemoryLayout<playgate_cut>.size) else {
        return Result.argument
    }
    let size = unsafe cut.pointee.size
    unsafe cut.pointee = playgate_cut()
    unsafe cut.pointee.size = size
    guard let rules = unsafe rules, let places = unsafe TargetPlaces(rules.pointee), unsafe !target.isBroken,
        unsafe target.length <= OriginalTarget.maximumSize,
        let whole = unsafe OriginalTarget(target.text, cutting: places.package)
    else { return Result.argument }
    let path = whole.removingSegments(places.segments)
    let found = places.values(of: whole)
    guard found.count <= 16 else { return Result.argument }
    let rest = whole.text(path: path.path, hiding: places.parameters)
    if path.isAmbiguous { unsafe cut.pointee.flags = UInt32(PLAYGATE_REQUEST_AMBIGUOUS) }
    if unsafe rest.utf8.count == target.length {
        unsafe cut.pointee.target = target
    } else {
        var text = unsafe TextBuffer(buffer, capacity: capacity)
        unsafe cut.pointee.target = text.write(rest.utf8.span)
        guard unsafe !text.isTruncated else { return Result.buffer }
    }
    unsafe cut.pointee.found_count = UInt32(found.count)
    unsafe withUnsafeMutablePointer(to: &cut.pointee.found) { list in
        unsafe list.withMemoryRebound(to: playgate_found.self, capacity: 16) { list in
            for (place, value) in found.enumerated() {
                unsafe list[place].value = target.slice(of: value.text)
                unsafe list[place].rule = UInt32(value.rule)
            }
        }
    }
    return Result.ok
}

/// The places of tokens in targets.
private struct TargetPlaces {
    let parameters: [String]
    let segments: [String]
    let package: PackageAttribute?

    /// The most names and prefixes.
    private static let maximum = 32

    /// Copies the rules; `nil` if they state memory that they have not, too much, or an empty name.
    init?(_ rules: playgate_target_rules) {
        let (first, second) = unsafe (Int(rules.parameter_count), Int(rules.segment_count))
        guard unsafe rules.size >= UInt32(MemoryLayout<playgate_target_rules>.size), first + second <= Self.maximum,
            unsafe first == 0 || rules.parameters != nil, unsafe second == 0 || rules.segments != nil,
            unsafe !rules.package.isBroken
        else { return nil }
        parameters = (0..<first).compactMap { unsafe rules.parameters?[$0].text }.map { String($0) }
        segments = (0..<second).compactMap { unsafe rules.segments?[$0].text }.map { String($0) }
        guard !parameters.contains(""), !segments.contains("") else { return nil }
        let name = unsafe String(rules.package.text)
        package = name.isEmpty ? nil : PackageAttribute(name)
        guard name.isEmpty || package != nil else { return nil }
    }

    /// Returns the values in a target, with the numbers of their rules.
    func values(of target: OriginalTarget) -> [(text: Substring, rule: Int)] {
        var values: [(text: Substring, rule: Int)] = []
        for (rule, name) in parameters.enumerated() {
            target.query?.forEachPart(of: UInt8(ascii: "&")) { pair in
                if let value = pair.after(name: name) { values.append((value, rule)) }
            }
        }
        for (rule, prefix) in segments.enumerated() {
            target.path.forEachPart(of: UInt8(ascii: "/")) { segment in
                guard segment.hasBytePrefix(prefix) else { return }
                values.append((segment.droppingBytes(prefix.utf8.count), parameters.count + rule))
            }
        }
        for package in target.packages { values.append((package, parameters.count + segments.count)) }
        return values
    }
}

extension playgate_slice {
    /// Returns the first place of a part of this slice.
    fileprivate func slice(of part: Substring) -> playgate_slice {
        guard let bytes = unsafe buffer(), let start = unsafe self.bytes, !part.utf8.isEmpty else {
            return unsafe playgate_slice()
        }
        let wanted = part.utf8.count
        for place in 0...max(0, bytes.count - wanted) where place + wanted <= bytes.count {
            let candidate = unsafe UnsafeBufferPointer(rebasing: bytes[place..<place + wanted])
            if unsafe candidate.span.hasSameBytes(as: part.utf8.span) {
                return unsafe playgate_slice(bytes: start + place, length: wanted)
            }
        }
        return unsafe playgate_slice()
    }
}
