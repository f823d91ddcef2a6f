"""The ERP's side of callbacks: takes genuine ones, each once.

CALLBACK_SECRET is in sandbox.json, PUBLIC_ADDRESS is the beginning of your template.
"""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tillgate_client import verify_callback

handled: set[str] = set()  # in real life: a table with a unique index


class Receiver(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        url = os.environ["PUBLIC_ADDRESS"] + self.path
        genuine = verify_callback(os.environ["CALLBACK_SECRET"], url, dict(self.headers))
        if genuine is not None and genuine.id not in handled:
            handled.add(genuine.id)
            query = parse_qs(urlsplit(url).query)
            print(f"invoice {query['invoice'][0]} is {query['state'][0]}", flush=True)
        self.send_response(200 if genuine else 401)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
print("listening", flush=True)
server.serve_forever()
