"""Orders in Flask. Each one is a line in the file that ORDERS names."""
import os

import flask
import gunicorn
from importlib.metadata import version

app = flask.Flask(__name__)
app.url_map.strict_slashes = False


class Prefix:
    """What many programs do to run below a prefix of a proxy."""

    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        prefix = environ.get("HTTP_X_SCRIPT_NAME", "")
        if prefix and environ["PATH_INFO"].startswith(prefix):
            environ["SCRIPT_NAME"] = prefix
            environ["PATH_INFO"] = environ["PATH_INFO"][len(prefix):]
        return self.app(environ, start_response)


class MethodOverride:
    """Flask's documentation shows it."""

    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        method = environ.get("HTTP_X_HTTP_METHOD_OVERRIDE", "").upper()
        if method:
            environ["REQUEST_METHOD"] = method
        return self.app(environ, start_response)


app.wsgi_app = MethodOverride(Prefix(app.wsgi_app))


@app.get("/")
def index():
    return f"Flask {version('flask')} on gunicorn {gunicorn.__version__}"


@app.get("/orders.css")
def style():
    return "a { color: black }"


@app.post("/free")
def free():
    return "not an order"


@app.post("/orders")
def order():
    with open(os.environ["ORDERS"], "a") as f:
        f.write("order\n")
    return "an order", 201
