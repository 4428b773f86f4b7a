-- Sends each body of a file once. Reports an answer other than 200, and stops with an error if no body is left.
local bodies, place, refused = {}, 0, 0
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"

function request()
    place = place + 1
    if place > #bodies then
        io.stderr:write("the bodies have run out\n")
        os.exit(1)
    end
    return wrk.format(nil, "/v1/playback", nil, bodies[place])
end

function response(status)
    if status ~= 200 then
        refused = refused + 1
        if refused == 1 then io.stderr:write("an answer was " .. status .. "\n") end
    end
end
