-- The action lua.svc-guard asks svc whether a request may pass (HAProxy 2.6 or later).
-- Usage: http-request lua.svc-guard http://127.0.0.1:8001/svc/guard

-- The names in guard.headers of svc.
local identity = {
  'remote-user', 'remote-email', 'remote-name', 'remote-groups',
  'svc-user-id', 'svc-abilities', 'svc-actor', 'svc-credential', 'authorization',
}

-- Headers of the connection or of the body, and headers that this action sets.
local omitted = {
  ['connection'] = true, ['keep-alive'] = true, ['te'] = true, ['trailer'] = true, ['transfer-encoding'] = true,
  ['content-length'] = true, ['content-encoding'] = true, ['expect'] = true, ['host'] = true,
  ['x-forwarded-for'] = true, ['x-forwarded-proto'] = true, ['x-forwarded-host'] = true,
  ['x-forwarded-uri'] = true, ['x-forwarded-method'] = true, ['upgrade'] = true,
  ['x-original-url'] = true, ['x-original-method'] = true,
}

-- Headers of a refusal that the client receives.
local answered = {
  'content-type', 'location', 'www-authenticate', 'retry-after', 'cache-control', 'vary', 'svc-error',
}

-- Returns the values of a header in the order of their lines. HAProxy numbers them from 0, which pairs() returns last.
local function values(list)
  local found = {}
  while list and list[#found] do found[#found + 1] = list[#found] end
  return found
end

-- Removes the cookies of svc, so that a service cannot use the session of its visitors.
local function remove_cookies(txn, received)
  local kept = {}
  for cookie in table.concat(values(received['cookie']), ';'):gmatch('[^;]+') do
    cookie = cookie:gsub('^%s+', '')
    if not cookie:gsub('^__Secure%-', ''):find('^svc_') then kept[#kept + 1] = cookie end
  end
  txn.http:req_del_header('cookie')
  if #kept > 0 then txn.http:req_set_header('cookie', table.concat(kept, '; ')) end
end

core.register_action('svc-guard', { 'http-req' }, function(txn, url)
  local headers = {}
  local received = txn.http:req_get_headers()
  for name, list in pairs(received) do
    if not omitted[name] then headers[name] = values(list) end
  end
  local hops = values(received['x-forwarded-for'])
  hops[#hops + 1] = txn.sf:src()
  headers['x-forwarded-for'] = { table.concat(hops, ', ') }
  headers['x-original-method'] = { txn.sf:method() }
  local scheme = txn.f:ssl_fc() == 1 and 'https' or 'http'
  headers['x-original-url'] = { scheme .. '://' .. txn.sf:req_fhdr('host') .. txn.sf:pathq() }

  local client = core.httpclient()
  local response = client:get({ url = url, headers = headers, timeout = 10000 })

  if response and response.status == 200 then
    for _, name in ipairs(identity) do
      txn.http:req_del_header(name)
      local list = values(response.headers[name])
      if list[1] then
        txn.http:req_set_header(name, list[1])
        -- Without space for it (tune.maxrewrite), HAProxy omits the header.
        if txn.sf:req_fhdr(name) ~= list[1] then return txn:done(txn:reply({ status = 431 })) end
      end
    end
    remove_cookies(txn, received)
    return
  end

  local status = response and response.status or 503
  -- An answer that is no refusal, such as 204, must not reach the client as a success.
  if status < 300 then status = 502 end
  local reply = txn:reply({ status = status, body = response and response.body or '' })
  for _, name in ipairs(answered) do
    for _, value in ipairs(values(response and response.headers and response.headers[name])) do
      reply:add_header(name, value)
    end
  end
  txn:done(reply)
end, 1)
