// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import CPlaygate
internal import EdgeChecks
internal import Encodings
internal import MediaResources
internal import Platform
internal import PlaybackGate

/// See `playgate.h`.
@c @implementation
public func playgate_location_create(
    _ rules: UnsafePointer<playgate_location_rules>?,
    _ location: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<playgate_error>?
) -> Int32 {
    unsafe clear(error)
    guard let location = unsafe location else { return Result.argument }
    unsafe location.pointee = nil
    guard let rules = unsafe rules, unsafe rules.pointee.size >= UInt32(PLAYGATE_LOCATION_RULES_SIZE_1) else {
        return Result.argument
    }
    do throws(EdgeBundleError) {
        unsafe location.pointee = Handle.make(try unsafe EdgeLocation(rules.pointee))
        return Result.ok
    } catch let fault {
        _ = unsafe fault.report(to: error)
        return Result.argument
    }
}

extension EdgeLocation {
    fileprivate convenience init(_ rules: playgate_location_rules) throws(EdgeBundleError) {
        guard
            unsafe !rules.media.isBroken && !rules.resource.isBroken && !rules.requestor.isBroken
                && !rules.profile.isBroken
        else { throw EdgeBundleError("a slice has no memory") }
        let texts = unsafe [rules.media.text, rules.resource.text, rules.requestor.text, rules.profile.text]
            .map { String($0) }
        let (media, resource, requestor) = (texts[0], texts[1], texts[2])
        guard let use = Catalogue.Entry.Use(number: unsafe rules.use) else { throw EdgeBundleError("use is not known") }
        guard resource.isEmpty == requestor.isEmpty, resource.isEmpty || media.isEmpty else {
            throw EdgeBundleError("give either media, or resource with requestor, or none of them")
        }
        guard use == .once || !resource.isEmpty else { throw EdgeBundleError("use is for resource alone") }
        let subject: Subject
        if !resource.isEmpty {
            do throws(ResourceError) {
                subject = .resource(try MediaResource(resource), requestor: requestor, use: use)
            } catch { throw EdgeBundleError("resource: \(error)") }
        } else {
            subject = media.isEmpty ? .path : .media(media)
        }
        self.init(subject, profile: texts[3].isEmpty ? nil : texts[3])
    }
}

extension Catalogue.Entry.Use {
    fileprivate init?(number: Int32) {
        switch Int(number) {
        case Int(PLAYGATE_USE_ONCE): self = .once
        case Int(PLAYGATE_USE_WITHIN_TTL): self = .withinTTL
        case Int(PLAYGATE_USE_GRANT): self = .grant
        default: return nil
        }
    }
}

/// See `playgate.h`.
@c @implementation
public func playgate_location_release(_ location: OpaquePointer?) {
    unsafe Handle.release(location, as: EdgeLocation.self)
}

/// See `playgate.h`.
@c @implementation
public func playgate_engine_create(
    _ policy: OpaquePointer?,
    _ engine: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<playgate_error>?
) -> Int32 {
    unsafe clear(error)
    guard let engine = unsafe engine else { return Result.argument }
    unsafe engine.pointee = nil
    guard Forks.areOver else { return Result.fork }
    guard let policy = unsafe Handle.object(of: policy, as: PolicyHandle.self) else { return Result.argument }
    do throws(EdgeBundleError) {
        unsafe engine.pointee = Handle.make(try EmbeddedChecker(policy.policy))
        return Result.ok
    } catch let fault {
        _ = unsafe fault.report(to: error)
        return Result.internalFault
    }
}

/// See `playgate.h`.
@c @implementation
public func playgate_engine_retain(_ engine: OpaquePointer?) -> OpaquePointer? {
    unsafe Handle.retain(engine, as: EmbeddedChecker.self)
    return unsafe engine
}

/// See `playgate.h`.
@c @implementation
public func playgate_engine_release(_ engine: OpaquePointer?) {
    unsafe Handle.release(engine, as: EmbeddedChecker.self)
}

/// See `playgate.h`.
@c @implementation
public func playgate_engine_replace(
    _ engine: OpaquePointer?,
    _ policy: OpaquePointer?,
    _ error: UnsafeMutablePointer<playgate_error>?
) -> Int32 {
    unsafe clear(error)
    guard Forks.areOver else { return Result.fork }
    guard let engine = unsafe Handle.object(of: engine, as: EmbeddedChecker.self),
        let policy = unsafe Handle.object(of: policy, as: PolicyHandle.self)
    else { return Result.argument }
    do throws(EdgeBundleError) {
        if try engine.replace(with: policy.policy) { return Result.ok }
        _ = unsafe EdgeBundleError("the policy in force is newer").report(to: error)
        return Result.argument
    } catch let fault {
        _ = unsafe fault.report(to: error)
        return Result.internalFault
    }
}

/// See `playgate.h`.
@c @implementation
public func playgate_engine_update(
    _ engine: OpaquePointer?,
    _ bytes: UnsafePointer<CChar>?,
    _ length: Int,
    _ now: Int64,
    _ error: UnsafeMutablePointer<playgate_error>?
) -> Int32 {
    unsafe clear(error)
    guard Forks.areOver else { return Result.fork }
    guard let engine = unsafe Handle.object(of: engine, as: EmbeddedChecker.self), let bytes = unsafe bytes,
        1...EdgeBundle.maximumSize ~= length
    else { return Result.argument }
    let start = unsafe UnsafeRawPointer(bytes).assumingMemoryBound(to: UInt8.self)
    let document = unsafe UnsafeBufferPointer(start: start, count: length)
    do throws(EdgeBundleError) {
        try unsafe engine.update(document.span, at: Timestamp(millisecondsSince1970: now))
        return Result.ok
    } catch let fault {
        return unsafe fault.report(to: error)
    }
}

/// See `playgate.h`.
@c @implementation
public func playgate_engine_confirm(_ engine: OpaquePointer?, _ now: Int64) -> Int32 {
    guard Forks.areOver else { return Result.fork }
    guard let engine = unsafe Handle.object(of: engine, as: EmbeddedChecker.self), 0...(1 << 53) ~= now else {
        return Result.argument
    }
    engine.confirm(at: Timestamp(millisecondsSince1970: now))
    return Result.ok
}

/// See `playgate.h`.
@c @implementation
public func playgate_engine_has_location(
    _ engine: OpaquePointer?,
    _ location: OpaquePointer?,
    _ error: UnsafeMutablePointer<playgate_error>?
) -> Int32 {
    unsafe clear(error)
    guard Forks.areOver else { return Result.fork }
    guard let engine = unsafe Handle.object(of: engine, as: EmbeddedChecker.self),
        let location = unsafe Handle.object(of: location, as: EdgeLocation.self)
    else { return Result.argument }
    do throws(EdgeBundleError) {
        try location.check(by: engine.policy)
        return Result.ok
    } catch let fault {
        _ = unsafe fault.report(to: error)
        return Result.argument
    }
}

/// See `playgate.h`.
@c @implementation
public func playgate_engine_fresh_until(_ engine: OpaquePointer?) -> Int64 {
    guard Forks.areOver else { return 0 }
    return unsafe Handle.object(of: engine, as: EmbeddedChecker.self)?.freshUntil.millisecondsSince1970 ?? 0
}

/// See `playgate.h`.
@c @implementation
public func playgate_engine_generation(_ engine: OpaquePointer?) -> UInt64 {
    unsafe Handle.object(of: engine, as: EmbeddedChecker.self)?.generation ?? 0
}
