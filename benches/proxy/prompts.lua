-- Prompts of 24 tokens, 13 of them sensitive, each a new one: what was sent before would cost nothing. Says how much
-- longer answers took than the service thought about them, which it says in the answer.
local ffi = require("ffi")
ffi.cdef("typedef struct { long s, ns; } moment; int clock_gettime(int, moment *);")

local function now()
  local moment = ffi.new("moment")
  ffi.C.clock_gettime(1, moment)
  return tonumber(moment.s) + tonumber(moment.ns) / 1e9
end

local threads = {}

function setup(thread)
  thread:set("number", #threads)
  table.insert(threads, thread)
end

local names = {"doctor", "letter", "river", "money", "story", "house", "winter", "garden", "teacher", "bridge",
  "window", "market", "village", "engine", "island", "ticket", "forest", "kitchen", "hospital", "station"}
local acts = {"bought", "lost", "found", "painted", "carried", "sold", "repaired", "described", "remembered", "moved"}

local function pick(list)
  return list[math.random(#list)]
end

function init()
  math.randomseed(os.time() + number)
  added, failed, first = {}, 0, true
end

function request()
  local text = string.format("The %s %s the %s of my %s %s, and a %s %s %s in the %s %s %s with %s %s.",
    pick(names), pick(acts), pick(names), pick(names), pick(names), pick(names), pick(acts), pick(names),
    pick(names), pick(names), pick(names), pick(names), pick(names))
  local body = '{"model":"m","messages":[{"role":"user","content":"' .. text .. '"}]}'
  asked = now()
  return wrk.format("POST", "/v1/chat/completions",
    {["content-type"] = "application/json", ["authorization"] = "Bearer k"}, body)
end

-- a thread has one connection, so that this answers the last request
function response(status, _, body)
  if status ~= 200 then
    failed = failed + 1
  elseif first then
    first = false -- all clients send it at the same moment
  else
    table.insert(added, now() - asked - tonumber(body:match("thought ([%d.]+)")))
  end
end

function done(summary)
  local all, failures = {}, 0
  for _, thread in ipairs(threads) do
    for _, seconds in ipairs(thread:get("added")) do
      table.insert(all, seconds)
    end
    failures = failures + thread:get("failed")
  end
  table.sort(all)
  local function ms(share)
    return 1000 * all[math.max(1, math.ceil(share * #all))]
  end
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %.2f %.1f %.1f\n", #all, failures + errors.connect + errors.read + errors.timeout,
    #all / (summary.duration / 1e6), ms(0.5), ms(0.99)))
end
