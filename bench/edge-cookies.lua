-- Requests of players who show their credentials in a cookie: each line of CREDENTIALS in turn, in the cookie COOKIE.
local requests, place = {}, 0

function init()
    for line in io.lines(os.getenv("CREDENTIALS")) do
        local cookie = os.getenv("COOKIE") .. "=" .. line
        requests[#requests + 1] = wrk.format("GET", nil, { Host = "cdn.example", Cookie = cookie })
    end
end

function request()
    place = place % #requests + 1
    return requests[place]
end
