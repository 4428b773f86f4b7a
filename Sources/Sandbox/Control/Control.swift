// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import Synchronization

/// The current switches, and the throttling state of devices.
final class Control: Sendable {
    private let initial: Switches
    private let state: Mutex<State>

    private struct State {
        var switches: Switches
        var throttle = Throttle()
    }

    init(_ configuration: SandboxConfiguration) {
        let switches = Switches(configuration)
        initial = switches
        state = Mutex(State(switches: switches))
    }

    var switches: Switches { state.withLock { $0.switches } }

    /// Changes switches in one step, and resets the throttling state.
    func change(_ change: (inout Switches) -> Void) {
        state.withLock { state in
            change(&state.switches)
            state.throttle = Throttle()
        }
    }

    /// Resets all switches to the configuration.
    func reset() { change { $0 = initial } }

    /// Returns the first fault that is switched on for an operation, and decrements its count.
    func takeFault(on operation: Operation) -> Fault? {
        state.withLock { state in
            let match = { (fault: Fault) in fault.operation == operation || fault.operation == .any }
            guard let place = state.switches.faults.firstIndex(where: match) else { return nil }
            let fault = state.switches.faults[place]
            if let times = fault.times {
                if times > 1 {
                    state.switches.faults[place].times = times - 1
                } else {
                    state.switches.faults.remove(at: place)
                }
            }
            return fault
        }
    }

    /// True if throttling admits a request of a device now.
    func admits(_ device: String, at now: Timestamp) -> Bool {
        state.withLock { state in
            guard let limit = state.switches.throttling else { return true }
            return state.throttle.admits(device, limit, at: now)
        }
    }
}
