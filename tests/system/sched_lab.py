"""sched_lab.py - what tests with schedulers beside an API server share: many requests at a time, a running scheduler."""
import concurrent.futures
import contextlib
import glob
import http.client
import json
import os
import signal
import subprocess
import sys
import threading

from lab import CACHE, PATIENCE_S, ROOT, SANITIZER, Failed


def built(path):
    builds = [os.environ['KOORD_BUILD']] if os.environ.get('KOORD_BUILD') else ['build/asan', 'build/release']
    for build in builds:
        full = os.path.join(ROOT, build, path)
        if os.access(full, os.X_OK):
            return full
    raise Failed(f'{path} is not built in {" or ".join(builds)}')


def kube_program(name):
    """A program of Kubernetes, built when it is missing."""
    path = os.path.join(CACHE, 'kube-1.35.4', 'bin', name)
    if not os.access(path, os.X_OK):
        subprocess.run([f'{ROOT}/scripts/kube-build', name], check=True, stdout=sys.stderr)
    return path


class Api:
    """Many requests at a time, a connection a thread."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.local = threading.local()
        self.pool = concurrent.futures.ThreadPoolExecutor(16)

    def call(self, method, path, body=None, kind='application/json'):
        for attempt in range(3):
            c = getattr(self.local, 'c', None)
            if not c:
                c = self.local.c = http.client.HTTPSConnection('127.0.0.1', self.cluster.port, context=self.cluster.tls,
                                                               timeout=PATIENCE_S)
            try:
                # Without spaces, as Go writes it: the server keeps the bytes of opaque parameters, and compares them.
                c.request(method, path, json.dumps(body, separators=(',', ':')) if body is not None else None,
                          {'Authorization': f'Bearer {self.cluster.token}', 'Content-Type': kind})
                r = c.getresponse()
                return r.status, json.loads(r.read() or b'null')
            except (http.client.HTTPException, OSError):
                self.local.c = None
                if attempt == 2:
                    raise
        return 0, None

    def make(self, path, body):
        status, answer = self.call('POST', path, body)
        if status not in (200, 201, 409):
            raise Failed(f'POST {path}: {status} {answer.get("message")}')
        return answer

    def all(self, fn, items):
        return list(self.pool.map(fn, items))

    def text(self, path):
        c = http.client.HTTPSConnection('127.0.0.1', self.cluster.port, context=self.cluster.tls, timeout=PATIENCE_S)
        with contextlib.closing(c):
            c.request('GET', path, None, {'Authorization': f'Bearer {self.cluster.token}'})
            return c.getresponse().read().decode()

    def items(self, path):
        return self.call('GET', path)[1]['items']


class Scheduler:
    """A running scheduler; both read the same configuration."""

    def __init__(self, lab, what, name, *more, elect=False, profiles='[{schedulerName: default-scheduler}]', settings=''):
        """profiles, settings: YAML; settings are lines of the configuration's top level."""
        self.what, self.log = what, f'{lab.dir}/{name}.log'
        config = f'{lab.dir}/{name}.yaml'
        with open(config, 'w', encoding='ascii') as f:
            f.write('apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n'
                    f'leaderElection: {{leaderElect: {"true" if elect else "false"}, leaseDuration: 4s, renewDeadline: 3s, '
                    'retryPeriod: 500ms}\n'
                    f'clientConnection: {{kubeconfig: {lab.cluster.config()}, qps: 5000, burst: 5000}}\n'
                    f'profiles: {profiles}\n{settings}')
        program = kube_program('kube-scheduler') if what == 'kube' else built('src/main/koord-scheduler')
        words = [program, '--config', config, '--secure-port=0', *(more or ['--v=2'])]
        if what == 'annotator':
            words = [built('tests/system/annotator'), lab.cluster.config()]
        env = dict(os.environ)
        env['ASAN_OPTIONS'] = 'detect_leaks=1:' + env.get('ASAN_OPTIONS', '')
        with open(self.log, 'wb') as f:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT, env=env)
        lab.closers.append(self.kill)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def text(self):
        with open(self.log, encoding='utf-8', errors='replace') as f:
            return f.read()

    def busy_s(self):
        """Time for which its threads ran, or were ready to run and had no CPU."""
        total = 0
        for path in glob.glob(f'/proc/{self.process.pid}/task/*/schedstat'):
            with contextlib.suppress(OSError), open(path, encoding='ascii') as f:
                total += sum(int(w) for w in f.read().split()[:2])
        return total / 1e9

    def check(self):
        if self.process.poll() is not None:
            raise Failed(f'{self.what} scheduler ended: {self.text()[-600:]}')

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed(f'{self.what} scheduler does not end') from None
        if SANITIZER.search(self.text()):
            raise Failed(f'{self.what} scheduler: {self.text()[-1500:]}')


def condition(pod):
    for c in pod.get('status', {}).get('conditions', []):
        if c['type'] == 'PodScheduled':
            return c
    return {}
