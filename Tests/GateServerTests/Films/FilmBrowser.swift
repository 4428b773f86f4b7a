// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Synchronization
import Testing

/// The players of web pages, in headless Chromium, and what WebKitGTK has of its own for HLS. A page is served by the edge, and tells the origin what it has seen.
final class FilmBrowser: Sendable {
    /// A player, as PyPI has it: `scripts/setup test` fetches it only for tests.
    enum Player: String, CaseIterable, Sendable {
        /// Video.js 8.6 with VHS, for HLS and DASH.
        case videoJS = "videojs"
        /// hls.js 1.5 and 1.6, for HLS.
        case hls15, hls16
        /// dash.js 5, for DASH.
        case dash
        /// `<video src=…>` of WebKitGTK, whose requests GStreamer makes: the nearest to Safari that runs here.
        case webKit = "webkit"

        /// The script in the packages; `nil` for none.
        fileprivate var file: String? {
            switch self {
            case .videoJS: "streamlit_component_video/frontend/video.min.js"
            case .hls15: "mediaforge/web/static/hls.min.js"
            case .hls16: "gradio/templates/frontend/assets/hls-DKvqWxTe.js"
            case .dash: "ei/web/vendor/dashjs.js"
            case .webKit: nil
            }
        }

        /// What loads the script as a module or not, and plays `url` in `video`.
        fileprivate var page: String {
            switch self {
            case .videoJS:
                """
                <script src="videojs.js"></script><script type="module">
                // VHS, the part of Video.js that fetches, instead of what the browser has of its own.
                const player = videojs(video, { muted: true, autoplay: true, html5: { vhs: { overrideNative: true } } })
                player.on('error', () => report('error-' + player.error().message))
                player.src({ src: url, type: isDASH ? 'application/dash+xml' : 'application/vnd.apple.mpegurl' })
                player.on('loadedmetadata', () => {
                    player.playbackRate(Number(speed))
                    if (!player.tech({ IWillNotUseThisInPlugins: true }).vhs) report('error-not-VHS')
                })
                </script>
                """
            case .hls15, .hls16:
                """
                \(self == .hls15 ? "<script src=hls15.js></script>" : "")<script type="module">
                \(self == .hls15 ? "const Hls = window.Hls" : "import { Hls } from './hls16.js'")
                const hls = new Hls()
                hls.on(Hls.Events.ERROR, (_, data) => { if (data.fatal) report(`error-${data.details}-${data.error?.message}`) })
                hls.loadSource(url)
                hls.attachMedia(video)
                </script>
                """
            case .dash:
                """
                <script type="module">
                import { MediaPlayer } from './dash.js'
                const player = MediaPlayer().create()
                player.on('error', event => report('error-' + event.error.message))
                player.initialize(video, url, true)
                </script>
                """
            case .webKit:
                """
                <script>
                video.addEventListener('error', () => report('error-' + video.error.message))
                // GStreamer leaves out what the last reload of a live playlist shows.
                video.addEventListener('ended', () => report(`part-ended-${video.currentTime}-of-${video.duration}`))
                video.src = url
                </script>
                """
            }
        }
    }

    private let chromium: String
    private let scripts: [Player: [UInt8]]
    /// What the tabs have reported: their ends, and what they were doing last.
    private let messages = Mutex<(reports: [String: String], conditions: [String: String])>(([:], [:]))

    /// What all pages have. The fragment of a page has the number of the tab, the speed, the stream's seconds or 0, the time
    /// at which the viewer goes back to its beginning or 0, and the URL.
    private static let page = """
        <!DOCTYPE html><link rel="icon" href="data:,"><video muted autoplay></video><script>
        const [tab, speed, seconds, turn, ...rest] = location.hash.slice(1).split(',')
        const url = rest.join(','), isDASH = url.includes('.mpd'), video = document.querySelector('video')
        const tell = (kind, text) => fetch(`/page/${kind}/${tab}/` + String(text).replace(/[^A-Za-z0-9_.-]/g, '-'))
        const report = text => tell('report', text)
        addEventListener('error', event => report('error-' + event.message))
        // A player may try again for ever what was refused.
        const refusals = new PerformanceObserver(entries => {
            for (const { name, responseStatus } of entries.getEntries())
                if (responseStatus >= 400 && name.includes('/film/')) report(`${responseStatus}-of-${name.split('/').pop()}`)
        })
        refusals.observe({ type: 'resource', buffered: true })
        let hasTurned = !(turn > 0)
        // A player sometimes stops a few milliseconds before the end, with everything loaded.
        const look = () => {
            const seen = video.played
            // To dash.js, a live stream has no end.
            const end = seconds > 0 && video.duration === Infinity ? seconds - 0.2 : video.duration
            if (!hasTurned && video.currentTime > turn) { hasTurned = true; video.currentTime = 0.2 }
            // Once it has ended, GStreamer's clock may stand where it last reported: less than half a second before.
            const margin = video.ended ? 0.5 : 0.1
            if (!(end > 0 && video.currentTime > end - margin)) return
            // To a player, a live stream may end where its playlist ends now.
            if (end < seconds - 0.5) return
            // VHS begins a tenth of a second later if it had to wait for the first sound. A segment is a second.
            const isWhole = seen.length === 1 && seen.start(0) < 0.3 && seen.end(0) > end - margin - 0.1
            document.cookie = 'kept=1'
            const cookies = document.cookie ? '' : '-without-cookies'
            const pieces = Array.from(seen, (_, i) => `-${seen.start(i).toFixed(2)}-${seen.end(i).toFixed(2)}`).join('')
            report(`${isWhole ? 'whole' : `part-${seen.length}`}-${Math.round(end)}${cookies}${isWhole ? '' : pieces}`)
        }
        for (const name of ['loadedmetadata', 'canplay']) video.addEventListener(name, () => video.playbackRate = Number(speed))
        for (const name of ['ended', 'timeupdate']) video.addEventListener(name, look)
        setInterval(() => {
            const { currentTime, buffered, readyState, networkState, paused } = video
            const end = buffered.length ? buffered.end(buffered.length - 1) : 0
            tell('state', [currentTime, end, buffered.length, readyState, networkState, paused].join('_'))
        }, 5000)
        </script>
        """

    private init(_ chromium: String, scripts: [Player: [UInt8]]) {
        self.chromium = chromium
        self.scripts = scripts
    }

    /// True if Chromium and the players are installed. Otherwise tests are skipped; in continuous integration they fail.
    static var isInstalled: Bool {
        let hasPlayers = Player.allCases.compactMap(\.file).allSatisfy { Program.player($0) != nil }
        let hasBrowsers = Program.installed("chromium") != nil && miniBrowser != nil && Program.installed("Xvfb") != nil
        return Requirement.isMet(hasPlayers && hasBrowsers)
    }

    /// The browser of WebKitGTK; `nil` if it is not installed.
    private static var miniBrowser: String? {
        let folder = "/usr/lib"
        let machines = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return machines.map { "\(folder)/\($0)/webkit2gtk-4.1/MiniBrowser" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    /// Returns Chromium with the players, which `scripts/setup test` installs.
    static func installed() throws -> FilmBrowser {
        let chromium = try #require(Program.installed("chromium"), "chromium is not installed: run scripts/setup test")
        var scripts: [Player: [UInt8]] = [:]
        for player in Player.allCases {
            guard let file = player.file else { continue }
            let path = try #require(Program.player(file), "\(player) is not installed: run scripts/setup test")
            var script = [UInt8](try #require(FileManager.default.contents(atPath: path)))
            // The package does not export the class of its hls.js.
            if player == .hls16 { script += "\nexport { Cu as Hls }\n".utf8 }
            scripts[player] = script
        }
        return FilmBrowser(chromium, scripts: scripts)
    }

    /// The files of a stream and of the pages.
    func files(with stream: FilmStream) -> [String: [UInt8]] { files(with: stream.files) }

    /// The given files, and those of the pages.
    func files(with files: [String: [UInt8]]) -> [String: [UInt8]] {
        var files = files
        for player in Player.allCases {
            files["/page/\(player.rawValue).html"] = [UInt8]((Self.page + player.page).utf8)
            files["/page/\(player.rawValue).js"] = scripts[player]
        }
        return files
    }

    /// Stores what a tab reports in the path of a request at the origin. The first report counts.
    func hear(_ path: String) {
        let parts = path.split(separator: "/").map(String.init)
        guard parts.count == 4, parts[0] == "page" else { return }
        messages.withLock { messages in
            if parts[1] == "state" { messages.conditions[parts[2]] = parts[3] }
            if parts[1] == "report", messages.reports[parts[2]] == "" { messages.reports[parts[2]] = parts[3] }
        }
    }

    /// Opens the page of an edge in a browser of its own, without cookies, which plays a URL.
    ///
    /// - Parameter seconds: The duration of a live stream, in seconds; 0 if its manifest says it from the beginning.
    /// - Parameter turn: The time at which the viewer goes back to the beginning, in seconds; 0 for never.
    /// - Parameter hasCookies: False to switch cookies off in the browser; the report then ends in `-without-cookies`.
    func open(
        _ url: String,
        in player: Player = .videoJS,
        at edge: RunningEdge,
        speed: Int = 1,
        lasting seconds: Int = 0,
        turningAt turn: Int = 0,
        hasCookies: Bool = true
    ) throws -> Tab {
        let number = messages.withLock { messages in
            let number = "\(messages.reports.count)"
            messages.reports[number] = ""
            return number
        }
        let folder = try TemporaryFolder()
        let page = "http://\(edge.address)/page/\(player.rawValue).html#\(number),\(speed),\(seconds),\(turn),\(url)"
        if player == .webKit { return try openWebKit(page, tab: number, in: folder, hasCookies: hasCookies) }
        if !hasCookies {
            let profile = folder.file("Default")
            try FileManager.default.createDirectory(atPath: profile, withIntermediateDirectories: false)
            let block = "{\"profile\":{\"default_content_setting_values\":{\"cookies\":2}}}"
            try folder.write("Default/Preferences", contents: block)
        }
        let options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
            "--no-first-run",
            "--autoplay-policy=no-user-gesture-required", "--user-data-dir=\(folder.path)",
        ]
        return Tab(
            browser: self,
            number: number,
            folder: folder,
            programs: [try Program(chromium, arguments: options + [page], log: folder.file("log"))]
        )
    }

    /// Opens a page in WebKitGTK, which has no headless mode: on a display of its own.
    private func openWebKit(_ page: String, tab: String, in folder: TemporaryFolder, hasCookies: Bool) throws -> Tab {
        let browser = try #require(Self.miniBrowser, "WebKitGTK is not installed: run scripts/setup test")
        let xvfb = try #require(Program.installed("Xvfb"), "Xvfb is not installed: run scripts/setup test")
        let env = try #require(Program.installed("env"))
        let screen = try Program(
            xvfb,
            arguments: ["-displayfd", "1", "-screen", "0", "640x480x24"],
            log: folder.file("display")
        )
        // It prints the number of the display, and complaints about those that others have.
        let number = { screen.output.split(separator: "\n").first { $0.allSatisfy(\.isNumber) } }
        #expect(eventually { number() != nil || !screen.isRunning })
        let display = try #require(number(), "\(screen.output)")
        let program = try Program(
            env,
            arguments: [
                "HOME=\(folder.path)", "DISPLAY=:\(display)", "WEBKIT_GST_ENABLE_HLS_SUPPORT=1", browser,
                "--autoplay-policy=allow", "--cookies-policy=\(hasCookies ? "always" : "never")", page,
            ],
            log: folder.file("log")
        )
        return Tab(browser: self, number: tab, folder: folder, programs: [program, screen])
    }

    /// A browser that plays one URL. It ends with this object.
    final class Tab {
        private let browser: FilmBrowser
        private let number: String
        private let folder: TemporaryFolder
        /// The browser, and what it needs.
        private let programs: [Program]

        fileprivate init(browser: FilmBrowser, number: String, folder: TemporaryFolder, programs: [Program]) {
            self.browser = browser
            self.number = number
            self.folder = folder
            self.programs = programs
        }

        /// Waits for the report: `whole-SECONDS` if it has played all of the stream, in one piece, and no request failed; otherwise
        /// `part-PIECES-SECONDS`, with the beginning and the end of each piece.
        func report(within seconds: Double) throws -> String {
            let report = { self.browser.messages.withLock { $0.reports[self.number] ?? "" } }
            let isDone = eventually(within: seconds) { !report().isEmpty }
            let state = browser.messages.withLock { $0.conditions[number] } ?? "not begun"
            #expect(
                isDone,
                "time, end and number of what is buffered, ready, network, paused: \(state)\n\(programs.first?.output.suffix(500) ?? "")"
            )
            return report()
        }

        deinit {
            for program in programs {
                program.signal(SIGTERM)
                #expect(throws: Never.self) { try program.waitUntilExit(within: 20) }
            }
        }
    }
}
