// swift-tools-version: 6.1
import PackageDescription

// A package of its own: its dependencies take minutes to build, and only this comparison needs them.
let package = Package(
    name: "jwt-kit-peer",
    platforms: [.macOS(.v15)],
    dependencies: [.package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1")],
    targets: [
        .executableTarget(name: "verify", dependencies: [.product(name: "JWTKit", package: "jwt-kit")]),
        .executableTarget(name: "formats", dependencies: [.product(name: "JWTKit", package: "jwt-kit")]),
    ]
)
