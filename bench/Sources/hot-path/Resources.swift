// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import MediaResources

extension HotPath {
    static let sampleFragment = """
        <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>TNT</title><item>\
        <title>Example Show, 1</title><guid>1234567</guid><media:rating scheme="urn:v-chip">TV-PG</media:rating>\
        </item></channel></rss>
        """

    static func resources(_ options: Options) throws -> [String] {
        let fragment = sampleFragment
        let bytes = [CChar](fragment.utf8.map { CChar(bitPattern: $0) })
        let left = try MediaResource(fragment)
        let right = try MediaResource(fragment.replacing("Example", with: "<![CDATA[Example]]>"))
        let other = try MediaResource(fragment.replacing("TV-PG", with: "TV-MA"))
        let plain = try MediaResource("TNT")
        precondition(left.covers(right) && !left.covers(other))
        let table = Table("Media RSS fragment of \(bytes.count) bytes", options: options)
        table.measure("xmlTextReader, reused", count: 1000) { n in
            precondition(limits_xml_reader(bytes, bytes.count, Int32(n)) > n)
        }
        table.measure("MediaResource from a fragment", count: 1000) { n in
            for _ in 0..<n { precondition((try? MediaResource(fragment)) != nil) }
        }
        table.measure("match, equal but spelt differently", count: 10_000) { n in
            for _ in 0..<n { precondition(left.covers(right)) }
        }
        table.measure("match, rating differs", count: 10_000) { n in
            for _ in 0..<n { precondition(!left.covers(other)) }
        }
        table.measure("match, plain identifier", count: 10_000) { n in
            for _ in 0..<n { precondition(plain.mismatch(withGranted: "TNT") == nil) }
        }
        table.run()
        return table.faults([
            ("a fragment", table["MediaResource"], 13), ("a match", table["match, equal"], 0),
            ("a match that differs", table["match, rating"], 0),
        ])
    }
}
