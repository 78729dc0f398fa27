# Orders in Sinatra. Each one is a line in the file that ORDERS names.
require "sinatra/base"

class Shop < Sinatra::Base
  enable :method_override
  disable :strict_paths

  get("/") { "Sinatra #{Sinatra::VERSION} on Puma #{Puma::Const::VERSION}" }
  get("/orders.css") { "a style" }
  post("/free") { "not an order" }
  post "/orders(.:format)?" do
    File.write(ENV.fetch("ORDERS"), "order\n", mode: "a")
    [201, "an order"]
  end
end

run Shop
