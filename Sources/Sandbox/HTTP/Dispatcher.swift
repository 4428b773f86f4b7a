// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// Reads a request, calls its endpoint and reports errors in the endpoint's dialect.
struct Dispatcher: Sendable {
    let core: SandboxCore

    func respond(to request: Request, in context: SandboxContext, at endpoint: Endpoint) async throws -> Response {
        var body: [UInt8] = []
        var isTooLarge = false
        do {
            body = [UInt8](buffer: try await request.body.collect(upTo: EndpointRequest.bodyLimit))
        } catch is NIOTooManyBytesError {
            isTooLarge = true
        }
        let (call, isMalformed) = call(from: request, in: context, to: endpoint, body: body)
        var response: Response
        do {
            if isTooLarge {
                throw EndpointError.unreadable(
                    call,
                    message: "at most \(EndpointRequest.bodyLimit) bytes",
                    httpStatus: 413
                )
            }
            if isMalformed { throw EndpointError.unreadable(call, message: "the path, query or form is malformed") }
            response = try await reply(to: call, at: endpoint)
        } catch let refusal as EndpointError {
            response = try refusal.response(to: call)
        } catch let refusal as RegistrationError {
            response = try .json(refusal, status: .badRequest)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // The error may contain a secret, so only its type is logged.
            context.logger.error("fault", metadata: ["kind": "\(type(of: error))", "trace": "\(call.trace)"])
            var fault = EndpointError.of(call, v1: .internalError, v2: .internalServerError)
            fault.status.status = 500
            response = try fault.response(to: call)
        }
        // The unread rest of the body would be parsed as the next request.
        if isTooLarge { response.headers[.connection] = "close" }
        log(call, at: endpoint, response: response, to: context.logger)
        return response
    }

    /// Logs one line for a request, with the route pattern instead of the path. Paths contain codes and ids, and
    /// queries contain more.
    private func log(_ call: EndpointRequest, at endpoint: Endpoint, response: Response, to logger: Logger) {
        guard logger.logLevel <= .info else { return }
        var facts: Logger.Metadata = ["status": "\(response.status.code)", "trace": "\(call.trace)"]
        // The global client options that the request has.
        let options = [("visitorID", "AP-Visitor-Identifier"), ("applicationProfile", "AP-Application-Profile")]
        let given = options.filter { call.header($0.1) != nil }.map(\.0)
        if !given.isEmpty { facts["options"] = "\(given.joined(separator: ","))" }
        logger.info("\(endpoint.method) \(endpoint.path)", metadata: facts)
    }

    private func reply(to call: EndpointRequest, at endpoint: Endpoint) async throws -> Response {
        if let operation = endpoint.operation {
            if core.control.switches.throttling != nil {
                let address = try await deviceAddress(call)
                if !core.control.admits(address, at: call.now) { return try Throttle.refusal(of: call) }
            }
            if let fault = core.control.nextFault(on: operation),
                let response = try await fault.response(to: call, operation: operation)
            {
                return response
            }
        }
        return try await endpoint.answer(call)
    }

    /// Returns the address of the device: the forwarded address if a registered application sends it, else the peer's
    /// address.
    private func deviceAddress(_ call: EndpointRequest) async throws -> String {
        if let address = call.forwardedAddress, let token = call.bearer,
            try await core.store.client(withAccessToken: token, at: call.now) != nil
        {
            return address
        }
        return call.peer?.ipAddress ?? "unknown"
    }

    /// Parses a request. Malformed parts are left out, and `isMalformed` reports them.
    private func call(
        from request: Request,
        in context: SandboxContext,
        to endpoint: Endpoint,
        body: [UInt8]
    ) -> (EndpointRequest, isMalformed: Bool) {
        let query = Fields(request.uri.query ?? "")
        var form: Fields? = Fields()
        if request.headers[.contentType]?.lowercased().hasPrefix("application/x-www-form-urlencoded") ?? false {
            form = String(validating: body, as: UTF8.self).flatMap { Fields($0) }
        }
        var segments: [String: String] = [:]
        for (name, value) in context.parameters {
            if let value = value.percentDecoded { segments[String(name)] = value }
        }
        let isMalformed = query == nil || form == nil || segments.count < context.parameters.count
        let call = EndpointRequest(
            method: request.method,
            headers: request.headers,
            authority: request.head.authority,
            segments: segments,
            query: query ?? Fields(),
            form: form ?? Fields(),
            body: body,
            peer: context.channel.remoteAddress,
            channel: context.channel,
            now: core.clock(),
            trace: RandomText.uuid,
            dialect: endpoint.dialect
        )
        return (call, isMalformed)
    }
}

/// The context of a request: the router's storage and the connection's channel.
struct SandboxContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}

/// Marks every response as the sandbox's, and turns errors that no endpoint caught into responses. Refuses (421) requests to
/// a host name that is not the service's.
struct StandInMiddleware: RouterMiddleware {
    let names: ServiceNames

    func handle(
        _ request: Request,
        context: SandboxContext,
        next: (Request, SandboxContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        if !names.contain(request.head.authority) {
            response = .text(ServiceNames.refusal, status: .misdirectedRequest)
        } else {
            do { response = try await next(request, context) } catch let error as any HTTPResponseError {
                response = try error.response(from: request, context: context)
            }
        }
        response.headers[.playgateSandbox] = "stand-in"
        return response
    }
}

/// The host names that the service answers to, as a defence against DNS rebinding. A page of another site can make its own
/// name resolve to this machine, and then read what a browser on this machine receives. The `Host` header field exposes that
/// name.
struct ServiceNames: Sendable {
    /// The configured names in lower case; `nil` if every name is accepted, because other machines may send requests too.
    private let more: [String]?

    /// Creates the names of a service.
    ///
    /// - Parameters:
    ///   - address: The address that the service listens on.
    ///   - more: The names besides the loopback names. They count only if `address` is a loopback address.
    init(listeningOn address: String, more: [String]) {
        let isLoopback = address.namesLoopback || address == "::1"
        self.more = isLoopback ? more.map { $0.lowercased() } : nil
    }

    /// True if a `Host` header field, with or without a port, names this service.
    func contain(_ host: String?) -> Bool {
        guard let more else { return true }
        guard let host else { return false }
        if host.namesLoopback { return true }
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        return more.contains(name.lowercased())
    }

    static let refusal = """
        421 Misdirected Request
        The host name is not allowed: use 127.0.0.1, [::1] or localhost, or add the name to \"hosts\" of the sandbox's \
        configuration.

        """
}
