"""lab.py - what system tests are made of: a cluster, probes, a line that can be cut, a report.

A cluster is one control plane of tests/system/cluster in a directory of its own; a probe is a running kube_probe whose
lines are kept; a report prints one line a check and counts them. Everything is taken down by Lab.close(), and by a
guard process when this one dies without a word.
"""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FULL = bool(os.environ.get('KOORD_TEST_FULL'))
CACHE = os.environ.get('KOORD_CACHE') or os.path.join(
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'koord')
KUBECTL = os.path.join(CACHE, 'kube-1.35.4', 'bin', 'kubectl')
# How long a test waits for what must happen by itself. It never waits for a fixed time, so this costs nothing where it
# happens, and a machine that does other things besides may take its time.
PATIENCE_S = 120.0
SANITIZER = re.compile(r'ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|: runtime error: ')


REPORT_CHARS = 8000


def sanitizer_report(path):
    """What a sanitizer has said in this log, with what follows it, or ''."""
    with open(path, encoding='utf-8', errors='replace') as f:
        text = f.read()
    found = SANITIZER.search(text)
    return text[found.start():][:REPORT_CHARS] if found else ''


class Failed(Exception):
    """A check that the rest of its scenario depends on."""


class NoCluster(Exception):
    """What the cluster is made of cannot be had here: exit status 3 of tests/system/cluster."""


def program(name):
    """The newest build's program, under KOORD_BUILD when that is set."""
    builds = [os.environ['KOORD_BUILD']] if os.environ.get('KOORD_BUILD') else ['build/asan', 'build/release']
    for build in builds:
        path = os.path.join(ROOT, build, 'tests/system', name)
        if os.access(path, os.X_OK):
            return path
    raise Failed(f'{name} is not built in {" or ".join(builds)}')


class Report:
    """One line a check, safe for use by several threads."""

    def __init__(self, name):
        self.name = name
        self.passed = self.failed = self.skipped = 0
        self.lock = threading.Lock()

    def check(self, what, good, why=''):
        with self.lock:
            if good:
                self.passed += 1
                print(f'ok {what}', flush=True)
            else:
                self.failed += 1
                print(f'not ok {what}: {why or "it is not so"}', flush=True)
        return bool(good)

    def need(self, what, good, why=''):
        if not self.check(what, good, why):
            raise Failed('')

    def skip(self, what, why):
        with self.lock:
            self.skipped += 1
            print(f'skipped {what}: {why}', flush=True)

    @contextlib.contextmanager
    def scenario(self, what):
        """What goes wrong inside is one failed check, and the next scenario has its turn."""
        start = time.monotonic()
        try:
            yield
        except Failed as e:
            if str(e):
                self.check(what, False, str(e))
        except (OSError, subprocess.SubprocessError, http.client.HTTPException, ValueError, KeyError) as e:
            self.check(what, False, f'{type(e).__name__}: {e}')
        print(f'# {what}: {time.monotonic() - start:.1f} s', flush=True)

    def summary(self):
        tail = f', {self.skipped} skipped' if self.skipped else ''
        print(f'{self.name}: {self.passed} passed, {self.failed} failed{tail}', flush=True)
        return 1 if self.failed else 0


class Cluster:
    """A kube-apiserver with its etcd; api() is a client that shares nothing with ours."""

    def __init__(self, folder, *options):
        self.dir = folder
        out = subprocess.run([f'{HERE}/cluster', 'up', folder, *options], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, check=False)
        if out.returncode == 3:
            raise NoCluster(out.stderr.strip().splitlines()[-1] if out.stderr.strip() else 'no Go')
        if out.returncode:
            raise Failed(f'cluster up: {out.stderr.strip()[-400:]}')
        self.port = int(out.stdout.strip().rsplit(':', 1)[1])
        self.tls = ssl.create_default_context(cafile=f'{folder}/pki/ca.crt')
        with open(f'{folder}/pki/admin.token', encoding='ascii') as f:
            self.token = f.read().strip()

    def config(self, name='admin'):
        return f'{self.dir}/{name}.kubeconfig'

    def run(self, *words):
        out = subprocess.run([f'{HERE}/cluster', words[0], self.dir, *words[1:]], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False)
        if out.returncode:
            raise Failed(f'cluster {words[0]}: {out.stderr.strip()[-400:]}')
        return out.stdout.strip()

    def pid(self):
        with open(f'{self.dir}/kube-apiserver.pid', encoding='ascii') as f:
            return int(f.read())

    def api(self, method, path, body=None, token=None, kind='application/json'):
        """(status, answer)"""
        status, text = self.raw(method, path, body, token, kind)
        return status, json.loads(text or b'null')

    def raw(self, method, path, body=None, token=None, kind='application/json'):
        """The same, the answer as bytes."""
        c = http.client.HTTPSConnection('127.0.0.1', self.port, context=self.tls, timeout=PATIENCE_S)
        try:
            c.request(method, path, json.dumps(body) if body is not None else None,
                      {'Authorization': f'Bearer {token or self.token}', 'Content-Type': kind})
            r = c.getresponse()
            return r.status, r.read()
        finally:
            c.close()

    def make(self, path, body):
        status, answer = self.api('POST', path, body)
        if status not in (201, 409):
            raise Failed(f'POST {path}: {status} {answer.get("message")}')
        return answer

    def namespace(self, name):
        self.make('/api/v1/namespaces', {'metadata': {'name': name}})
        return name

    def kubectl(self, *words):
        if not os.access(KUBECTL, os.X_OK):
            subprocess.run([f'{ROOT}/scripts/kube-build', 'kubectl'], check=True, stdout=sys.stderr)
        out = subprocess.run([KUBECTL, '--kubeconfig', self.config(), *words], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False)
        if out.returncode:
            raise Failed(f'kubectl {" ".join(words[:3])}: {out.stderr.strip()[-400:]}')
        return out.stdout

    def established(self):
        """Waits for all CRDs. kubectl wait cannot: it ends with an error at one that has no conditions yet."""
        end = time.monotonic() + PATIENCE_S
        while True:
            crds = self.api('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions')[1]['items']
            waiting = [c['metadata']['name'] for c in crds if not any(
                (k['type'], k['status']) == ('Established', 'True') for k in c.get('status', {}).get('conditions') or ())]
            if not waiting:
                return
            if time.monotonic() > end:
                raise Failed(f'not established: {waiting}')
            time.sleep(0.05)


class Probe:
    """A running kube_probe: its lines so far, and waiting for more."""

    def __init__(self, *words, level=2):
        self.what = ' '.join(w for w in words if not w.startswith('/'))
        self.lines, self.errors = [], []
        self.news = threading.Condition()
        env = dict(os.environ)
        env['ASAN_OPTIONS'] = 'detect_leaks=1:' + env.get('ASAN_OPTIONS', '')
        env['UBSAN_OPTIONS'] = 'halt_on_error=1:print_stacktrace=1:' + env.get('UBSAN_OPTIONS', '')
        self.p = subprocess.Popen([program('kube_probe'), words[0], '-v', str(level), *words[1:]], env=env, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=1)
        self.readers = [threading.Thread(target=self._read, args=a, daemon=True)
                        for a in ((self.p.stdout, self.lines), (self.p.stderr, self.errors))]
        for t in self.readers:
            t.start()

    def _read(self, stream, lines):
        for line in stream:
            with self.news:
                lines.append(line.rstrip('\n'))
                self.news.notify_all()
        with self.news:
            self.news.notify_all()

    def wait(self, pattern, limit=PATIENCE_S, start=0, errors=False):
        """The number of the first line from `start` on that matches."""
        lines = self.errors if errors else self.lines
        until = time.monotonic() + limit
        at = start
        with self.news:
            while True:
                while at < len(lines):
                    if re.match(pattern, lines[at]):
                        return at
                    at += 1
                if time.monotonic() >= until or not any(t.is_alive() for t in self.readers):
                    last = (self.lines[-1:] + self.errors[-1:]) or ['nothing']
                    raise Failed(f'{self.what}: no "{pattern}" in {limit:.0f} s; last: {" | ".join(last)}')
                self.news.wait(max(0.0, until - time.monotonic()))

    def ask(self, command, pattern, limit=PATIENCE_S):
        """Sends a command; the line that answers it."""
        start = self.tell(command)
        return self.lines[self.wait(pattern, limit, start)]

    def tell(self, command):
        """Sends a command; how many lines there were before."""
        start = len(self.lines)
        self.p.stdin.write(command + '\n')
        self.p.stdin.flush()
        return start

    def stats(self):
        return {k: int(v) for k, v in re.findall(r'(\w+)=(\d+)', self.ask('stats', 'stats '))}

    def told(self, since=0):
        """The news from line `since` on: a list of (what, key)."""
        return [tuple(line.split(' ')[:2]) for line in self.lines[since:] if re.match('(add|update|delete) ', line)]

    def send(self, signum):
        self.p.send_signal(signum)

    def end(self, limit=PATIENCE_S):
        """Closes its input; why it did not end well, or ''."""
        with contextlib.suppress(OSError):
            self.p.stdin.close()
        try:
            code = self.p.wait(limit)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
            return f'{self.what}: no end within {limit:.0f} s'
        for t in self.readers:
            t.join(PATIENCE_S)
        bad = [line for line in self.errors if SANITIZER.search(line)]
        if bad:
            print('\n'.join(self.errors[-60:]), flush=True)
            return f'{self.what}: {bad[0]}'
        wrong = [line for line in self.lines if line.startswith('violation ')]
        if wrong:
            return f'{self.what}: {wrong[0]}'
        return f'{self.what}: exit status {code}: {(self.errors or ["?"])[-1]}' if code else ''

    def kill(self):
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGCONT)
            self.p.kill()
            self.p.wait()


class Line:
    """A TCP line to the API server that can be cut and joined again; its address is a kubeconfig's server."""

    def __init__(self, port):
        self.to = port
        self.lock = threading.Lock()
        self.pairs = set()
        self.is_cut = False
        self.cuts = 0
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            with self.lock:
                if self.is_cut:
                    near.close()
                    continue
            try:
                far = socket.create_connection(('127.0.0.1', self.to))
            except OSError:
                near.close()
                continue
            pair = (near, far)
            with self.lock:
                self.pairs.add(pair)
            for a, b in (pair, pair[::-1]):
                threading.Thread(target=self._pump, args=(a, b, pair), daemon=True).start()

    def _pump(self, a, b, pair):
        with contextlib.suppress(OSError):
            while data := a.recv(4096):
                b.sendall(data)
        self._drop(pair)

    def _drop(self, pair):
        with self.lock:
            self.pairs.discard(pair)
        for s in pair:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
            s.close()

    def cut(self, stay=False):
        """Breaks every connection, in the middle of whatever passes; stay: until join()."""
        with self.lock:
            self.is_cut = stay
            pairs = list(self.pairs)
        self.cuts += len(pairs)
        for pair in pairs:
            self._drop(pair)

    def join(self):
        with self.lock:
            self.is_cut = False

    def close(self):
        self.listener.close()
        self.cut()


class Lab:
    """A directory, a cluster, all probes; taken down together."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix='koord-system-')
        self.closers = []
        # It waits for the end of its input, which is ours: nothing stays behind when we are killed.
        script = ('read -r _; [ ! -d "$1/node" ] || "$0/node" clean "$1/node";'
                  '"$0/cluster" down "$1/cluster" >/dev/null 2>&1; rm -rf "$1"')
        self.guard = subprocess.Popen(['sh', '-c', script, HERE, self.dir], stdin=subprocess.PIPE,
                                      start_new_session=True)
        for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(s, lambda signum, frame: sys.exit(128 + signum))
        self.cluster = None

    def up(self, *options):
        """options: of tests/system/cluster up."""
        self.cluster = Cluster(f'{self.dir}/cluster', *options)

    def node(self, name='lab-node', before_kubelet=None, **more):
        """A node on this lab's cluster; only those who want one pay for its modules."""
        from node import Node
        n = Node(self.cluster, f'{self.dir}/node', name)
        n.before_kubelet = before_kubelet
        for key, value in more.items():
            setattr(n, key, value)
        self.closers.append(n.stop)
        n.start()
        return n

    def probe(self, *words, **more):
        p = Probe(*words, **more)
        self.closers.append(p.kill)
        return p

    def line(self):
        n = Line(self.cluster.port)
        self.closers.append(n.close)
        return n

    def informer(self, *words, config=None):
        return self.probe('informer', '--kubeconfig', config or self.cluster.config(), *words)

    def do(self, *requests, parallel=8, config=None):
        """Requests as "VERB KIND KEY [JSON]", through our client; their result lines."""
        p = self.probe('do', '--kubeconfig', config or self.cluster.config(), '--parallel', str(parallel))
        p.p.stdin.write(''.join(r + '\n' for r in requests))
        p.p.stdin.close()
        p.p.wait(2 * PATIENCE_S)
        for t in p.readers:
            t.join(PATIENCE_S)
        bad = [e for e in p.errors if SANITIZER.search(e)]
        if bad or len(p.lines) != len(requests):
            raise Failed(f'do: {len(p.lines)} results of {len(requests)}: {(bad or p.errors or [""])[-1]}')
        return p.lines

    def file(self, name, text, mode=0o600):
        """Written beside its name and moved there, as a mounted Secret is changed."""
        path = os.path.join(self.dir, name)
        with open(path + '.new', 'w', encoding='utf-8') as f:
            f.write(text)
        os.chmod(path + '.new', mode)
        os.replace(path + '.new', path)
        return path

    def kubeconfig(self, name, user, port=None, **changes):
        """The admin's kubeconfig with another user (YAML lines), another port, or words changed."""
        with open(self.cluster.config(), encoding='utf-8') as f:
            text = f.read()
        if user is not None:
            text = re.sub(r'(?m)^    token: .*$', ''.join(f'    {line}\n' for line in user), text)
        if port:
            text = text.replace(f':{self.cluster.port}', f':{port}')
        for key, value in changes.items():
            text = re.sub(rf'(?m)^(\s*{key.replace("_", "-")}: ).*$', lambda m, v=value: m.group(1) + v, text)
        return self.file(name, text)

    def close(self):
        for fn in self.closers:
            with contextlib.suppress(OSError):
                fn()
        # The logs go with the directory. Whatever a test made of such a report, its text must not be lost.
        for name in sorted(n for n in os.listdir(self.dir) if n.endswith('.log')):
            report = sanitizer_report(f'{self.dir}/{name}')
            if report:
                print(f'# {name}:\n{report}\n# end of {name}', flush=True)
        # The guard does the rest; an interrupt must not cut it short.
        for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(s, signal.SIG_IGN)
        self.guard.stdin.close()
        self.guard.wait()
