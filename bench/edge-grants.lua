-- Checks of an edge whose players show grants in a cookie: each of GRANTS in turn, and in the place of every 45th the next of
-- DUE, which is in its window of renewal. A player with segments of four seconds has its grant of five minutes renewed as often.
local grants, due, place, renewals = {}, {}, 0, 0

local function request_with(grant)
    return "GET /v1/check/forward HTTP/1.1\r\nHost: gate\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Proto: https\r\n"
        .. "X-Forwarded-Host: cdn.example\r\nX-Forwarded-Uri: /live/tnt/low/seg" .. #grants % 100 .. ".ts\r\n"
        .. "Cookie: CTA-Common-Access-Token=" .. grant .. "\r\n\r\n"
end

for line in io.lines(os.getenv("GRANTS")) do grants[#grants + 1] = request_with(line) end
for line in io.lines(os.getenv("DUE")) do due[#due + 1] = request_with(line) end

function request()
    place = place + 1
    if place % 45 ~= 0 then return grants[place % #grants + 1] end
    renewals = renewals + 1
    if renewals > #due then
        io.stderr:write("the grants that are due have run out\n")
        os.exit(1)
    end
    return due[renewals]
end
