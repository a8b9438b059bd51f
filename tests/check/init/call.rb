require_relative "quern_adapter"
begin
  quern_handle($stdin.read)
rescue StandardError => e
  warn "left: #{e.message}"
  exit 75
end
