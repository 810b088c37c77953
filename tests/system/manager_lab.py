"""manager_lab.py - koord-manager beside a real API server, with the account and the roles that are shipped for it."""
import contextlib
import http.client
import os
import re
import signal
import subprocess
import time

import webhooks
from lab import PATIENCE_S, ROOT, Failed, program
from webhooks import free_port


def until(what, fn, limit=PATIENCE_S):
    """What fn returns, once it is true."""
    end = time.monotonic() + limit
    while True:
        with contextlib.suppress(OSError, http.client.HTTPException):
            got = fn()
            if got:
                return got
        if time.monotonic() > end:
            raise Failed(f'{what}: not in {limit:.0f} s')
        time.sleep(0.1)


class Manager:
    """koord-manager on ports of its own."""

    def __init__(self, lab, name, config, *words, env=None):
        env = env or webhooks.environment(lab, name, free_port())
        self.log = os.path.join(lab.dir, f'{name}.log')
        self.metrics, self.health = free_port(), free_port()
        with open(self.log, 'ab') as log:
            self.p = subprocess.Popen(
                [program('../../src/main/koord-manager'), '--kubeconfig', config, '--enable-pprof=false', '--v=2',
                 f'--metrics-addr=127.0.0.1:{self.metrics}', f'--health-probe-addr=127.0.0.1:{self.health}', *words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **env})
        lab.closers.append(self.kill)

    def kill(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def end(self):
        self.p.send_signal(signal.SIGTERM)
        return self.p.wait(timeout=PATIENCE_S)

    def text(self):
        with open(self.log, encoding='utf-8', errors='replace') as f:
            return f.read()

    def get(self, port, path):
        c = http.client.HTTPConnection('127.0.0.1', port, timeout=10)
        try:
            c.request('GET', path)
            r = c.getresponse()
            return r.status, r.read().decode()
        finally:
            c.close()

    def ready(self):
        return self.get(self.health, '/readyz')[0] == 200

    def leads(self):
        return re.search('^koordinator_manager_is_leader 1$', self.get(self.metrics, '/internal-metrics')[1], re.M)


def prepare(lab):
    """Kinds and permissions. A kubeconfig with koord-manager's own account."""
    lab.cluster.namespace('koordinator-system')
    lab.cluster.kubectl('apply', '-f', f'{ROOT}/packaging/crds', '-f', f'{ROOT}/packaging/rbac/koord-manager.yaml')
    lab.cluster.established()
    lab.cluster.kubectl('apply', '-f', f'{ROOT}/packaging/manager/koord-manager.yaml',
                        '-f', f'{ROOT}/packaging/priorityclasses.yaml')
    token = lab.cluster.run('sa-token', 'koordinator-system', 'koord-manager', '86400')
    return lab.kubeconfig('manager.kubeconfig', [f'token: {token}'])
