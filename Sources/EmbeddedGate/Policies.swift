// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import CPlaygate
internal import EdgeChecks
internal import Encodings
internal import Platform
internal import PlaybackGate

/// A parsed policy, as C programs refer to it.
final class PolicyHandle: Sendable {
    let policy: EdgeBundle

    init(_ policy: EdgeBundle) { self.policy = policy }
}

extension EdgeBundleError {
    /// The result of the function.
    private var result: Int32 {
        switch kind {
        case .document: Result.policy
        case .version: Result.version
        case .signature: Result.signature
        }
    }

    /// Writes the fault for the caller, and returns the result of the function.
    @unsafe
    func report(to error: UnsafeMutablePointer<playgate_error>?) -> Int32 {
        guard let error = unsafe error else { return result }
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
        return result
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
    unsafe open(bytes, length: length, policy: policy, error: error) { (document) throws(EdgeBundleError) in
        try EdgeBundle(document, at: Timestamp(millisecondsSince1970: now))
    }
}

/// See `playgate_signed.h`.
@c @implementation
public func playgate_policy_open_signed(
    _ bytes: UnsafePointer<CChar>?,
    _ length: Int,
    _ trust: UnsafePointer<CChar>?,
    _ trustLength: Int,
    _ now: Int64,
    _ policy: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<playgate_error>?
) -> Int32 {
    unsafe clear(error)
    if let policy = unsafe policy { unsafe policy.pointee = nil }
    // One byte more than a set may have, so that a longer one is refused as too large.
    let slice = unsafe playgate_slice(bytes: trust, length: max(trustLength, 0))
    guard let keys = unsafe slice.buffer(limit: Limits.text + 1), !keys.isEmpty else { return Result.argument }
    let signers: PolicySigners
    do throws(EdgeBundleError) { signers = try unsafe PolicySigners([UInt8](keys)) } catch let fault {
        _ = unsafe fault.report(to: error)
        return Result.argument
    }
    return unsafe open(bytes, length: length, policy: policy, error: error) { (document) throws(EdgeBundleError) in
        try EdgeBundle(signed: document, by: signers, at: Timestamp(millisecondsSince1970: now))
    }
}

/// Makes a policy for a caller from the result of `read` on its memory.
@unsafe
private func open(
    _ bytes: UnsafePointer<CChar>?,
    length: Int,
    policy: UnsafeMutablePointer<OpaquePointer?>?,
    error: UnsafeMutablePointer<playgate_error>?,
    read: (Span<UInt8>) throws(EdgeBundleError) -> EdgeBundle
) -> Int32 {
    unsafe clear(error)
    guard let policy = unsafe policy else { return Result.argument }
    unsafe policy.pointee = nil
    guard let bytes = unsafe bytes, length > 0 else { return Result.argument }
    guard length <= EdgeBundle.maximumSize else {
        return unsafe EdgeBundleError("a policy must have at most 256 MiB").report(to: error)
    }
    let start = unsafe UnsafeRawPointer(bytes).assumingMemoryBound(to: UInt8.self)
    let document = unsafe UnsafeBufferPointer(start: start, count: length)
    do throws(EdgeBundleError) {
        unsafe policy.pointee = Handle.make(PolicyHandle(try read(document.span)))
        return Result.ok
    } catch let fault {
        return unsafe fault.report(to: error)
    }
}

/// See `playgate.h`.
@c @implementation
public func playgate_policy_retain(_ policy: OpaquePointer?) -> OpaquePointer? {
    unsafe Handle.retain(policy, as: PolicyHandle.self)
    return unsafe policy
}

/// See `playgate.h`.
@c @implementation
public func playgate_policy_release(_ policy: OpaquePointer?) { unsafe Handle.release(policy, as: PolicyHandle.self) }

/// See `playgate.h`.
@c @implementation
public func playgate_policy_issued(_ policy: OpaquePointer?) -> Int64 {
    unsafe Handle.object(of: policy, as: PolicyHandle.self)?.policy.issued.millisecondsSince1970 ?? 0
}

/// See `playgate.h`.
@c @implementation
public func playgate_policy_good_for(_ policy: OpaquePointer?) -> Int64 {
    unsafe Handle.object(of: policy, as: PolicyHandle.self)?.policy.goodFor.milliseconds ?? 0
}

/// See `playgate.h`.
@c @implementation
public func playgate_policy_has_profile(_ policy: OpaquePointer?, _ name: playgate_slice) -> Int32 {
    let name = unsafe String(name.text)
    let profiles = unsafe Handle.object(of: policy, as: PolicyHandle.self)?.policy.grants?.profiles ?? []
    return profiles.contains { $0.name.hasSameBytes(as: name) } ? 1 : 0
}

/// See `playgate.h`.
@c @implementation
public func playgate_policy_has_media(_ policy: OpaquePointer?, _ media: playgate_slice) -> Int32 {
    let entry = unsafe Handle.object(of: policy, as: PolicyHandle.self)?.policy.catalogue.entry(
        media: String(media.text)
    )
    return entry == nil ? 0 : 1
}
