// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import CPlaygate
internal import EdgeChecks
internal import EdgeTokens
internal import Encodings
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import PlaybackGate
internal import RequestTargets
internal import SharedGrants

/// See `playgate.h`.
@c @implementation
public func playgate_check(
    _ engine: OpaquePointer?,
    _ location: OpaquePointer?,
    _ request: UnsafePointer<playgate_request>?,
    _ answer: UnsafeMutablePointer<playgate_answer>?
) -> Int32 {
    guard let answer = unsafe answer, unsafe answer.pointee.size >= UInt32(PLAYGATE_ANSWER_SIZE_1) else {
        return Result.argument
    }
    guard unsafe answer.pointee.size >= UInt32(MemoryLayout<playgate_answer>.size) else {
        return unsafe withWhole(answer, size: answer.pointee.size) {
            unsafe playgate_check(engine, location, request, $0)
        }
    }
    guard Forks.areOver else { return unsafe answer.pointee.fail(with: Codes.internalFailure, returning: Result.fork) }
    guard let engine = unsafe Handle.object(of: engine, as: EmbeddedChecker.self), let request = unsafe request,
        unsafe request.pointee.size >= UInt32(PLAYGATE_REQUEST_SIZE_1)
    else { return unsafe answer.pointee.fail(with: Codes.internalFailure, returning: Result.argument) }
    let location = unsafe Handle.object(of: location, as: EdgeLocation.self)
    if unsafe request.pointee.size >= UInt32(MemoryLayout<playgate_request>.size) {
        return unsafe check(request, by: engine, in: location, into: answer)
    }
    return unsafe withWhole(request, size: request.pointee.size, empty: playgate_request()) { request in
        unsafe check(request, by: engine, in: location, into: answer)
    }
}

/// Decides about a whole request.
@unsafe
@inline(__always)
private func check(
    _ request: UnsafePointer<playgate_request>,
    by engine: EmbeddedChecker,
    in location: EdgeLocation?,
    into answer: UnsafeMutablePointer<playgate_answer>
) -> Int32 {
    guard unsafe 0...(1 << 53) ~= request.pointee.now, unsafe request.pointee.isWhole else {
        return unsafe answer.pointee.fail(with: Codes.invalidRequest, returning: Result.argument)
    }
    let now = unsafe Timestamp(millisecondsSince1970: request.pointee.now)
    let isReusable = unsafe request.pointee.flags & UInt32(PLAYGATE_REQUEST_NOT_KEPT) == 0
    if let read = unsafe EdgeCheckRequest(request) {
        let report = unsafe CallerReport(request)
        let check = engine.check(
            read,
            in: location,
            isReusable: isReusable,
            at: now,
            mediaToken: { _ in report.mediaToken() },
            report: { report }
        )
        unsafe answer.pointee.fill(check, target: request.pointee.target, at: now)
    } else {
        unsafe answer.pointee.fill(engine.refuseUnreadable(at: now), target: request.pointee.target, at: now)
    }
    unsafe answer.pointee.trace(request.pointee.traceparent)
    return Result.ok
}

extension EdgeCheckRequest {
    /// Reads a request; `nil` if its target, method or host is malformed.
    @unsafe
    fileprivate init?(_ request: UnsafePointer<playgate_request>) {
        let flags = unsafe request.pointee.flags
        let isAmbiguous = flags & UInt32(PLAYGATE_REQUEST_AMBIGUOUS) != 0
        let host = unsafe request.pointee.host.text
        let authority = host.isEmpty ? nil : URIAuthority(host)
        guard host.isEmpty || authority != nil,
            let method = unsafe PlaybackRequest.Method(reported: request.pointee.method.text(usually: "GET")),
            let target = unsafe ParsedTarget(request.pointee.target.text, isAmbiguous: isAmbiguous)
        else { return nil }
        self.init(
            target,
            method: method,
            authority: authority,
            isPartial: flags & UInt32(PLAYGATE_REQUEST_PARTIAL) != 0,
            form: flags & UInt32(PLAYGATE_REQUEST_AS_IS) != 0 ? .asIs : .resolved
        )
    }
}

extension playgate_request {
    /// True if all slices have their memory, and there is not too much of anything.
    fileprivate var isWhole: Bool {
        // A count above that of Swift's numbers is negative here.
        let credentials = 0...Limits.credentials
        guard unsafe credentials ~= token_count, unsafe credentials ~= grant_count,
            unsafe 0...Limits.headers ~= header_count
        else { return false }
        let isBroken =
            unsafe target.isBroken || method.isBroken || scheme.isBroken || host.isBroken || client.isBroken
            || alpn.isBroken || client_key.isBroken || countries.isBroken || position.isBroken
        return unsafe !isBroken && areWhole(tokens, count: token_count) && areWhole(grants, count: grant_count)
    }

    private func areWhole(_ slices: UnsafePointer<playgate_slice>?, count: Int) -> Bool {
        if count == 0 { return true }
        guard let slices = unsafe slices else { return false }
        for index in 0..<count where unsafe slices[index].isBroken { return false }
        return true
    }
}

/// The credentials and facts of a request in the memory of its caller, during a check.
@safe
private struct CallerReport: EdgeReport, @unchecked Sendable {
    // Unchecked: a check reads it on the caller's thread, and lets go of it before it returns.
    private let request: UnsafePointer<playgate_request>

    @unsafe
    init(_ request: UnsafePointer<playgate_request>) { unsafe self.request = request }

    var hasHeaders: Bool { unsafe request.pointee.headers != nil || request.pointee.header_values != nil }

    func mediaToken() -> PresentedToken {
        var presented = PresentedToken()
        for index in 0..<(unsafe request.pointee.token_count) {
            if let slice = unsafe request.pointee.tokens?[index] { unsafe presented.add(slice.text, from: 0) }
        }
        return presented
    }

    func grants() -> PresentedGrantTokens {
        var presented = PresentedGrantTokens()
        for index in 0..<(unsafe request.pointee.grant_count) {
            if let slice = unsafe request.pointee.grants?[index] { unsafe presented.add(slice.text) }
        }
        return presented
    }

    func origin(_ authority: URIAuthority?) -> EdgeOrigin {
        // A caller's text has no blanks.
        unsafe .own(scheme: RequestURI.Scheme(reported: request.pointee.scheme.text(usually: "https")))
    }

    func report(of fact: RequestFact) -> ReportedFact {
        switch fact {
        case .scheme: return unsafe .text(request.pointee.scheme.text(usually: "https"))
        case .host: return unsafe .text(request.pointee.host.text)
        case .clientAddress: return unsafe .text(request.pointee.client.text)
        case .countries: return unsafe .text(request.pointee.countries.text)
        case .position: return unsafe .text(request.pointee.position.text)
        case .clientASN:
            let number = unsafe request.pointee.client_asn
            return number == 0 ? .none : .text(String(number)[...])
        case .alpn, .clientKey:
            guard unsafe request.pointee.flags & UInt32(PLAYGATE_REQUEST_TLS_KNOWN) != 0 else { return .none }
            return unsafe .bytes(fact == .alpn ? request.pointee.alpn.array : request.pointee.client_key.array)
        case .port, .query, .method, .headers: return .none
        }
    }

    func values(of name: String) -> [Substring] {
        if let headers = unsafe request.pointee.headers {
            var values: [Substring] = []
            for index in 0..<(unsafe request.pointee.header_count) {
                let header = unsafe headers[index]
                guard unsafe header.name.length == name.utf8.count, unsafe header.name.text.isSame(name) else {
                    continue
                }
                unsafe values.append(header.value.text)
            }
            return values
        }
        guard let function = unsafe request.pointee.header_values else { return [] }
        let wanted = name.lowercased()
        return unsafe withUnsafeTemporaryAllocation(of: playgate_slice.self, capacity: 64) { slices in
            unsafe slices.initialize(repeating: playgate_slice())
            let count = unsafe wanted.withCString { text in
                let slice = unsafe playgate_slice(bytes: text, length: wanted.utf8.count)
                return unsafe function(request.pointee.header_context, slice, slices.baseAddress, slices.count)
            }
            // More values than there is room for: none is known, rather than some of them.
            guard 0...slices.count ~= count else { return [] }
            return (0..<count).map { unsafe slices[$0].text }
        }
    }
}

extension Substring {
    /// True if both are the same name of a field, regardless of the case of ASCII letters.
    fileprivate func isSame(_ name: String) -> Bool {
        utf8.elementsEqual(name.utf8) { $0.lowercasedASCII == $1.lowercasedASCII }
    }
}

extension playgate_answer {
    /// Sets everything but size and buffer to nothing, which refuses.
    fileprivate mutating func reset() {
        let (size, start, room) = unsafe (self.size, buffer, capacity)
        unsafe self = playgate_answer()
        unsafe (self.size, buffer, capacity) = (size, start, room)
        unsafe code = Codes.internalFailure
        unsafe status = 403
    }

    /// Refuses by a code, and returns a result.
    fileprivate mutating func fail(with code: Int32, returning result: Int32) -> Int32 {
        unsafe reset()
        unsafe self.code = code
        return result
    }

    /// Adds the id of the request at the end of the buffer, which is used up to there.
    fileprivate mutating func trace(_ parent: playgate_slice) {
        let texts = unsafe [mvpd, requestor, resource, session, profile, grant, set_cookie]
        let used = unsafe texts.reduce(0) { unsafe $0 + $1.length }
        guard let start = unsafe buffer, unsafe used <= capacity else { return }
        var text = unsafe TextBuffer(start + used, capacity: capacity - used)
        let id = unsafe parent.buffer().map { unsafe TraceID(traceparent: $0.span) } ?? .new()
        unsafe trace = text.write(id.digits.span)
        if unsafe text.isTruncated { unsafe flags |= UInt32(PLAYGATE_ANSWER_TRUNCATED) }
    }

    fileprivate mutating func fill(_ found: EmbeddedCheck, target: playgate_slice, at now: Timestamp) {
        unsafe reset()
        unsafe generation = found.generation
        if found.isRenewalDue { unsafe flags |= UInt32(PLAYGATE_ANSWER_RENEWAL_DUE) }
        if let end = found.goodUntil {
            unsafe good_until = end.millisecondsSince1970
            unsafe setScope(found.scope, target: target)
        }
        switch found.outcome {
        case .ask(let reason):
            unsafe outcome = Int32(PLAYGATE_ASK)
            unsafe code = Codes.number(reason)
            unsafe status = 200
        case .decided(let decision): unsafe fill(decision, at: now)
        }
    }

    private mutating func setScope(_ found: AnswerReuse.Scope, target: playgate_slice) {
        switch found {
        case .request: unsafe good_until = 0
        case .target: unsafe scope = Int32(PLAYGATE_SCOPE_TARGET)
        case .folder:
            unsafe scope = Int32(PLAYGATE_SCOPE_FOLDER)
            let bytes = unsafe target.buffer()
            let end = unsafe bytes?.firstIndex(of: UInt8(ascii: "?")) ?? bytes?.count ?? 0
            let slash = unsafe bytes?[..<end].lastIndex(of: UInt8(ascii: "/"))
            unsafe scope_length = UInt32(clamping: (slash ?? -1) + 1)
        }
    }

    private mutating func fill(_ decision: Decision, at now: Timestamp) {
        var text = unsafe TextBuffer(buffer, capacity: capacity)
        let subject = decision.subject
        subject.token?.withMVPDID { unsafe mvpd = text.write($0) }
        if let name = subject.requestor { unsafe requestor = text.write(name) }
        if let wanted = subject.resource { unsafe resource = text.write(wanted.text) }
        if let token = subject.token { unsafe expires = token.expires.millisecondsSince1970 }
        switch decision {
        case .refuse(let refusal):
            unsafe code = Codes.number(refusal.code)
            unsafe status = refusal.code.isMissing ? 401 : 403
        case .allow(let allowance):
            unsafe outcome = Int32(PLAYGATE_ALLOW)
            unsafe code = Codes.number(allowance.reason)
            unsafe status = 200
            if case .shadow = allowance.reason { unsafe flags |= UInt32(PLAYGATE_ANSWER_SHADOW) }
            if let id = allowance.access?.session { unsafe session = text.write(id.hexadecimalDigits.span) }
            unsafe fill(allowance.access, text: &text, at: now)
        }
        if unsafe text.isTruncated { unsafe flags |= UInt32(PLAYGATE_ANSWER_TRUNCATED) }
    }

    /// Adds what an observer needs of a grant whose renewals are counted.
    private mutating func fill(_ holder: GrantHolder, text: inout TextBuffer) {
        unsafe playback = holder.playback
        unsafe issued = holder.issued.millisecondsSince1970
        unsafe playback_end = holder.sessionEnd.millisecondsSince1970
        unsafe grant_number = holder.grant
        unsafe profile = text.write(holder.profile)
    }

    private mutating func fill(_ access: GrantedAccess?, text: inout TextBuffer, at now: Timestamp) {
        guard let access else { return }
        if case .accepted(let accepted) = access {
            if let end = accepted.grant.expires { unsafe expires = end.millisecondsSince1970 }
            if let holder = GrantHolder(accepted.grant) { unsafe fill(holder, text: &text) }
        }
        guard let renewed = access.delivered else { return }
        unsafe expires = renewed.expires.millisecondsSince1970
        guard let delivered = GrantDelivery(renewed, at: now) else { return }
        let token = unsafe text.write(delivered.token)
        unsafe grant = token
        if let cookie = delivered.cookie { unsafe set_cookie = text.write(cookie) }
        if delivered.isInHeader { unsafe flags |= UInt32(PLAYGATE_ANSWER_GRANT_HEADER) }
    }
}
