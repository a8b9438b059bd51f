# Makes SQS calls with version 1 of the AWS SDK for Ruby; lines in and out as sdk_clients.py says.

require "base64"
require "json"
require "uri"
require "aws-sdk-v1"

OUTPUT = Mutex.new
# A client keeps no state between calls but its configuration.
CLIENTS = Hash.new do |known, endpoint|
  at = URI.parse(endpoint)
  known[endpoint] = AWS::SQS::Client.new(
    sqs_endpoint: at.host, sqs_port: at.port, use_ssl: false,
    access_key_id: ENV["AWS_ACCESS_KEY_ID"], secret_access_key: ENV["AWS_SECRET_ACCESS_KEY"]
  )
end
NAMES_ARE_DATA = %w[Attributes MessageAttributes tags Tags].freeze

def say(line)
  text = JSON.generate(line)
  OUTPUT.synchronize do
    $stdout.write(text + "\n")
    $stdout.flush
  end
end

def snake(name)
  name.gsub(/([A-Z]+)([A-Z][a-z])|([a-z0-9])([A-Z])/, '\1\3_\2\4').downcase
end

def camel(name)
  return name if name.is_a?(String) # a key that came from a user
  name.to_s.split("_").map { |word| word == "md5" ? "MD5" : word.capitalize }.join
end

def from_wire(value, names_are_data = false)
  case value
  when Hash
    return Base64.decode64(value["$bytes"]) if value.keys == ["$bytes"]
    value.to_h do |name, item|
      [names_are_data ? name : snake(name).to_sym, from_wire(item, NAMES_ARE_DATA.include?(name))]
    end
  when Array then value.map { |item| from_wire(item) }
  else value
  end
end

def to_wire(value)
  case value
  when Hash
    kept = value.reject { |name, item| name == :response_metadata || item == [] }
    kept.to_h { |name, item| [camel(name), name == :binary_value ? bytes(item) : to_wire(item)] }
  when Array then value.map { |item| to_wire(item) }
  else value
  end
end

def bytes(value)
  { "$bytes" => Base64.strict_encode64(value) }
end

# What a program that catches the exception can see of it.
def shown(error)
  { class: error.class.name.split("::").last, code: error.code, message: error.message,
    status: error.http_response.status }
end

def call(request)
  client = OUTPUT.synchronize { CLIENTS[request["endpoint"]] }
  action = request["action"]
  members = request["members"]
  if members.key?("SystemAttributeNames")
    members["AttributeNames"] = members.delete("SystemAttributeNames")
  end
  return { lacks: action } unless client.respond_to?(snake(action))
  output = to_wire(client.send(snake(action), from_wire(members)).data)
  if action == "ListDeadLetterSourceQueues"
    output["queueUrls"] = output.delete("QueueUrls")
  end
  { output: output }
rescue AWS::Errors::Base => error
  { error: shown(error) }
rescue ArgumentError => error
  unknown = error.message[/\Aunexpected (?:option|key) (\w+)/, 1]
  unknown ? { lacks: "#{action}.#{camel(unknown.to_sym)}" } : { broken: error.message }
rescue StandardError => error
  { broken: "#{error.class}: #{error.message}" }
end

say({ client: "aws-sdk #{AWS::VERSION}" })
$stdin.each_line do |line|
  request = JSON.parse(line)
  Thread.new { say(call(request).merge(id: request["id"])) }
end
