// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Integrator

// Runs the application at a service. A login page is opened by hand; temporary access needs none.
// Usage: integrator-run URL PROVIDER

guard CommandLine.arguments.count == 3 else { fatalError("usage: integrator-run URL PROVIDER") }
let application = Application(softwareStatement: "eyJhbGciOiJub25lIn0.eyJzdWIiOiJpbnRlZ3JhdG9yIn0.c3RhbmQtaW4") { url in
    print("Open this URL in a browser, and press Return after the login: \(url)")
    return readLine() == nil ? nil : Application.end
}
await application.journey(at: CommandLine.arguments[1], provider: CommandLine.arguments[2])
for event in application.events { print(event) }
