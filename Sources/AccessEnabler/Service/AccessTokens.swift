// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements
internal import NIOHTTP1
internal import Platform

/// The application's access tokens at one service. It registers the application if needed (RFC 7591), gets a token with the
/// registration (RFC 6749 §4.4), and renews the token before it expires. Concurrent callers wait for the same renewal.
actor AccessTokens {
    private let url: String
    private let statement: String
    private let redirectURL: String
    private let settings: ConnectionSettings
    private let clock: @Sendable () -> Timestamp
    private let save: @Sendable (TokenRecords.Registration?) async -> Void
    private var registration: TokenRecords.Registration?
    /// The earliest time for a new registration, if the service does not know the application.
    private var nextRegistration = Timestamp(millisecondsSince1970: .min)
    private var current: (token: String, renewal: Timestamp)?
    private var underway: Task<Result<Void, ServiceFailure>, Never>?

    /// Creates the access tokens of one service.
    ///
    /// - Parameters:
    ///   - registration: The stored registration; ignored if it belongs to another statement or redirect URL.
    ///   - settings: Stores a new registration, or removes the stored one (`nil`) if the service does not know it.
    init(
        url: String,
        statement: String,
        redirectURL: String,
        registration: TokenRecords.Registration?,
        settings: ConnectionSettings,
        clock: @escaping @Sendable () -> Timestamp,
        save: @escaping @Sendable (TokenRecords.Registration?) async -> Void
    ) {
        self.url = url
        self.statement = statement
        self.redirectURL = redirectURL
        self.settings = settings
        self.clock = clock
        self.save = save
        let digest = Self.digest(of: statement, redirectURL: redirectURL)
        self.registration = registration.flatMap { $0.statement == digest ? $0 : nil }
    }

    /// Returns the digest of the inputs of a registration.
    private static func digest(of statement: String, redirectURL: String) -> String {
        SHA256.digest("\(statement)\n\(redirectURL)").hexadecimal
    }

    /// Returns a valid token, renewed if needed.
    func token(_ options: RequestOptions) async throws(ServiceFailure) -> String {
        if let current, clock() < current.renewal { return current.token }
        let task = underway ?? Task { await self.renew(options) }
        underway = task
        try await task.value.get()
        guard let current else { throw .noAccess(nil, isStatement: false) }
        return current.token
    }

    /// Discards a token that the service no longer accepts.
    func discard(_ token: String) { if current?.token == token { current = nil } }

    private func renew(_ options: RequestOptions) async -> Result<Void, ServiceFailure> {
        defer { underway = nil }
        do throws(ServiceFailure) {
            do throws(ServiceFailure) { try await fetch(options) } catch {
                // The service may have lost the registration: register again, once.
                guard error.kind == .noAccess(isStatement: false), error.registrationError == .invalidClient,
                    registration != nil, clock() >= nextRegistration
                else { throw error }
                registration = nil
                await save(nil)
                try await fetch(options)
            }
            return .success(())
        } catch { return .failure(error) }
    }

    private func fetch(_ options: RequestOptions) async throws(ServiceFailure) {
        let registration = try await registered(options)
        var request = ServiceRequest(method: .POST, path: ["o", "client", "token"])
        request.form = [
            ("grant_type", "client_credentials"), ("client_id", registration.clientID),
            ("client_secret", registration.clientSecret),
        ]
        request.add(options)
        let token = try await ask(for: AccessToken.self, with: request, isStatement: false)
        guard !token.accessToken.isEmpty, token.accessToken.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw .unreadable("the access token is empty or has invalid characters", httpStatus: 200)
        }
        // Renew a minute before the expiry, or at half of a shorter lifetime, so that a request arrives before the expiry.
        let life = Int64(min(max(token.expiresIn ?? 3600, 1), 31_536_000)) * 1000
        current = (token.accessToken, clock().advanced(byMilliseconds: life - min(60_000, life / 2)))
    }

    private func registered(_ options: RequestOptions) async throws(ServiceFailure) -> TokenRecords.Registration {
        if let registration { return registration }
        var request = ServiceRequest(method: .POST, path: ["o", "client", "register"])
        do {
            request.json = try EntitlementBody.json(["software_statement": statement, "redirect_uri": redirectURL])
        } catch {
            throw .noAccess(.invalidSoftwareStatement, isStatement: true)
        }
        request.add(options)
        let answer = try await ask(for: ClientRegistration.self, with: request, isStatement: true)
        let made = TokenRecords.Registration(
            clientID: answer.clientID,
            clientSecret: answer.clientSecret,
            statement: Self.digest(of: statement, redirectURL: redirectURL)
        )
        registration = made
        nextRegistration = clock().advanced(byMilliseconds: 60_000)
        await save(made)
        return made
    }

    /// Sends a request without a token. A refusal means no access.
    private nonisolated func ask<Value: Decodable & Sendable>(
        for type: Value.Type,
        with request: ServiceRequest,
        isStatement: Bool
    ) async throws(ServiceFailure) -> Value {
        let answer = try await settings.http.send(request, to: url, within: settings.timeout)
        if 200..<300 ~= answer.status { return try answer.value(type) }
        if answer.status == 429 { throw answer.failure }
        let error = try? EntitlementBody.read(RegistrationError.self, json: answer.body)
        // A fault, or an answer of an intermediary, is not a refusal of the application.
        if answer.status >= 500 || error == nil && ![400, 401].contains(answer.status) {
            throw .unreadable("the service returned HTTP status \(answer.status)", httpStatus: answer.status)
        }
        throw .noAccess(error, isStatement: isStatement)
    }
}
