"""Prints the variables of each request, as WSGI applications read them (PEP 3333)."""
import json
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'application/json')])
    variables = {name: value for name, value in environ.items() if name.startswith('HTTP_')}
    return [json.dumps(variables).encode()]


make_server('127.0.0.1', int(sys.argv[1]), application, handler_class=Quiet).serve_forever()
