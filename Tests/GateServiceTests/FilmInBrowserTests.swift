// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Synchronization
import Testing

/// A player of JavaScript in Chromium: it fetches playlists and segments, and appends them to a media source.
@Suite(.serialized) struct `A film in a browser` {
    private static let player = """
        <!DOCTYPE html><video muted autoplay></video><script>
        const report = text => fetch('/page/report/' + String(text).replace(/[^A-Za-z0-9_.-]/g, '-'))
        const get = async url => {
            const answer = await fetch(url, { cache: 'no-store' })
            if (!answer.ok) throw answer.status + ' ' + answer.headers.get('X-Playgate-Code')
            return answer
        }
        const lines = async url => (await (await get(url)).text()).split('\\n')
        const isReference = line => line && !line.startsWith('#')
        const play = async start => {
            const variant = new URL((await lines(start)).find(isReference), start)
            const playlist = await lines(variant)
            const map = playlist.find(line => line.startsWith('#EXT-X-MAP')).match(/URI="([^"]*)"/)[1]
            const source = new MediaSource(), video = document.querySelector('video')
            video.src = URL.createObjectURL(source)
            video.playbackRate = video.defaultPlaybackRate = 4
            video.onerror = () => report(video.error.message)
            video.onended = () => report('ended-' + Math.round(video.currentTime))
            await new Promise(done => source.onsourceopen = done)
            const buffer = source.addSourceBuffer('video/mp4; codecs="avc1.42C01E"')
            for (const part of [map, ...playlist.filter(isReference)]) {
                buffer.appendBuffer(await (await get(new URL(part, variant))).arrayBuffer())
                await new Promise(done => buffer.onupdateend = done)
                const ahead = () => video.buffered.length ? video.buffered.end(0) - video.currentTime : 0
                while (ahead() > 4) await new Promise(done => setTimeout(done, 50))
            }
            source.endOfStream()
        }
        play(new URL('START', location)).catch(report)
        </script>
        """

    @Test(arguments: ["cookie", "segment"]) func `is seen as a whole in a browser`(way: String) async throws {
        guard FilmStream.isPlayable, let chromium = Self.chromium else { return }
        let stream = try FilmStream(.fragmented, segments: 14, seconds: 1)
        try await EdgeProxy.nginx.withFilm { (gate, proxy) throws in
            let (start, token) = (gate.now, try gate.filmToken("one"))
            var url = "\(stream.start)?token=\(token.percentEncoded)"
            if way == "segment" { url = try gate.urlOfFilm(token) }
            var files = stream.files
            files["/page/player.html"] = [UInt8](Self.player.replacing("START", with: url).utf8)
            let reports = Mutex<[String]>([])
            proxy.origin.serve(files) { path in
                if path.hasSuffix(".m4s") { gate.now = gate.now.adding(seconds: 2) }
                if path.hasPrefix("/page/report/") { reports.withLock { $0.append(path) } }
            }
            let folder = try TemporaryFolder()
            let options = [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
            ]
            let page = ["--user-data-dir=\(folder.path)", "http://\(proxy.address)/page/player.html"]
            let browser = try Program(
                chromium,
                options + ["--autoplay-policy=no-user-gesture-required"] + page,
                log: folder.file("log")
            )
            defer { browser.signal(SIGTERM) }
            #expect(eventually(within: 60) { reports.withLock { !$0.isEmpty } }, "\(browser.output.suffix(2000))")
            #expect(reports.withLock { $0 } == ["/page/report/ended-14"])
            #expect(gate.now >= start.adding(seconds: 28))
            browser.signal(SIGTERM)
            try browser.waitUntilExit(within: 20)
        }
    }

    /// Chromium; `nil` if it is not installed. Then tests report a skip; in continuous integration they fail.
    private static var chromium: String? {
        if let path = Program.installed("chromium") { return path }
        if ProcessInfo.processInfo.environment["CI"] != nil { Issue.record("chromium is not installed") }
        FileHandle.standardError.write(Data("SKIPPED: chromium is not installed; run scripts/setup test\n".utf8))
        return nil
    }
}
