// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The span of a caller: 64 bits, and the caller's wish to have the trace recorded.
///
/// Source: W3C Trace Context, §3.2.2.4 and §3.2.2.5.1.
public struct TraceParent: Hashable, Sendable {
    /// The id of the span; 0 for none.
    public let span: UInt64
    /// True if the caller may have recorded the trace.
    public let isSampled: Bool

    /// Creates a reference to a span.
    public init(span: UInt64, isSampled: Bool) {
        self.span = span
        self.isSampled = isSampled
    }

    /// The parent of a request without one.
    public static let none = TraceParent(span: 0, isSampled: false)
}
