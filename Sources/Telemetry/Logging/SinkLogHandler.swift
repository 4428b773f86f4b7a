// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import GateConfiguration
package import Logging
internal import Platform

/// Writes swift-log's lines in the format, and to the sink, of the decision lines.
package struct SinkLogHandler: LogHandler {
    package let sink: LogSink
    package let format: LogFormat
    package let label: String
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]

    /// Creates a value of its members.
    package init(
        sink: LogSink,
        format: LogFormat,
        label: String,
        logLevel: Logger.Level,
        metadata: Logger.Metadata = [:]
    ) {
        self.sink = sink
        self.format = format
        self.label = label
        self.logLevel = logLevel
        self.metadata = metadata
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var facts = metadata
        if let more = event.metadata { facts.merge(more) { _, new in new } }
        let sorted = facts.sorted { $0.key < $1.key }.map { ($0.key, "\($0.value)") }
        let (level, text, time) = (event.level, "\(event.message)", Timestamp.now())
        sink.line { bytes in
            switch format {
            case .json:
                JSON.object(
                    [("time", .string(time.iso8601)), ("level", .string("\(level)")), ("message", .string(text))]
                        + sorted.map { ($0.0, .string($0.1)) }
                ).write(to: &bytes)
            case .text:
                let tail = sorted.map { " \($0.0)=\(TextLine.value($0.1))" }.joined()
                bytes += "\(time.iso8601) \(level) \(TextLine.printable(text))\(tail)".utf8
            }
        }
    }
}

/// Formatting of log lines for people.
enum TextLine {
    /// Returns a value as it is if it is one word, and in quotes otherwise.
    static func value(_ text: String) -> String {
        let isWord = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
        return isWord ? text : JSON.string(text).line
    }

    /// Returns a text, quoted if it has characters that would start another line or move the cursor.
    static func printable(_ text: String) -> String {
        text.unicodeScalars.contains(where: \.isLineControl) ? JSON.string(text).line : text
    }
}
