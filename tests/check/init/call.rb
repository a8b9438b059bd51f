require_relative "quern_adapter"
begin
  quern_handle($stdin.read)
  puts "done"
rescue StandardError => e
  puts "left #{e.message}"
end
