"""up.py - a running `koordctl up` on a directory of its own: started, killed, started again; asked over HTTP."""
import json
import os
import ssl
import subprocess
import time
import urllib.error
import urllib.request

from lab import PATIENCE_S, SANITIZER, Failed, program


class Up:
    def __init__(self, lab, *words, data=None, log=None):
        self.data, self.log = data or f'{lab.dir}/data', log or f'{lab.dir}/up.log'
        self.program = program('../../src/main/koordctl')
        self.words = words
        self.p = None
        lab.closers.append(self.kill)
        self.start()

    def start(self, *words):
        """With these words, or those it was made with. Returns when it serves."""
        told = f'{self.data}/up.json'
        if os.path.exists(told):
            os.remove(told)  # of one that was killed
        with open(self.log, 'ab') as log:
            self.p = subprocess.Popen([self.program, 'up', '--data', self.data, '--listen', '127.0.0.1:0',
                                       *(words or self.words)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.until('up', lambda: os.path.exists(told))
        with open(told, encoding='utf-8') as f:
            self.url = json.load(f)['url']
        with open(f'{self.data}/token', encoding='ascii') as f:
            self.token = f.read().strip()
        self.ca = f'{self.data}/server.crt'
        self.tls = ssl.create_default_context(cafile=self.ca)

    def kill(self):
        if self.p and self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def stop(self, signum):
        """The exit status; None: it does not end."""
        self.p.send_signal(signum)
        try:
            return self.p.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def complaints(self):
        """What a sanitizer had to say, or None."""
        with open(self.log, encoding='utf-8', errors='replace') as f:
            return SANITIZER.search(f.read())

    def until(self, what, fn, limit=PATIENCE_S):
        """What fn returns, once it is true."""
        end = time.monotonic() + limit
        while True:
            got = fn()
            if got:
                return got
            if time.monotonic() > end or self.p.poll() is not None:
                raise Failed(f'{what}: not in {limit:.0f} s')
            time.sleep(0.1)

    def ask(self, path, body=None, method=None):
        kind = 'application/merge-patch+json' if method == 'PATCH' else 'application/json'
        r = urllib.request.Request(self.url + path, json.dumps(body).encode() if body is not None else None,
                                   {'Authorization': f'Bearer {self.token}', 'Content-Type': kind}, method=method)
        try:
            with urllib.request.urlopen(r, timeout=PATIENCE_S, context=self.tls) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            raise Failed(f'{path}: {e.code} {e.read()[-300:]}') from e

    def names(self, path):
        return sorted(o['metadata']['name'] for o in self.ask(path)['items'])

    def ready(self):
        """How many nodes are."""
        return sum(any(c['type'] == 'Ready' and c['status'] == 'True' for c in n['status'].get('conditions', []))
                   for n in self.ask('/api/v1/nodes')['items'])
