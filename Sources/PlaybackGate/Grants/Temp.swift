public import EdgeTokens
internal import MediaTokens
public import Platform
public final class RevocationMirror: Sendable {
    public static let greatestAge = Duration.seconds(30)
    public init(capacity: Int = 1_000_000, tag: @escaping @Sendable (SHA256Digest) -> SubjectTag?) {}
    public func isRevoked(_ tag: SubjectTag, issued: Timestamp) -> Bool { false }
    public func isRevoked(_ session: SessionID) -> Bool { false }
    public func age(at instant: ContinuousClock.Instant = .now) -> Duration? { .zero }
}
public struct LeaseKey: Hashable, Sendable {
    public init(requestor: String, mvpd: SubjectTag, viewer: SubjectTag) {}
}
public struct StreamLease: Hashable, Sendable {
    public let key: LeaseKey
    public let session: SessionID
    public let limit: Int
    public let expires: Timestamp
    public static let maximumLimit = 64
    public init(_ key: LeaseKey, session: SessionID, limit: Int, expires: Timestamp) {
        self.key = key
        self.session = session
        self.limit = limit
        self.expires = expires
    }
}
public enum LeaseOutcome: Hashable, Sendable {
    case taken
    case renewed
    case limitReached(current: Int)
    case full
}
public protocol LeaseStore: Sendable {
    func take(_ lease: StreamLease, at now: Timestamp) async throws(ReplayStoreError) -> LeaseOutcome
    func free(_ session: SessionID, at now: Timestamp) async throws(ReplayStoreError) -> Bool
}
extension ReplayStore {
    func take(_ lease: StreamLease, at now: Timestamp) async throws(ReplayStoreError) -> LeaseOutcome { .taken }
    func free(_ session: SessionID, at now: Timestamp) async throws(ReplayStoreError) -> Bool { false }
    func insert(_ key: SHA256Digest, until: Timestamp, at now: Timestamp) async throws(ReplayStoreError) -> Bool { true }
}
