-- Asks Dripgate (/v1/forward-auth) about a request, over core.tcp: core.httpclient of HAProxy 2.6 has no short timeouts.
--
--   lua-load dripgate.lua
--   http-request lua.dripgate ADDRESS:PORT HEADER,HEADER...   -- facts beside X-Forwarded-*, as server.forwardAuth names them
--
-- Sets txn.dripgate_pass to "yes", or answers the client. Reads txn.dripgate_away ("pass": while Dripgate does not answer
-- the request passes) and txn.dripgate_authorization.
local browser_headers = "origin,access-control-request-method,idempotency-key"
local budget = 0.1          -- seconds for the whole question
local header_lines_max = 64 -- of an answer
local body_bytes_max = 65536

-- What HAProxy writes itself, and what is meant for gateways.
local not_for_clients = {
    ["connection"] = true, ["content-length"] = true, ["transfer-encoding"] = true,
    ["dripgate-status"] = true, ["dripgate-problem"] = true,
}
-- The client wrote something that Dripgate cannot read: no reason to pass.
local unreadable = { [400] = true, [413] = true, [414] = true, [431] = true }

local function seconds()
    local now = core.now()
    return now.sec + now.usec / 1000000
end

local function question(txn, server, names)
    local lines = {
        "GET /v1/forward-auth HTTP/1.1",
        "Host: " .. server,
        "Connection: close",
        "X-Forwarded-Method: " .. txn.f:method(),
        "X-Forwarded-Uri: " .. txn.f:pathq(),
        "X-Forwarded-For: " .. tostring(txn.f:src()), -- behind other proxies: http-request set-src
    }
    local headers = txn.http:req_get_headers()
    local host = headers["host"]
    if host then lines[#lines + 1] = "X-Forwarded-Host: " .. host[0] end
    for name in (names .. "," .. browser_headers):gmatch("[^,]+") do
        local values = headers[name:lower()]
        local i = 0
        while values and values[i] do -- all of them: of two values Dripgate believes none
            lines[#lines + 1] = name .. ": " .. values[i]
            i = i + 1
        end
    end
    local authorization = txn:get_var("txn.dripgate_authorization")
    if authorization then lines[#lines + 1] = "Authorization: " .. authorization end
    return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

-- status, headers (small letters), body; nil: no answer in time, or none that can be understood.
local function ask(txn, server, names)
    local address, port = server:match("^(.*):(%d+)$")
    local text = question(txn, server, names)
    local socket = core.tcp()
    local deadline = seconds() + budget
    local function in_time()
        local left = deadline - seconds()
        if left < 0.001 then return false end
        socket:settimeout(left)
        return true
    end
    local function line()
        local got = in_time() and socket:receive("*l")
        return got and got:gsub("\r$", "")
    end

    local status, headers, body = nil, {}, ""
    if in_time() and socket:connect(address, tonumber(port)) and in_time() and socket:send(text) then
        local first = line()
        status = first and tonumber(first:match("^HTTP/1%.1 (%d%d%d) "))
        for _ = 1, header_lines_max do
            local header = status and line()
            if not header then status = nil end
            if not header or header == "" then break end
            local name, value = header:match("^([^:]+):%s*(.-)%s*$")
            if name then headers[name:lower()] = value end
        end
        local length = tonumber(headers["content-length"] or "0")
        if status and length > 0 then
            body = length <= body_bytes_max and in_time() and socket:receive(length)
            if not body or #body < length then status = nil end
        end
    end
    socket:close()
    return status, headers, body
end

local function answer(txn, status, headers, body)
    local reply = txn:reply()
    reply:set_status(status)
    for name, value in pairs(headers) do
        if not not_for_clients[name] then reply:add_header(name, value) end
    end
    reply:add_header("content-length", tostring(#body))
    reply:set_body(body)
    txn:done(reply)
end

local function pass(txn, headers)
    for name, variable in pairs({
        ["ratelimit"] = "txn.dripgate_ratelimit",
        ["ratelimit-policy"] = "txn.dripgate_ratelimit_policy",
        ["access-control-expose-headers"] = "txn.dripgate_expose",
    }) do
        if headers[name] then txn:set_var(variable, headers[name]) end
    end
    txn:set_var("txn.dripgate_pass", "yes")
end

core.register_action("dripgate", { "http-req" }, function(txn, server, names)
    local status, headers, body = ask(txn, server, names)
    if status == 200 then
        pass(txn, headers)
    elseif status and (headers["dripgate-status"] or unreadable[status]) then
        answer(txn, status, headers, body)
    elseif not status or status >= 500 then
        if txn:get_var("txn.dripgate_away") == "pass" then pass(txn, {}) end
    else
        core.Warning("dripgate answers " .. status .. ": see server.tokens and server.trustedProxies of its config")
    end
end, 2)
