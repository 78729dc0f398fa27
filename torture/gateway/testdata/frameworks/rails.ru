# Orders in Rails. Each one is a line in the file that ORDERS names.
require "rails"
require "action_controller/railtie"

class Shop < Rails::Application
  config.root = __dir__
  config.eager_load = false
  config.secret_key_base = "not a secret"
  config.logger = Logger.new($stderr)
  config.log_level = :warn
  config.hosts.clear
  routes.append do
    root to: "orders#index"
    post "free", to: "orders#free"
    resources :orders, only: [:create]
    get "orders.css", to: "orders#style"
  end
end

class OrdersController < ActionController::API
  def index = render(plain: "Rails #{Rails.version} on Puma #{Puma::Const::VERSION}")
  def free = render(plain: "not an order")
  def style = render(plain: "a style")

  def create
    File.write(ENV.fetch("ORDERS"), "order\n", mode: "a")
    render plain: "an order", status: :created
  end
end

Rails.application.initialize!
run Rails.application
