// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Synchronization
import Testing

/// Video.js, a player of many web pages for HLS and DASH, in headless Chromium. Its page is served by the edge, and tells the
/// origin what it has seen.
final class FilmBrowser: Sendable {
    private let chromium: String
    private let script: [UInt8]
    /// What the tabs have told: of their ends, and of what they were doing last.
    private let told = Mutex<(reports: [String: String], states: [String: String])>(([:], [:]))

    /// The page. Its fragment has the number of the tab, the speed, and the URL.
    private static let page = """
        <!DOCTYPE html><link rel="icon" href="data:,"><video></video><script src="video.js"></script><script>
        const [tab, speed, ...rest] = location.hash.slice(1).split(',')
        const url = rest.join(',')
        const tell = (kind, text) => fetch(`/page/${kind}/${tab}/` + String(text).replace(/[^A-Za-z0-9_.-]/g, '-'))
        const report = text => tell('report', text)
        // VHS, the part of Video.js that fetches, instead of what the browser has of its own.
        const options = { muted: true, autoplay: true, html5: { hls: { overrideNative: true } } }
        const player = videojs(document.querySelector('video'), options)
        const type = url.includes('.mpd') ? 'application/dash+xml' : 'application/vnd.apple.mpegurl'
        // A player may try again for ever what was refused.
        const refusals = new PerformanceObserver(entries => {
            for (const { name, responseStatus } of entries.getEntries())
                if (responseStatus >= 400 && name.includes('/film/')) report(`${responseStatus}-of-${name.split('/').pop()}`)
        })
        refusals.observe({ type: 'resource', buffered: true })
        player.on('loadedmetadata', () => player.playbackRate(Number(speed)))
        player.on('error', () => report('error-' + player.error().message))
        // This Video.js sometimes stops a few milliseconds before the end, with everything loaded.
        player.on(['ended', 'timeupdate'], () => {
            const seen = player.played(), end = player.duration()
            if (!(end > 0 && player.currentTime() > end - 0.1)) return
            const isWhole = seen.length === 1 && seen.start(0) < 0.1 && seen.end(0) > end - 0.2
            const isVHS = Boolean(player.tech({ IWillNotUseThisInPlugins: true }).hls)
            document.cookie = 'kept=1'
            const cookies = document.cookie ? '' : '-without-cookies'
            report(`${isWhole && isVHS ? 'whole' : `part-${seen.length}-${isVHS}`}-${Math.round(end)}${cookies}`)
        })
        setInterval(() => {
            const { currentTime, buffered, readyState, networkState, paused } = player.tech({ IWillNotUseThisInPlugins: true }).el()
            const end = buffered.length ? buffered.end(buffered.length - 1) : 0
            tell('state', [currentTime, end, buffered.length, readyState, networkState, paused].join('_'))
        }, 5000)
        player.src({ src: url, type })
        </script>
        """

    private init(_ chromium: String, script: [UInt8]) {
        self.chromium = chromium
        self.script = script
    }

    /// True if Chromium and Video.js are installed. Otherwise tests are skipped; in continuous integration they fail.
    static var isInstalled: Bool { Requirement.isMet(Program.installed("chromium") != nil && videoJS != nil) }

    /// Returns Chromium with Video.js, which `scripts/setup test` installs.
    static func installed() throws -> FilmBrowser {
        let chromium = try #require(Program.installed("chromium"), "chromium is not installed: run scripts/setup test")
        let path = try #require(videoJS, "Video.js is not installed: run scripts/setup test")
        return FilmBrowser(chromium, script: [UInt8](try #require(FileManager.default.contents(atPath: path))))
    }

    /// The path of the script of PyPI's js.videojs; `nil` if it is not installed.
    private static var videoJS: String? { Program.oracle("js/videojs/resources/video.min.js") }

    /// The files of a stream and of the page.
    func files(with stream: FilmStream) -> [String: [UInt8]] { files(with: stream.files) }

    /// The given files, and those of the page.
    func files(with files: [String: [UInt8]]) -> [String: [UInt8]] {
        var files = files
        files["/page/player.html"] = [UInt8](Self.page.utf8)
        files["/page/video.js"] = script
        return files
    }

    /// Keeps what a tab tells in the path of a request at the origin. The first report counts.
    func hear(_ path: String) {
        let parts = path.split(separator: "/").map(String.init)
        guard parts.count == 4, parts[0] == "page" else { return }
        told.withLock { told in
            if parts[1] == "state" { told.states[parts[2]] = parts[3] }
            if parts[1] == "report", told.reports[parts[2]] == "" { told.reports[parts[2]] = parts[3] }
        }
    }

    /// Opens the page of an edge in a browser of its own, without cookies, which plays a URL.
    ///
    /// - Parameter hasCookies: False to switch cookies off in the browser; the report then ends in `-without-cookies`.
    func open(_ url: String, at edge: RunningEdge, speed: Int = 1, hasCookies: Bool = true) throws -> Tab {
        let number = told.withLock { told in
            let number = "\(told.reports.count)"
            told.reports[number] = ""
            return number
        }
        let folder = try TemporaryFolder()
        if !hasCookies {
            let profile = folder.file("Default")
            try FileManager.default.createDirectory(atPath: profile, withIntermediateDirectories: false)
            let block = "{\"profile\":{\"default_content_setting_values\":{\"cookies\":2}}}"
            try folder.write("Default/Preferences", block)
        }
        let options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
            "--no-first-run",
            "--autoplay-policy=no-user-gesture-required", "--user-data-dir=\(folder.path)",
        ]
        let page = "http://\(edge.address)/page/player.html#\(number),\(speed),\(url)"
        return Tab(self, number, folder, try Program(chromium, options + [page], log: folder.file("log")))
    }

    /// A browser that plays one URL. It ends with this object.
    final class Tab {
        private let browser: FilmBrowser
        private let number: String
        private let folder: TemporaryFolder
        private let program: Program

        fileprivate init(_ browser: FilmBrowser, _ number: String, _ folder: TemporaryFolder, _ program: Program) {
            self.browser = browser
            self.number = number
            self.folder = folder
            self.program = program
        }

        /// Waits for the report: `whole-SECONDS` if it has played all of the stream, in one piece, and no request failed.
        func report(within seconds: Double) throws -> String {
            let report = { self.browser.told.withLock { $0.reports[self.number] ?? "" } }
            let isDone = eventually(within: seconds) { !report().isEmpty }
            let state = browser.told.withLock { $0.states[number] } ?? "not begun"
            #expect(
                isDone,
                "time, end and number of what is buffered, ready, network, paused: \(state)\n\(program.output.suffix(500))"
            )
            return report()
        }

        deinit {
            program.signal(SIGTERM)
            #expect(throws: Never.self) { try program.waitUntilExit(within: 20) }
        }
    }
}
