// swift-tools-version: 6.3
import PackageDescription

// Targets stand by floors: each depends on lower ones, or on those before it. scripts/floors holds them to it.

let package = Package(
    name: "playgate",
    platforms: [.macOS(.v26)],
    products: [
        .library("MediaTokens"), .library("MediaResources"), .library("Keys"),
        .library("EdgeTokens", "RequestTargets"), .library("CommonAccessTokens"), .library("URISigning"),
        .library("AccessTokens"), .library("VendorTokens"), .library("Licences"),
        .library("PlaybackGate", "ReplayStores", "SharedGrants"),
        .library("Entitlements"), .library("Manifests"), .library("SQLiteStore"), .library("RedisStore"),
        .library("AccessEnabler"), .library("KeySources"),
        .library("GateServer", "ConfigurationReading"),
        .executable(name: "playgate", targets: ["playgate"]),
        .executable(name: "playgate-sandbox", targets: ["playgate-sandbox"]),
    ],
    traits: [
        .trait(name: "Patterns", description: "Patterns in edge tokens (needs libre2). Without it they are refused."),
        .trait(name: "SQLite", description: "The replay store in a SQLite file (needs libsqlite3)."),
        .trait(name: "Redis", description: "The replay store in Redis (needs libhiredis)."),
        .trait(name: "GRPC", description: "Checks of Envoy over gRPC (grpc-swift-2).", enabledTraits: ["Service"]),
        .trait(
            name: "Service",
            description: """
                The gate service, fetched key sets, the client of entitlement services, the sandbox and the command lines.
                """
        ),
        .default(enabledTraits: ["Patterns", "SQLite", "Redis", "GRPC", "Service"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.9.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.0"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    ],
    targets: [
        // Floor 0: the C libraries of the system, and what everything else stands on.
        .system("COpenSSL", pkgConfig: "libcrypto", apt: "libssl-dev", brew: "openssl@3"),
        .system("CLibXML2", pkgConfig: "libxml-2.0", apt: "libxml2-dev", brew: "libxml2"),
        // Without pkg-config: its file sets a flag that packages may not.
        .system("CHiredis", pkgConfig: nil, apt: "libhiredis-dev", brew: "hiredis"),
        .target(name: "CBase64"),
        // The headers of the C interface, and what of it is C: EmbeddedGate implements the rest. Servers' modules are built by scripts.
        .target(
            name: "CPlaygate",
            dependencies: ["CPlaybacks"],
            path: "c",
            exclude: ["edge", "playbacks", "servers"],
            sources: ["core"],
            publicHeadersPath: "include"
        ),
        // The turns of players: a table in memory that gates and servers' modules use alike.
        .target(name: "CPlaybacks", path: "c/playbacks"),
        // Empty without its trait. RE2 has no C interface, and module maps of the system have no C++ here.
        .target(
            name: "CRE2",
            cxxSettings: [.define("PLAYGATE_PATTERNS", .when(traits: ["Patterns"]))],
            linkerSettings: [.linkedLibrary("re2", .when(traits: ["Patterns"]))]
        ),
        .room("Platform"),
        .room("Encodings", ["CBase64", "Platform"]),
        .room("Cryptography", ["COpenSSL", "Platform", "Encodings"]),
        .room("XML", ["CLibXML2", "Encodings"]),
        .room("ConfigurationReading", ["Platform", "Encodings", .system, .yams]),

        // Floor 1: tokens and resources, without input or output but for trust files.
        .room("MediaResources", ["Platform", "Encodings", "XML"]),
        .room("Keys", ["Platform", "Encodings", "Cryptography"]),
        .room("MediaTokens", ["Platform", "Encodings", "Cryptography", "XML", "MediaResources"]),
        .room("RequestTargets", ["Platform", "Encodings"]),
        .room(
            "EdgeTokens",
            [
                "Platform", "Encodings", "Cryptography", "Keys", "RequestTargets",
                .target(name: "CRE2", condition: .when(traits: ["Patterns"])),
            ]
        ),
        .room("CommonAccessTokens", ["Encodings", "Cryptography", "Keys", "RequestTargets", "EdgeTokens"]),
        .room("URISigning", ["Platform", "Encodings", "Cryptography", "Keys", "RequestTargets", "EdgeTokens"]),
        .room(
            "AccessTokens",
            ["Platform", "Encodings", "Cryptography", "MediaResources", "Keys", "RequestTargets", "EdgeTokens"]
        ),
        .room("VendorTokens", ["Platform", "Encodings", "Cryptography", "RequestTargets", "EdgeTokens"]),
        .room("Licences", ["Platform", "Encodings", "Cryptography", "XML", "Keys"]),

        // Floor 2: the vocabulary of entitlement services, the decision, and manifests that carry it.
        .room("Entitlements", ["Platform", "Encodings", "XML", "MediaResources", "MediaTokens"]),
        .room("ReplayStores", ["Platform", "Encodings", "Cryptography", "MediaTokens", "EdgeTokens"]),
        .room(
            "SharedGrants",
            ["CPlaybacks", "Platform", "Encodings", "Cryptography", "EdgeTokens", "CommonAccessTokens", "ReplayStores"]
        ),
        .room(
            "PlaybackGate",
            [
                "Platform", "Encodings", "Cryptography", "MediaResources", "Keys", "MediaTokens", "RequestTargets",
                "EdgeTokens", "CommonAccessTokens", "URISigning", "AccessTokens", "VendorTokens", "Licences",
                "ReplayStores",
                "SharedGrants",
            ]
        ),
        .room("Manifests", ["Encodings", "XML", "RequestTargets"]),

        // Floor 3: the one edge check, HTTP, stores that outlive a process, the client of entitlement services, and the gate in other processes.
        .room(
            "EdgeChecks",
            [
                "Platform", "Encodings", "Cryptography", "MediaResources", "Keys", "MediaTokens", "RequestTargets",
                "EdgeTokens", "CommonAccessTokens", "URISigning", "ReplayStores", "PlaybackGate",
            ]
        ),
        .room(
            "EmbeddedGate",
            [
                "CPlaygate", "Platform", "Encodings", "MediaResources", "MediaTokens", "RequestTargets", "EdgeTokens",
                "SharedGrants", "PlaybackGate", "EdgeChecks",
            ]
        ),
        .room(
            "HTTPServer",
            [
                "Platform", "Encodings", "Cryptography", .metrics("Metrics"), .nio("NIOCore"), .nio("NIOPosix"),
                .nio("NIOHTTP1"), .nioExtras, .nioSSL, .lifecycle("ServiceLifecycle"),
            ]
        ),
        .room("SPOPServer", ["Encodings", "HTTPServer", .nio("NIOCore"), .lifecycle("ServiceLifecycle")]),
        .room(
            "SQLiteStore",
            [
                "Platform", "MediaTokens", "EdgeTokens", "ReplayStores",
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["SQLite"])),
            ]
        ),
        .room(
            "RedisStore",
            [
                "Platform", "Encodings", "MediaTokens", "EdgeTokens", "ReplayStores",
                .target(name: "CHiredis", condition: .when(traits: ["Redis"])), .nio("NIOCore", "Redis"),
                .nio("NIOPosix", "Redis"),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Redis"])),
            ]
        ),
        .room(
            "KeySources",
            [
                "Platform", "Encodings", "Cryptography", "Keys", "RequestTargets",
                .service("AsyncHTTPClient", "async-http-client"), .nio("NIOCore"), .nio("NIOPosix"), .nio("NIOHTTP1"),
                .nioSSL, .log, .lifecycle("ServiceLifecycle"),
            ]
        ),
        .room(
            "TokenIntrospection",
            [
                "Platform", "Encodings", "Cryptography", "AccessTokens", "KeySources",
                .service("AsyncHTTPClient", "async-http-client"), .nio("NIOCore"), .nio("NIOPosix"), .nio("NIOHTTP1"),
                .nioSSL,
            ]
        ),
        .room(
            "AccessEnabler",
            [
                "Platform", "Encodings", "Cryptography", "MediaTokens", "Entitlements",
                .service("AsyncHTTPClient", "async-http-client"), .nio("NIOCore"), .nio("NIOHTTP1"), .system,
            ]
        ),

        // Floor 4: Envoy's gRPC; the gate service; the sandbox and a viewer for it, which are no part of the gate; what command lines share.
        .room(
            "GateGRPC",
            [
                "Platform", "Encodings", "HTTPServer", .nio("NIOCore"), .nio("NIOPosix"),
                .lifecycle("ServiceLifecycle"), .grpc("GRPCCore", "grpc-swift-2"),
                .grpc("GRPCNIOTransportHTTP2Posix", "grpc-swift-nio-transport"),
            ]
        ),
        .room(
            "GateConfiguration",
            [
                "Platform", "Encodings", "Cryptography", "ConfigurationReading", "MediaResources", "Keys",
                "MediaTokens",
                "RequestTargets", "CommonAccessTokens", "URISigning", "AccessTokens", "VendorTokens", "Licences",
                "ReplayStores",
                "SharedGrants",
                "PlaybackGate",
                "Manifests", "EdgeChecks", "HTTPServer", "RedisStore", "KeySources", .nio("NIOCore"),
            ],
            embedding: ["Settings/settings.yaml"]
        ),
        .room(
            "Telemetry",
            [
                "Platform", "Encodings", "Cryptography", "ConfigurationReading", "MediaResources", "MediaTokens",
                "EdgeTokens", "URISigning", "ReplayStores", "SharedGrants", "PlaybackGate", "HTTPServer", "SPOPServer",
                "GateConfiguration", .log,
                .metrics("Metrics"), .metrics("CoreMetrics"), .service("AsyncHTTPClient", "async-http-client"),
                .nio("NIOCore"), .nio("NIOHTTP1"), .system, .lifecycle("ServiceLifecycle"),
            ]
        ),
        .room(
            "EdgeListener",
            [
                "Platform", "Encodings", "Cryptography", "MediaResources", "Keys", "MediaTokens", "RequestTargets",
                "EdgeTokens", "ReplayStores", "SharedGrants", "Licences", "PlaybackGate", "Manifests", "EdgeChecks",
                "HTTPServer",
                "SPOPServer",
                "KeySources", "GateGRPC", "GateConfiguration", "Telemetry", .metrics("Metrics"), .nio("NIOCore"),
                .nio("NIOHTTP1"),
            ]
        ),
        .room(
            "GateAPI",
            [
                "Platform", "Encodings", "Cryptography", "XML", "ConfigurationReading", "MediaResources", "Keys",
                "MediaTokens", "RequestTargets", "EdgeTokens", "CommonAccessTokens", "URISigning", "ReplayStores",
                "SharedGrants",
                "Licences", "PlaybackGate", "Manifests", "EdgeChecks", "HTTPServer", "KeySources", "GateConfiguration",
                "Telemetry",
                "EdgeListener", .service("AsyncHTTPClient", "async-http-client"), .nio("NIOCore"), .nio("NIOHTTP1"),
                .nioSSL, .system, .metrics("Metrics"),
            ],
            embedding: ["openapi.yaml"]
        ),
        .room(
            "ManifestListener",
            [
                "Platform", "Encodings", "XML", "MediaTokens", "RequestTargets", "PlaybackGate", "Manifests",
                "EdgeChecks", "HTTPServer", "GateConfiguration", "Telemetry", "EdgeListener", "GateAPI",
                .metrics("Metrics"), .service("AsyncHTTPClient", "async-http-client"),
                .service("NIOHTTPCompression", "swift-nio-extras"), .nio("NIOCore"), .nio("NIOHTTP1"),
            ]
        ),
        .room(
            "GateAdmin",
            [
                "Platform", "Encodings", "Cryptography", "ConfigurationReading", "MediaResources", "MediaTokens",
                "RequestTargets", "EdgeTokens", "ReplayStores", "SharedGrants", "PlaybackGate", "HTTPServer",
                "KeySources",
                "GateConfiguration", "Telemetry", "EdgeListener", "GateAPI", .nio("NIOCore"), .nio("NIOHTTP1"),
                .service("Mustache", "swift-mustache"),
            ],
            embedding: ["Page/operator.css", "Page/operator.js", "Page/Templates"]
        ),
        .room(
            "GateServer",
            [
                "Platform", "Encodings", "Cryptography", "ConfigurationReading", "MediaResources", "Keys",
                "MediaTokens", "RequestTargets", "EdgeTokens", "CommonAccessTokens", "URISigning", "AccessTokens",
                "VendorTokens", "ReplayStores", "SharedGrants", "Licences", "PlaybackGate", "EdgeChecks", "HTTPServer",
                "SPOPServer", "SQLiteStore", "RedisStore",
                "KeySources", "TokenIntrospection", "GateGRPC", "GateConfiguration", "Telemetry", "EdgeListener",
                "GateAPI",
                "ManifestListener", "GateAdmin", .log, .metrics("Metrics"), .metrics("CoreMetrics"), .nio("NIOCore"),
                .nio("NIOPosix"), .system, .lifecycle("ServiceLifecycle"), .lifecycle("UnixSignals"),
            ]
        ),
        .room(
            "Sandbox",
            [
                "Platform", "Encodings", "Cryptography", "XML", "ConfigurationReading", "MediaResources", "MediaTokens",
                "Entitlements", .service("GRDB", "GRDB.swift"), .service("HTTPTypes", "swift-http-types"),
                .service("Hummingbird", "hummingbird"), .log, .nio("NIOCore"), .lifecycle("ServiceLifecycle"),
                .lifecycle("UnixSignals"),
            ],
            embedding: ["Pages/sandbox.css", "default.yaml"]
        ),
        .room("ViewerTools", ["Encodings", "Entitlements", "AccessEnabler", .nio("NIOHTTP1")]),
        .room("CommandLineSupport", ["Platform", "Encodings", .arguments, .system]),

        // Floor 5: the command lines.
        .program(
            "playgate",
            [
                "Platform", "Encodings", "Cryptography", "ConfigurationReading", "MediaResources", "Keys",
                "MediaTokens", "RequestTargets", "EdgeTokens", "CommonAccessTokens", "URISigning", "AccessTokens",
                "VendorTokens", "Licences", "PlaybackGate", "Manifests", "EdgeChecks", "KeySources", "Telemetry",
                "SharedGrants", "GateConfiguration", "GateAPI",
                "GateAdmin",
                "GateServer", "CommandLineSupport", .arguments,
            ]
        ),
        .program(
            "playgate-sandbox",
            [
                "Platform", "Encodings", "ConfigurationReading", "Entitlements", "AccessEnabler", "Sandbox",
                "ViewerTools", "CommandLineSupport", .arguments,
            ]
        ),

        // The simulation of shared grants. It drives the watch of the gate, which no other package sees.
        .executableTarget(
            name: "leak-simulation",
            dependencies: [
                "CPlaygate", "Platform", "EdgeTokens", "ReplayStores", "SharedGrants", "EmbeddedGate",
                "CommandLineSupport", .arguments,
            ],
            path: "bench/leaks",
            swiftSettings: .strict
        ),

        // Tests, and what they share: keys, tokens, programs that are started and stopped, connections, random numbers.
        .target(
            name: "GateTestSupport",
            dependencies: ["Platform", "Encodings", "MediaTokens", "ReplayStores", "PlaybackGate"],
            path: "Tests/GateTestSupport",
            swiftSettings: .strict
        ),
        .fastTests("GateTestSupport", ["Platform", "GateTestSupport"]),
        .fastTests("Encodings", ["Platform", "Encodings"]),
        .fastTests("Cryptography", ["Encodings", "Cryptography", "GateTestSupport"]),
        .fastTests(
            "Keys",
            ["Platform", "Encodings", "Cryptography", "Keys", "GateTestSupport"],
            exclude: ["Oracles", "Vectors"]
        ),
        .fastTests("MediaResources", ["XML", "MediaResources", "GateTestSupport"]),
        .fastTests(
            "MediaTokens",
            ["CLibXML2", "Platform", "Encodings", "Cryptography", "MediaResources", "MediaTokens", "GateTestSupport"]
        ),
        .fastTests("RequestTargets", ["RequestTargets"]),
        .fastTests("EdgeTokens", ["Platform", "RequestTargets", "EdgeTokens", "GateTestSupport"]),
        .fastTests(
            "CommonAccessTokens",
            [
                "Platform", "Encodings", "Cryptography", "Keys", "RequestTargets", "EdgeTokens", "CommonAccessTokens",
                "GateTestSupport",
            ],
            exclude: ["Oracles"]
        ),
        .fastTests(
            "URISigning",
            ["Platform", "Encodings", "Keys", "RequestTargets", "EdgeTokens", "URISigning", "GateTestSupport"],
            exclude: ["Oracles"]
        ),
        .fastTests(
            "Licences",
            ["Platform", "Encodings", "Cryptography", "Keys", "Licences", "GateTestSupport"],
            exclude: ["Oracles"]
        ),
        .fastTests(
            "AccessTokens",
            [
                "Platform", "Encodings", "Cryptography", "MediaResources", "Keys", "RequestTargets", "EdgeTokens",
                "AccessTokens", "GateTestSupport",
            ],
            exclude: ["Oracles"]
        ),
        .fastTests(
            "VendorTokens",
            [
                "Platform", "Encodings", "Cryptography", "RequestTargets", "EdgeTokens", "VendorTokens",
                "GateTestSupport",
            ],
            exclude: ["Oracles"]
        ),
        .fastTests("Entitlements", ["Platform", "Entitlements"]),
        .fastTests(
            "PlaybackGate",
            [
                "Platform", "Encodings", "Cryptography", "MediaResources", "Keys", "MediaTokens", "RequestTargets",
                "EdgeTokens", "CommonAccessTokens", "URISigning", "VendorTokens", "ReplayStores", "PlaybackGate",
                "EdgeChecks", "GateTestSupport",
            ]
        ),
        .fastTests(
            "EmbeddedGate",
            [
                "CPlaygate", "Platform", "Encodings", "MediaResources", "Keys", "MediaTokens", "RequestTargets",
                "EdgeTokens", "CommonAccessTokens", "ReplayStores", "SharedGrants", "PlaybackGate", "EdgeChecks",
                "EmbeddedGate",
                "GateTestSupport", .nio("NIOCore"), .nio("NIOPosix"),
            ],
            exclude: ["Programs"],
            settings: .callingC
        ),
        .tests(
            "Manifests",
            ["Encodings", "XML", "Manifests", "GateTestSupport"],
            exclude: ["Oracles", "Playlists"]
        ),
        .tests(
            "ReplayStores",
            [
                "Platform", "Encodings", "MediaResources", "Keys", "MediaTokens", "RequestTargets", "EdgeTokens",
                "CommonAccessTokens", "ReplayStores", "SharedGrants", "PlaybackGate", "SQLiteStore", "RedisStore",
                "GateTestSupport",
            ]
        ),
        .fastTests("SharedGrants", ["Platform", "EdgeTokens", "ReplayStores", "SharedGrants", "GateTestSupport"]),
        .tests(
            "KeySources",
            ["Platform", "Encodings", "Keys", "KeySources", "GateTestSupport", .nio("NIOCore"), .nio("NIOPosix")]
        ),
        .fastTests("GateGRPC", ["GateGRPC", "GateTestSupport", .nio("NIOCore")]),
        .tests(
            "GateServer",
            [
                "Platform", "Encodings", "Cryptography", "ConfigurationReading", "MediaResources", "Keys",
                "MediaTokens", "RequestTargets", "EdgeTokens", "CommonAccessTokens", "URISigning", "AccessTokens",
                "ReplayStores", "SharedGrants",
                "Licences", "PlaybackGate", "Manifests", "EdgeChecks", "HTTPServer", "SPOPServer", "KeySources",
                "GateGRPC",
                "GateConfiguration", "Telemetry", "EdgeListener", "GateAPI", "ManifestListener", "GateAdmin",
                "GateServer", "GateTestSupport", .nio("NIOCore"), .nio("NIOEmbedded"), .nio("NIOHTTP1"),
                .nio("NIOPosix"), .nioExtras, .system,
            ],
            exclude: ["BadConfigurations", "Oracles", "Players"]
        ),
        .fastTests("SPOPServer", ["HTTPServer", "SPOPServer", .nio("NIOCore"), .nio("NIOEmbedded")]),
        // An integrator's code, which is a package of its own too.
        .target(name: "Integrator", dependencies: ["AccessEnabler"], path: "Tests/Integrator/Sources/Integrator"),
        .tests(
            "AccessEnabler",
            [
                "Platform", "Encodings", "ConfigurationReading", "MediaResources", "MediaTokens", "Entitlements",
                "AccessEnabler", "Sandbox", "ViewerTools", "GateTestSupport", "Integrator", .nio("NIOHTTP1"),
            ]
        ),
        .tests(
            "Sandbox",
            [
                "Platform", "Encodings", "Cryptography", "ConfigurationReading", "MediaResources", "MediaTokens",
                "Entitlements", "ReplayStores", "PlaybackGate", "Sandbox", "GateTestSupport",
            ],
            exclude: ["YTDLP"]
        ),
        .tests(
            "PlaygateCommand",
            [
                "Platform", "Encodings", "Cryptography", "Keys", "MediaTokens", "EdgeTokens", "AccessTokens",
                "VendorTokens",
                "PlaybackGate", "EdgeChecks", "AccessEnabler", "GateServer", "playgate", "playgate-sandbox",
                "CommandLineSupport", "GateTestSupport", .arguments,
            ]
        ),
    ],
    cxxLanguageStandard: .cxx17
)

// The fuzzer calls the C interface as a part of its own program; scripts/embed links it for everyone else.
if Context.environment["PLAYGATE_FUZZ"] != nil {
    package.products.append(.library("EmbeddedGate", "EdgeChecks", "SharedGrants", "CPlaygate"))
}

// PLAYGATE_PARTS names the targets to keep, with all that they depend on: under a sanitizer everything is built anew, and
// the service with its dependencies is most of that.
if let parts = Context.environment["PLAYGATE_PARTS"] {
    package.keep(Set(parts.split(separator: ",").map(String.init)))
}

extension Product {
    static func library(_ name: String, _ others: String...) -> Product {
        .library(name: name, targets: [name] + others)
    }
}

extension Target {
    static func system(_ name: String, pkgConfig: String?, apt: String, brew: String) -> Target {
        .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt]), .brew([brew])])
    }

    static func room(_ name: String, _ dependencies: [Dependency] = [], embedding files: [String] = []) -> Target {
        let resources = files.isEmpty ? nil : files.map { Resource.embedInCode($0) }
        return .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: .strict)
    }

    static func program(_ name: String, _ dependencies: [Dependency]) -> Target {
        .executableTarget(name: name, dependencies: dependencies, swiftSettings: .strict)
    }

    static func tests(_ name: String, _ dependencies: [Dependency], exclude: [String] = []) -> Target {
        .testTarget(name: name + "Tests", dependencies: dependencies, exclude: exclude, swiftSettings: .strict)
    }

    /// Tests that `swift test --filter Fast` runs: of libraries, without a gate that listens and without films.
    static func fastTests(
        _ name: String,
        _ dependencies: [Dependency],
        exclude: [String] = [],
        settings: [SwiftSetting] = .strict
    ) -> Target {
        .testTarget(
            name: "Fast\(name)Tests",
            dependencies: dependencies,
            path: "Tests/\(name)Tests",
            exclude: exclude,
            swiftSettings: settings
        )
    }
}

// Products of other packages come with a trait each: whoever uses this package without traits fetches none of them.
extension Target.Dependency {
    static func service(_ product: String, _ package: String) -> Self {
        .product(name: product, package: package, condition: .when(traits: ["Service"]))
    }
    static func grpc(_ product: String, _ package: String) -> Self {
        .product(name: product, package: package, condition: .when(traits: ["GRPC"]))
    }
    static func metrics(_ product: String) -> Self {
        .product(name: product, package: "swift-metrics", condition: .when(traits: ["Service"]))
    }
    static func nio(_ product: String, _ trait: String = "Service") -> Self {
        .product(name: product, package: "swift-nio", condition: .when(traits: [trait]))
    }
    static var nioSSL: Self {
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Service"]))
    }
    static var nioExtras: Self { .service("NIOExtras", "swift-nio-extras") }
    static func lifecycle(_ product: String) -> Self { .service(product, "swift-service-lifecycle") }
    static var log: Self { .service("Logging", "swift-log") }
    static var yams: Self { .service("Yams", "Yams") }
    static var system: Self { .service("SystemPackage", "swift-system") }
    static var arguments: Self { .service("ArgumentParser", "swift-argument-parser") }
}

extension Package {
    func keep(_ parts: Set<String>) {
        var (kept, new) = (parts, parts)
        var packages: Set<String> = []
        while !new.isEmpty {
            let dependencies = targets.filter { new.contains($0.name) }.flatMap(\.dependencies)
            new = []
            for dependency in dependencies {
                switch dependency {
                case .targetItem(let name, _), .byNameItem(let name, _):
                    if kept.insert(name).inserted { new.insert(name) }
                case .productItem(_, let package?, _, _): packages.insert(package)
                default: break
                }
            }
        }
        targets.removeAll { !kept.contains($0.name) }
        products.removeAll { product in
            let targets = (product as? Product.Library)?.targets ?? (product as? Product.Executable)?.targets ?? []
            return !kept.isSuperset(of: targets)
        }
        dependencies.removeAll { dependency in
            guard case .sourceControl(_, let location, _) = dependency.kind else { return false }
            return !packages.contains { location.hasSuffix("/\($0)") }
        }
    }
}

extension [SwiftSetting] {
    static var strict: [SwiftSetting] { [.strictMemorySafety()] + callingC }

    /// The settings of tests that do what C programs do, with pointers everywhere.
    static var callingC: [SwiftSetting] {
        [
            .treatAllWarnings(as: .error),
            .enableUpcomingFeature("ExistentialAny"),
            .enableUpcomingFeature("InternalImportsByDefault"),
            .enableUpcomingFeature("MemberImportVisibility"),
            .enableUpcomingFeature("InferIsolatedConformances"),
            .enableUpcomingFeature("ImmutableWeakCaptures"),
            .enableExperimentalFeature("Lifetimes"),
        ]
    }
}
