# Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
# Call quern_handle(body) with the text of a message. It returns: delete the message. It raises: leave it.
require "net/http"

def quern_handle(body)
  url = URI(ENV.fetch("QUERN_SINK_URL") + "/v1/handle")
  answer = Net::HTTP.start(url.host, url.port, read_timeout: 60) do |http|
    http.post(url.path, body, "Content-Type" => "text/plain")
  end
  raise "status #{answer.code}: #{answer.body}" unless answer.code == "200"
end
