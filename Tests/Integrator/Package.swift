// swift-tools-version: 6.3
import PackageDescription

// An application that is written to the published documents, as a package of its own: it depends on the library product
// AccessEnabler alone. The main package builds the same sources for its tests; scripts/alone builds and runs this package.

let package = Package(
    name: "integrator",
    platforms: [.macOS(.v26)],
    dependencies: [.package(name: "playgate", path: "../..", traits: [.trait(name: "Service")])],
    targets: [
        .target(name: "Integrator", dependencies: [.product(name: "AccessEnabler", package: "playgate")]),
        .executableTarget(name: "integrator-run", dependencies: ["Integrator"]),
    ]
)
