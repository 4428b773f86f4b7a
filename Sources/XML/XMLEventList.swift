// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The parser's list of events, which it fills and its users see as ``XMLEvents``.
///
/// Flat lists that retain their storage, so reading one small document after another allocates nothing.
struct XMLEventList: ~Copyable {
    private var events = GrowingBuffer<XMLEvent>(capacity: 64)
    private var bytes = GrowingBuffer<UInt8>(capacity: 1024)

    var view: XMLEvents {
        @_lifetime(borrow self)
        get { XMLEvents(list: events.span, bytes: bytes.span) }
    }

    /// The number of bytes of the names and texts.
    var byteCount: Int { bytes.count }

    mutating func removeAll() {
        events.removeAll()
        bytes.removeAll()
    }

    mutating func append(_ event: XMLEvent) { events.append(event) }

    /// Copies `source` into the list's bytes and returns its range.
    mutating func store(_ source: UnsafeBufferPointer<UInt8>) -> XMLEvent.Bytes {
        let start = UInt32(bytes.count)
        unsafe bytes.append(copying: source)
        return start..<UInt32(bytes.count)
    }

    /// Copies a piece of a CDATA section, with its line ends as line feeds (XML 1.0 §2.11). libxml2 converts them in
    /// pull mode, but not in push mode.
    ///
    /// - Parameter next: The byte after the piece, because a line end of two bytes may be in two pieces.
    mutating func storeSection(_ source: UnsafeBufferPointer<UInt8>, next: UInt8) -> XMLEvent.Bytes {
        let start = UInt32(bytes.count)
        let source = unsafe Span(_unsafeElements: source)
        let lineFeed: [1 of UInt8] = [0xA]
        var position = 0
        while let end = source.firstIndex(of: 0xD, from: position) {
            bytes.append(copying: source.extracting(position..<end))
            position = end + 1
            if (position < source.count ? source[position] : next) != 0xA { bytes.append(copying: lineFeed.span) }
        }
        bytes.append(copying: source.extracting(position...))
        return start..<UInt32(bytes.count)
    }

    /// Copies the value of an attribute. libxml2 reports every `&` in it as `&#38;`, for a tree that would parse it again.
    mutating func storeAttributeValue(_ source: UnsafeBufferPointer<UInt8>) -> XMLEvent.Bytes {
        let start = UInt32(bytes.count)
        let source = unsafe Span(_unsafeElements: source)
        var position = 0
        while let ampersand = source.firstIndex(of: UInt8(ascii: "&"), from: position) {
            bytes.append(copying: source.extracting(position...ampersand))
            position = ampersand + (source.starts(with: "&#38;", at: ampersand) ? 5 : 1)
        }
        bytes.append(copying: source.extracting(position...))
        return start..<UInt32(bytes.count)
    }
}

/// A list that retains its storage when it is emptied. An `Array` checks before each change whether it is shared, which
/// for these small elements is slower than the change.
@safe
private struct GrowingBuffer<Element>: ~Copyable {
    private var start: UnsafeMutablePointer<Element>
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        unsafe start = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    deinit {
        unsafe start.deinitialize(count: count)
        unsafe start.deallocate()
    }

    var span: Span<Element> {
        @_lifetime(borrow self)
        get { unsafe _overrideLifetime(Span(_unsafeStart: start, count: count), borrowing: self) }
    }

    mutating func removeAll() {
        unsafe start.deinitialize(count: count)
        count = 0
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        if count == capacity { grow(by: 1) }
        unsafe (start + count).initialize(to: element)
        count += 1
    }

    mutating func append(copying source: Span<Element>) {
        unsafe source.withUnsafeBufferPointer { unsafe append(copying: $0) }
    }

    @inline(__always)
    mutating func append(copying source: UnsafeBufferPointer<Element>) {
        guard let from = source.baseAddress else { return }
        if source.count > capacity - count { grow(by: source.count) }
        unsafe (start + count).initialize(from: from, count: source.count)
        count += source.count
    }

    /// Doubles the capacity at least.
    @inline(never)
    private mutating func grow(by needed: Int) {
        let larger = max(2 * capacity, count + needed)
        let new = UnsafeMutablePointer<Element>.allocate(capacity: larger)
        unsafe new.moveInitialize(from: start, count: count)
        unsafe start.deallocate()
        unsafe start = new
        capacity = larger
    }
}
