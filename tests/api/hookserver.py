"""hookserver.py - a webhook server on loopback with TLS: answers by path, and remembers what it was asked.

A path has a function of the AdmissionReview's request; it returns the response (a dict, to which uid, kind and version are
added), or bytes for a body as it is, or (status, bytes), or None to close the connection without an answer.
"""
import base64
import http.server
import json
import os
import ssl
import subprocess
import tempfile
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def do_POST(self):  # noqa: N802 (http.server wants it so)
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        path = self.path.split('?')[0].strip('/')
        review = json.loads(body)
        hooks = self.server.hooks
        with hooks.lock:
            hooks.asked.append((path, self.path, review))
            answer = hooks.answers.get(path)
        said = answer(review['request']) if answer else {'allowed': True}
        status, kind = 200, 'application/json'
        if said is None:
            self.close_connection = True
            return
        if isinstance(said, dict):
            said = json.dumps({'kind': 'AdmissionReview', 'apiVersion': review['apiVersion'],
                               'response': {'uid': review['request']['uid'], **said}}).encode()
        elif isinstance(said, tuple):
            status, said = said
            kind = 'text/plain' if said else kind
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(said)))
        self.end_headers()
        self.wfile.write(said)


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """A client that goes away is part of the checks."""


class HookServer:
    def __init__(self):
        self.lock, self.asked, self.answers = threading.Lock(), [], {}
        with tempfile.TemporaryDirectory() as d:
            key, cert = os.path.join(d, 'key'), os.path.join(d, 'cert')
            subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
                            '-days', '2', '-subj', '/CN=hooks', '-addext', 'subjectAltName=IP:127.0.0.1',
                            '-keyout', key, '-out', cert], check=True, capture_output=True, stdin=subprocess.DEVNULL)
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(cert, key)
            with open(cert, 'rb') as f:
                self.ca = base64.b64encode(f.read()).decode()
        self.http = Listener(('127.0.0.1', 0), Handler)
        self.http.hooks = self
        self.http.socket = tls.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def config(self, path, **more):
        return {'url': f'https://127.0.0.1:{self.port}/{path}', 'caBundle': self.ca, **more}

    def requests(self, path):
        with self.lock:
            return [r['request'] for p, _, r in self.asked if p == path]

    def reviews(self, path):
        with self.lock:
            return [r for p, _, r in self.asked if p == path]

    def targets(self, path):
        with self.lock:
            return [t for p, t, _ in self.asked if p == path]
