# Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
# Call quern_handle(body) with the text of a message. It returns: delete the message. It raises: leave it.
require "json"
require "net/http"

def quern_handle(body)
  message = quern_read(body)
  raise "a version that this build does not know" unless message.nil? || message["schemaVersion"] == 1
  if message.nil? # not ours: can never succeed; do here what you do with such
    answer = quern_post("/v1/rejects", body, {})
  else
    answer = quern_post("/v1/effects", body, "Idempotency-Key" => message["idempotencyKey"])
  end
  if answer.code == "422" # never; recorded before the message is deleted
    record = { "id" => message["payload"]["id"], "reason" => answer.body.to_s }
    answer = quern_post("/v1/rejects", JSON.generate(record), {})
  end
  raise "status #{answer.code}" unless answer.code == "200" # may succeed later
end

def quern_read(body)
  message = JSON.parse(body)
  message.is_a?(Hash) && message["idempotencyKey"] && message["payload"] ? message : nil
rescue JSON::ParserError
  nil
end

def quern_post(path, body, headers)
  url = URI(ENV.fetch("QUERN_SINK_URL") + path)
  http = Net::HTTP.new(url.host, url.port)
  http.read_timeout = 60
  http.post(url.path, body, { "Content-Type" => "application/json" }.merge(headers))
end
