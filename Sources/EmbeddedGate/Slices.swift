// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CPlaygate
internal import Encodings

/// The results of functions, as `playgate.h` numbers them.
enum Result {
    static let ok = Int32(PLAYGATE_OK)
    static let argument = Int32(PLAYGATE_E_ARGUMENT)
    static let policy = Int32(PLAYGATE_E_POLICY)
    static let fork = Int32(PLAYGATE_E_FORK)
    static let internalFault = Int32(PLAYGATE_E_INTERNAL)
    static let version = Int32(PLAYGATE_E_VERSION)
    static let buffer = Int32(PLAYGATE_E_BUFFER)
    static let signature = Int32(PLAYGATE_E_SIGNATURE)
}

/// The limits of a caller's input.
enum Limits {
    /// The most bytes of a text that are read. Everything longer is too large for all readers behind it.
    static let text = 65_536
    /// The most tokens, and the most grants, of a request.
    static let credentials = 64
    /// The most header fields of a request.
    static let headers = 4096
}

extension playgate_slice {
    /// True if the length is negative, or is positive without memory.
    var isBroken: Bool { unsafe length < 0 || bytes == nil && length > 0 }

    /// The bytes, at most `limit` of them; `nil` if there is no memory for them.
    @unsafe
    func buffer(limit: Int = Limits.text) -> UnsafeBufferPointer<UInt8>? {
        guard unsafe length > 0 else { return unsafe UnsafeBufferPointer(start: nil, count: 0) }
        guard let bytes = unsafe bytes else { return nil }
        let start = unsafe UnsafeRawPointer(bytes).assumingMemoryBound(to: UInt8.self)
        return unsafe UnsafeBufferPointer(start: start, count: min(length, limit))
    }

    /// The text, with U+FFFD instead of bytes that are no UTF-8, as the service reads it; empty if there is no memory
    /// for it.
    var text: Substring {
        guard let buffer = unsafe buffer(), !buffer.isEmpty else { return Substring() }
        return unsafe Substring(String(decoding: buffer, as: UTF8.self))
    }

    /// The text. No new text is created if it is the usual one.
    func text(usually usual: String) -> Substring {
        let isUsual = unsafe buffer().map { unsafe $0.span.hasSameBytes(as: usual.utf8.span) } ?? false
        return isUsual ? usual[...] : unsafe text
    }

    /// A copy of the bytes; empty if there is no memory for them.
    var array: [UInt8] {
        guard let buffer = unsafe buffer() else { return [] }
        return unsafe [UInt8](buffer)
    }
}

/// Calls `body` with a copy of an older caller's structure, in which members that it has no memory for are zero.
///
/// - Parameters:
///   - structure: The structure, which begins with its size.
///   - size: That size, in bytes: at least that of the first version.
///   - empty: A structure of zeros.
@unsafe
@inline(never)
func withWhole<Structure, Value>(
    _ structure: UnsafePointer<Structure>,
    size: UInt32,
    empty: @autoclosure () -> Structure,
    body: (UnsafePointer<Structure>) -> Value
) -> Value {
    var copy = empty()
    unsafe withUnsafeMutableBytes(of: &copy) { bytes in
        let count = min(Int(size), MemoryLayout<Structure>.size)
        unsafe bytes.copyMemory(from: UnsafeRawBufferPointer(start: structure, count: count))
    }
    return unsafe withUnsafePointer(to: copy, body)
}

/// Calls `body` with a whole answer, and copies the members that an older caller has memory for.
///
/// - Parameters:
///   - answer: The answer.
///   - size: Its size, in bytes: at least that of the first version.
@unsafe
@inline(never)
func withWhole(
    _ answer: UnsafeMutablePointer<playgate_answer>,
    size: UInt32,
    body: (UnsafeMutablePointer<playgate_answer>) -> Int32
) -> Int32 {
    var whole = unsafe playgate_answer()
    unsafe (whole.size, whole.buffer, whole.capacity) = (
        UInt32(MemoryLayout<playgate_answer>.size), answer.pointee.buffer, answer.pointee.capacity
    )
    let result = unsafe withUnsafeMutablePointer(to: &whole, body)
    unsafe whole.size = size
    unsafe withUnsafeBytes(of: &whole) { bytes in
        unsafe UnsafeMutableRawPointer(answer).copyMemory(
            from: bytes.baseAddress.unsafelyUnwrapped,
            byteCount: min(Int(size), bytes.count)
        )
    }
    return result
}

/// A writer of texts into the memory of a caller.
@unsafe
struct TextBuffer {
    private let start: UnsafeMutablePointer<CChar>?
    private var room: Int
    private var used = 0
    /// True if a text had no room.
    private(set) var isTruncated = false

    init(_ start: UnsafeMutablePointer<CChar>?, capacity: Int) {
        unsafe self.start = start
        unsafe room = unsafe start == nil ? 0 : max(capacity, 0)
    }

    /// Copies bytes; an empty slice if they have no room.
    mutating func write(_ bytes: Span<UInt8>) -> playgate_slice {
        guard !bytes.isEmpty else { return unsafe playgate_slice() }
        guard let start = unsafe start, unsafe bytes.count <= room else {
            unsafe isTruncated = true
            return unsafe playgate_slice()
        }
        let destination = unsafe start + used
        unsafe bytes.withUnsafeBytes { source in
            guard let from = source.baseAddress else { return }
            unsafe UnsafeMutableRawPointer(destination).copyMemory(from: from, byteCount: source.count)
        }
        unsafe used += bytes.count
        unsafe room -= bytes.count
        return unsafe playgate_slice(bytes: UnsafePointer(destination), length: bytes.count)
    }

    /// Copies a text.
    mutating func write(_ text: String) -> playgate_slice { unsafe write(text.utf8.span) }
}

/// A reference of a C program to an object.
enum Handle {
    /// Returns a new reference.
    static func make(_ object: some AnyObject) -> OpaquePointer {
        unsafe OpaquePointer(Unmanaged.passRetained(object).toOpaque())
    }

    /// Returns the object of a reference; `nil` for null.
    @unsafe
    static func object<Object: AnyObject>(of handle: OpaquePointer?, as type: Object.Type = Object.self) -> Object? {
        guard let handle = unsafe handle else { return nil }
        return unsafe Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
    }

    /// Adds a reference.
    @unsafe
    static func retain<Object: AnyObject>(_ handle: OpaquePointer?, as type: Object.Type) {
        guard let handle = unsafe handle else { return }
        _ = unsafe Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).retain()
    }

    /// Gives a reference up.
    @unsafe
    static func release<Object: AnyObject>(_ handle: OpaquePointer?, as type: Object.Type) {
        guard let handle = unsafe handle else { return }
        unsafe Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).release()
    }
}
