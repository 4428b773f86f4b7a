// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#include "CRE2.h"

#ifdef PLAYGATE_PATTERNS

#include <cstddef>
#include <new>
#include <re2/re2.h>

struct playgate_pattern {
    RE2 re2;

    playgate_pattern(const re2::StringPiece &text, const RE2::Options &options) : re2(text, options) {}
};

extern "C" playgate_pattern *playgate_pattern_new(const unsigned char *text, long length, long memory, long *states) {
    RE2::Options options;
    options.set_encoding(RE2::Options::EncodingLatin1);
    options.set_posix_syntax(true);
    options.set_longest_match(true);
    options.set_log_errors(false);
    options.set_max_mem(memory);
    options.set_never_nl(false);
    // As in POSIX: a dot is any character, and the anchors are the ends of the text, not of its lines.
    options.set_dot_nl(true);
    options.set_one_line(true);
    auto piece = re2::StringPiece(reinterpret_cast<const char *>(text), static_cast<size_t>(length));
    auto pattern = new (std::nothrow) playgate_pattern(piece, options);
    if (pattern == nullptr) return nullptr;
    if (!pattern->re2.ok()) {
        delete pattern;
        return nullptr;
    }
    *states = pattern->re2.ProgramSize();
    return pattern;
}

extern "C" int playgate_pattern_search(const playgate_pattern *pattern, const unsigned char *text, long length) {
    auto piece = re2::StringPiece(reinterpret_cast<const char *>(text), static_cast<size_t>(length));
    return pattern->re2.Match(piece, 0, piece.size(), RE2::UNANCHORED, nullptr, 0) ? 1 : 0;
}

extern "C" void playgate_pattern_free(playgate_pattern *pattern) { delete pattern; }

#endif
