// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import MediaTokens
internal import NIOCore

/// Reads a request, lets its endpoint answer, and tells what went wrong in the endpoint's dialect.
struct Dispatcher: Sendable {
    let core: SandboxCore

    func respond(_ request: Request, _ context: SandboxContext, _ endpoint: Endpoint) async throws -> Response {
        let body: [UInt8]
        do { body = [UInt8](buffer: try await request.body.collect(upTo: Call.bodyLimit)) } catch {
            throw HTTPError(.contentTooLarge, message: "at most \(Call.bodyLimit) bytes")
        }
        guard let call = call(request, context, endpoint, body) else {
            throw HTTPError(.badRequest, message: "the path, the query or the form is malformed")
        }
        var response: Response
        do { response = try await answer(call, endpoint) } catch let refusal as Refusal {
            response = try refusal.response(to: call)
        } catch let refusal as RegistrationError {
            response = try .json(refusal, status: .badRequest)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // What went wrong may have a secret in it: only its kind is told.
            context.logger.error("fault", metadata: ["kind": "\(type(of: error))", "trace": "\(call.trace)"])
            let code = endpoint.dialect == .v2 ? StatusCode.internalServerError : .internalError
            let origin = endpoint.dialect == .v2 ? StatusCode.Origin.v2 : .v1
            response = try Refusal(code, by: origin, httpStatus: 500).response(to: call)
        }
        return response
    }

    private func answer(_ call: Call, _ endpoint: Endpoint) async throws -> Response {
        if let operation = endpoint.operation {
            if !core.control.admits(call.deviceAddress, at: call.now) { return Throttle.refusal }
            if let fault = core.control.takeFault(on: operation),
                let response = try await fault.answer(to: call, operation: operation)
            {
                return response
            }
        }
        return try await endpoint.answer(call)
    }

    private func call(_ request: Request, _ context: SandboxContext, _ endpoint: Endpoint, _ body: [UInt8]) -> Call? {
        guard let query = Fields(request.uri.query ?? "") else { return nil }
        var form = Fields()
        if request.headers[.contentType]?.lowercased().hasPrefix("application/x-www-form-urlencoded") ?? false {
            guard let text = String(validating: body, as: UTF8.self), let read = Fields(text) else { return nil }
            form = read
        }
        var segments: [String: String] = [:]
        for (name, value) in context.parameters {
            guard let value = value.percentDecoded else { return nil }
            segments[String(name)] = value
        }
        return Call(
            method: request.method,
            headers: request.headers,
            authority: request.head.authority,
            segments: segments,
            query: query,
            form: form,
            body: body,
            peer: context.channel.remoteAddress,
            channel: context.channel,
            now: core.clock(),
            trace: RandomText.uuid,
            dialect: endpoint.dialect
        )
    }
}

/// Says of every answer that it is a stand-in's, and turns what no endpoint has caught into an answer.
struct StandInMiddleware: RouterMiddleware {
    func handle(
        _ request: Request,
        context: SandboxContext,
        next: (Request, SandboxContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do { response = try await next(request, context) } catch let error as any HTTPResponseError {
            response = try error.response(from: request, context: context)
        }
        response.headers[.playgateSandbox] = "stand-in"
        return response
    }
}
