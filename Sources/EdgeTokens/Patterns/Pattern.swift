// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Patterns
    internal import CRE2
#endif

/// A compiled POSIX extended regular expression, of bytes in the POSIX locale, that matches in linear time (RE2).
@safe
package final class Pattern: @unchecked Sendable {  // RE2 guards its own caches.
    #if Patterns
        private let pattern: OpaquePointer  // <playgate_pattern>
    #endif

    /// The largest pattern, in bytes.
    package static let maximumSize = 512
    /// The largest number of states of a compiled pattern.
    package static let maximumStateCount = 2000
    /// The largest text that is searched, in bytes.
    package static let maximumInputSize = 8 * 1024

    /// A reason to refuse a pattern.
    package enum Fault: Error {
        /// The pattern is longer, repeats more often or has more states than the limits allow.
        case tooLarge
        /// The pattern is not valid or not defined in POSIX, or this build has no patterns.
        case unsupported
    }

    /// A rule for the position of a match in a text.
    package enum Anchoring: Sendable {
        /// Anywhere.
        case none
        /// At the start.
        case start
        /// The whole text.
        case whole
    }

    /// Compiles a pattern.
    package init(_ text: Span<UInt8>, anchoring: Anchoring = .none) throws(Fault) {
        // The parentheses of a translated pattern are balanced, so that it cannot leave a group.
        var translated = try ExtendedPattern.translate(text)
        switch anchoring {
        case .none: break
        case .start: translated = [UInt8]("^(".utf8) + translated + [UInt8](")".utf8)
        case .whole: translated = [UInt8]("^(".utf8) + translated + [UInt8](")$".utf8)
        }
        #if Patterns
            var stateCount = 0
            let pattern = unsafe translated.withUnsafeBufferPointer { text in
                unsafe playgate_pattern_new(text.baseAddress, text.count, Self.memory, &stateCount)
            }
            // The translation is valid, so that RE2 refuses only patterns that need too much memory.
            guard let pattern = unsafe pattern else { throw .tooLarge }
            guard stateCount <= Self.maximumStateCount else {
                unsafe playgate_pattern_free(pattern)
                throw .tooLarge
            }
            unsafe self.pattern = pattern
        #else
            _ = translated
            throw .unsupported
        #endif
    }

    #if Patterns
        deinit { unsafe playgate_pattern_free(pattern) }
    #endif

    /// The largest memory of a pattern, in bytes.
    private static let memory = 64 * 1024

    /// True if this build has patterns: the trait `Patterns` is on.
    package static var isSupported: Bool {
        #if Patterns
            true
        #else
            false
        #endif
    }

    /// Returns true if the pattern matches somewhere in `text`, which has at most ``maximumInputSize`` bytes.
    package func isFound(in text: Span<UInt8>) -> Bool {
        guard text.count <= Self.maximumInputSize else { return false }
        #if Patterns
            return unsafe text.withUnsafeBufferPointer { text in
                unsafe playgate_pattern_search(pattern, text.baseAddress, text.count) == 1
            }
        #else
            return false
        #endif
    }
}
