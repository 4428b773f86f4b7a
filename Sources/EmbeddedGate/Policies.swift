// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import CPlaygate
internal import Encodings
internal import Platform
internal import PlaybackGate

/// A parsed policy, as C programs refer to it.
final class PolicyHandle: Sendable {
    let policy: PolicyDocument

    init(_ policy: PolicyDocument) { self.policy = policy }
}

extension PolicyFault {
    /// Writes the fault for the caller, and returns the result of the function.
    @unsafe
    func report(to error: UnsafeMutablePointer<playgate_error>?) -> Int32 {
        guard let error = unsafe error else { return isVersion ? Result.version : Result.policy }
        unsafe error.pointee.line = UInt32(clamping: line)
        unsafe error.pointee.column = UInt32(clamping: column)
        unsafe withUnsafeMutableBytes(of: &error.pointee.message) { memory in
            // Whole characters, and the end.
            var count = 0
            for character in message.unicodeScalars {
                let bytes = Array(String(character).utf8)
                guard count + bytes.count < memory.count else { break }
                for byte in bytes {
                    unsafe memory[count] = byte
                    count += 1
                }
            }
            unsafe memory[count] = 0
        }
        return isVersion ? Result.version : Result.policy
    }
}

/// Fills the error of a caller with zeros, which say that there is none.
@unsafe
func clear(_ error: UnsafeMutablePointer<playgate_error>?) {
    if let error = unsafe error { unsafe error.pointee = playgate_error() }
}

/// See `playgate.h`.
@c @implementation
public func playgate_abi() -> UInt32 { UInt32(PLAYGATE_ABI) }

/// See `playgate.h`.
@c @implementation
public func playgate_version() -> UnsafePointer<CChar>? {
    unsafe UnsafeRawPointer(ReleaseVersion.current.utf8Start).assumingMemoryBound(to: CChar.self)
}

/// See `playgate.h`.
@c @implementation
public func playgate_policy_open(
    _ bytes: UnsafePointer<CChar>?,
    _ length: Int,
    _ now: Int64,
    _ policy: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<playgate_error>?
) -> Int32 {
    unsafe clear(error)
    guard let policy = unsafe policy else { return Result.argument }
    unsafe policy.pointee = nil
    guard let bytes = unsafe bytes, length > 0 else { return Result.argument }
    guard length <= PolicyDocument.maximumSize else {
        return unsafe PolicyFault("a policy must have at most 256 MiB").report(to: error)
    }
    let start = unsafe UnsafeRawPointer(bytes).assumingMemoryBound(to: UInt8.self)
    let document = unsafe UnsafeBufferPointer(start: start, count: length)
    do throws(PolicyFault) {
        let read = try unsafe PolicyDocument(document.span, at: Timestamp(millisecondsSince1970: now))
        unsafe policy.pointee = Handle.make(PolicyHandle(read))
        return Result.ok
    } catch let fault {
        return unsafe fault.report(to: error)
    }
}

/// See `playgate.h`.
@c @implementation
public func playgate_policy_retain(_ policy: OpaquePointer?) -> OpaquePointer? {
    unsafe Handle.retain(policy, PolicyHandle.self)
    return unsafe policy
}

/// See `playgate.h`.
@c @implementation
public func playgate_policy_release(_ policy: OpaquePointer?) { unsafe Handle.release(policy, PolicyHandle.self) }

/// See `playgate.h`.
@c @implementation
public func playgate_policy_issued(_ policy: OpaquePointer?) -> Int64 {
    unsafe Handle.object(policy, PolicyHandle.self)?.policy.issued.millisecondsSince1970 ?? 0
}

/// See `playgate.h`.
@c @implementation
public func playgate_policy_good_for(_ policy: OpaquePointer?) -> Int64 {
    unsafe Handle.object(policy, PolicyHandle.self)?.policy.goodFor.milliseconds ?? 0
}

/// See `playgate.h`.
@c @implementation
public func playgate_policy_has_profile(_ policy: OpaquePointer?, _ name: playgate_slice) -> Int32 {
    let name = unsafe String(name.text)
    let profiles = unsafe Handle.object(policy, PolicyHandle.self)?.policy.grants?.profiles ?? []
    return profiles.contains { $0.name.hasSameBytes(as: name) } ? 1 : 0
}

/// See `playgate.h`.
@c @implementation
public func playgate_policy_has_media(_ policy: OpaquePointer?, _ media: playgate_slice) -> Int32 {
    let entry = unsafe Handle.object(policy, PolicyHandle.self)?.policy.catalogue.entry(media: String(media.text))
    return entry == nil ? 0 : 1
}
