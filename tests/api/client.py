"""client.py - what the checks are made of: a keep-alive HTTP client, watches with time limits, a trial per check.

A check is a function of one argument, its Trial, that raises Failed (the trial's helpers do) when the server behaves
differently. The docstring of a module says which behaviours it is about; the name of the function says which one.
Checks run side by side on several threads: each works in a namespace of its own, or on names of its own, and what it
made is deleted after it. One that would disturb others says @check(alone=True) and runs when the others are done.
"""
import csv
import http.client
import itertools
import json
import os
import socket
import ssl
import threading
import time
import urllib.parse

LIMIT_S = 120.0  # of any one answer or event: tests wait for what happens, and a loaded machine takes longer
JSON = 'application/json'
MERGE = 'application/merge-patch+json'
JSON_PATCH = 'application/json-patch+json'
STRATEGIC = 'application/strategic-merge-patch+json'
TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

CHECKS = []  # (name, function, alone), in the order of the modules


class Failed(Exception):
    """The server does not behave as the check says."""


class Skipped(Exception):
    """The check needs something that this run does not have."""


def check(fn=None, *, alone=False):
    def register(f):
        CHECKS.append((f'{f.__module__}/{f.__name__}', f, alone))
        return f
    return register(fn) if fn else register


class Server:
    """Where the server is, and what the run knows of it."""

    def __init__(self, url, token, ca=None, expired=None, users=None, accounts=False):
        u = urllib.parse.urlsplit(url)
        self.host, self.port, self.token, self.expired = u.hostname, u.port, token, expired
        self.tls = ssl.create_default_context(cafile=ca) if u.scheme == 'https' else None
        self.accounts, self.users = accounts, {}
        if users:
            with open(users, newline='', encoding='utf-8') as f:
                self.users = {row[1]: row[0] for row in csv.reader(f) if len(row) > 2}
        self.local = threading.local()
        self.run_id = f'{os.getpid():x}{int(time.time()) % 0x10000:x}'
        self.numbers = itertools.count(1)
        self.lock, self.things, self.left = threading.RLock(), {}, []

    def once(self, key, make):
        """What make() answered to the first who asked; a failure is everybody's."""
        with self.lock:
            if key not in self.things:
                try:
                    self.things[key] = make()
                except Failed as e:
                    self.things[key] = e
        if isinstance(self.things[key], Failed):
            raise Failed(str(self.things[key]))
        return self.things[key]

    def leave(self, path):
        """To be deleted at the end of the run."""
        self.left.append(path)

    def connect(self, limit=LIMIT_S):
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, context=self.tls, timeout=limit)
        return http.client.HTTPConnection(self.host, self.port, timeout=limit)

    def call(self, method, path, body=None, headers=None):
        """As client-go does, a request is sent again while the server says that it is not ready for it: kube-apiserver
        does so for a moment after a definition has changed."""
        end = time.monotonic() + LIMIT_S
        while True:
            a = self.send(method, path, body, headers)
            if not a.not_ready() or time.monotonic() > end:
                return a
            time.sleep(0.2)

    def send(self, method, path, body, headers):
        """On this thread's connection. A connection that the server closed while it was idle is opened anew."""
        while True:
            c = getattr(self.local, 'connection', None)
            fresh = c is None
            if fresh:
                c = self.local.connection = self.connect()
            try:
                c.request(method, path, body, headers or {})
                r = c.getresponse()
                data = r.read()
                if r.will_close:
                    self.drop()
                return Answer(method, path, r, data)
            except (http.client.HTTPException, OSError):
                self.drop()
                if fresh:
                    raise

    def drop(self):
        self.local.connection.close()
        self.local.connection = None


class Answer:
    def __init__(self, method, path, response, data):
        self.request = f'{method} {path}'
        self.code = response.status
        self.headers = response.headers
        self.type = response.headers.get('Content-Type', '')
        self.data = data
        try:
            self.json = json.loads(data)
        except ValueError:
            self.json = None

    def __getitem__(self, path):
        """A value by its dotted path; None when there is none."""
        return dig(self.json, path)

    def not_ready(self):
        return self.code == 429 and self['message'] == 'storage is (re)initializing'

    def __str__(self):
        text = self['message'] if self['kind'] == 'Status' and self['message'] else self.data.decode(errors='replace')
        return f'{self.request}: {self.code} {self["reason"] or ""} {text[:600]}'.replace('\n', ' ')


def dig(value, path):
    for word in path.split('.') if path else ():
        if isinstance(value, dict):
            value = value.get(word)
        elif isinstance(value, list) and word.isdigit() and int(word) < len(value):
            value = value[int(word)]
        else:
            return None
    return value


class Watch:
    """A watch on a connection of its own. Events are (type, object)."""

    def __init__(self, server, path, headers):
        self.connection = server.connect()
        self.connection.request('GET', path, headers=headers)
        self.response = self.connection.getresponse()
        self.code = self.response.status
        # The response gives its socket up at its end: kept for the time limits.
        self.socket = self.connection.sock
        self.left = b''
        self.path = path

    def answer(self):
        """The whole answer of a watch that was refused."""
        return Answer('GET', self.path, self.response, self.response.read())

    def next(self, limit=LIMIT_S):
        """The next event; None when the server ended the watch. Failed when nothing comes in time."""
        until = time.monotonic() + limit
        while b'\n' not in self.left:
            left = until - time.monotonic()
            if left <= 0:
                raise Failed(f'watch {self.path}: no event within {limit} s')
            if self.socket:
                self.socket.settimeout(left)
            try:
                data = self.response.read1(65536)
            except (socket.timeout, TimeoutError):
                raise Failed(f'watch {self.path}: no event within {limit} s') from None
            if not data:
                return None
            self.left += data
        line, self.left = self.left.split(b'\n', 1)
        event = json.loads(line)
        return event['type'], event['object']

    def take(self, count, limit=LIMIT_S):
        """That many events as 'TYPE name', bookmarks left out."""
        seen = []
        while len(seen) < count:
            event = self.next(limit)
            if event is None:
                raise Failed(f'watch {self.path}: ended after {seen}')
            if event[0] != 'BOOKMARK':
                seen.append(f'{event[0]} {dig(event[1], "metadata.name")}')
        return seen

    def quiet(self, seconds=0.3):
        """Nothing but bookmarks comes for a while."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                event = self.next(left)
            except Failed:
                return
            if event is None or event[0] != 'BOOKMARK':
                raise Failed(f'watch {self.path}: unexpected {str(event)[:300]}')

    def close(self):
        self.response.close()
        self.connection.close()


class Trial:
    """What a check has in its hands."""

    def __init__(self, server, name):
        self.server, self.check = server, name
        self.made, self.watches = [], []
        self._ns = None

    # ---- names and places ----

    def name(self, prefix='x'):
        return f'{prefix}-{self.server.run_id}-{next(self.server.numbers)}'

    @property
    def ns(self):
        if self._ns is None:
            self._ns = self.name('api')
            self.make('/api/v1/namespaces', {'metadata': {'name': self._ns}})
        return self._ns

    def at(self, plural, group='', version='v1', ns=None):
        """The path of a namespaced collection; ns defaults to the check's own."""
        root = f'/apis/{group}/{version}' if group else f'/api/{version}'
        return f'{root}/namespaces/{ns or self.ns}/{plural}'

    def pods(self):
        return self.at('pods')

    def maps(self):
        return self.at('configmaps')

    def token(self, user):
        """The token of a user of the token file, who has no rights but what the check gives him."""
        if user not in self.server.users:
            self.skip('the run knows no users: --users')
        return self.server.users[user]

    # ---- requests ----

    def call(self, method, path, body=None, content=None, accept=JSON, token=None, raw=None, headers=None, **query):
        head = {'Authorization': f'Bearer {token or self.server.token}', 'Accept': accept}
        if body is not None or raw is not None:
            head['Content-Type'] = content or JSON
        head.update(headers or {})
        data = raw if raw is not None else json.dumps(body).encode() if body is not None else None
        a = self.server.call(method, with_query(path, query), data, {k: v for k, v in head.items() if v is not None})
        if method == 'POST' and a.code == 201 and a['metadata.name'] and 'dryRun' not in query:
            self.made.append(f'{path.split("?")[0]}/{a["metadata.name"]}')
        return a

    def get(self, path, **kw):
        return self.call('GET', path, **kw)

    def post(self, path, body, **kw):
        return self.call('POST', path, body, **kw)

    def put(self, path, body, **kw):
        return self.call('PUT', path, body, **kw)

    def patch(self, path, body, content=MERGE, **kw):
        return self.call('PATCH', path, body, content=content, **kw)

    def delete(self, path, body=None, **kw):
        return self.call('DELETE', path, body, **kw)

    def make(self, path, body, **kw):
        """Creates; the object as the server returned it."""
        return self.code(self.post(path, body, **kw), 201).json

    def read(self, path, **kw):
        return self.code(self.get(path, **kw), 200).json

    def watch(self, path, **query):
        accept = query.pop('accept', JSON)
        query.setdefault('watch', 'true')
        query.setdefault('timeoutSeconds', 300)
        w = Watch(self.server, with_query(path, query),
                  {'Authorization': f'Bearer {self.server.token}', 'Accept': accept})
        self.watches.append(w)
        return w

    def watching(self, path, **query):
        """A watch that must be accepted."""
        end = time.monotonic() + LIMIT_S
        while (w := self.watch(path, **query)).code != 200:
            a = w.answer()
            if not a.not_ready() or time.monotonic() > end:
                raise Failed(str(a))
            time.sleep(0.2)
        return w

    # ---- what must hold ----

    def eq(self, got, want, what='value'):
        if got != want:
            raise Failed(f'{what}: expected {want!r}, got {got!r}')

    def true(self, good, why):
        if not good:
            raise Failed(why)

    def code(self, a, *codes):
        if a.code not in codes:
            raise Failed(f'expected {" or ".join(map(str, codes))}, got {a}')
        return a

    def has(self, a, path, want):
        got = a[path] if isinstance(a, Answer) else dig(a, path)
        if got != want:
            raise Failed(f'{path}: expected {want!r}, got {got!r}' + (f' ({a})' if isinstance(a, Answer) else ''))

    def status(self, a, code, reason, message=None, part=None, causes=None, details=None):
        """A Status of that code and reason. causes: (reason, field) in any order, message parts as a third."""
        if a.code != code or a['kind'] != 'Status' or a['reason'] != reason:
            raise Failed(f'expected {code} {reason}, got {a}')
        self.has(a, 'apiVersion', 'v1')
        self.has(a, 'status', 'Failure')
        self.has(a, 'code', code)
        if message is not None:
            self.eq(a['message'], message, 'message')
        if part is not None and part not in a['message']:
            raise Failed(f'message: expected {part!r} in {a["message"]!r}')
        for key, want in (details or {}).items():
            self.has(a, f'details.{key}', want)
        for want in causes or ():
            if not any(c.get('reason') == want[0] and c.get('field') == want[1] and
                       (len(want) < 3 or want[2] in c.get('message', '')) for c in a['details.causes'] or ()):
                raise Failed(f'cause {want} is not among {a["details.causes"]}')
        return a

    def invalid(self, a, *causes, part=None):
        return self.status(a, 422, 'Invalid', causes=causes, part=part)

    def until(self, what, fn, limit=LIMIT_S):
        """fn's first true answer."""
        end = time.monotonic() + limit
        while not (got := fn()):
            if time.monotonic() > end:
                raise Failed(f'not within {limit} s: {what}')
            time.sleep(0.05)
        return got

    def skip(self, why):
        raise Skipped(why)

    # ---- the end ----

    def clean(self):
        """Deletes what was made, the last first; finalizers are taken off. Errors are not the check's."""
        for w in self.watches:
            w.close()
        for path in reversed(self.made):
            try:
                a = self.delete(path, {'gracePeriodSeconds': 0, 'propagationPolicy': 'Background'})
                if a.code in (200, 202) and a['metadata.finalizers']:
                    self.patch(path, {'metadata': {'finalizers': None}})
                if '/namespaces/' in path and path.count('/') == 4 and a.json:
                    body = dict(a.json, spec={'finalizers': []})
                    self.put(f'{path}/finalize', body)
            except (OSError, http.client.HTTPException):
                return


def with_query(path, query):
    pairs = [(k.rstrip('_'), v) for k, v in query.items() if v is not None]
    return path + ('?' + urllib.parse.urlencode(pairs, doseq=True) if pairs else '')


# ---- objects ----

def meta(name, **more):
    return {'name': name, **more}


def config_map(name, data=None, **more):
    return {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': meta(name, **more), 'data': data or {'k': 'v'}}


def pod(name, spec=None, container=None, **more):
    """spec and container: fields beside the usual ones."""
    c = {'name': 'main', 'image': 'busybox:1', **(container or {})}
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': meta(name, **more),
            'spec': {'containers': [c], **(spec or {})}}


def node(name, status=None, **more):
    return {'apiVersion': 'v1', 'kind': 'Node', 'metadata': meta(name, **more), **({'status': status} if status else {})}


def template(labels=None):
    return {'metadata': {'labels': labels or {'app': 'x'}},
            'spec': {'containers': [{'name': 'main', 'image': 'busybox:1'}]}}


def deployment(name, spec=None, **more):
    return {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': meta(name, **more),
            'spec': {'selector': {'matchLabels': {'app': 'x'}}, 'template': template(), **(spec or {})}}


def job(name, spec=None, **more):
    t = template()
    t['spec']['restartPolicy'] = 'Never'
    return {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': meta(name, **more),
            'spec': {'template': t, **(spec or {})}}


def names(answer):
    return [i['metadata']['name'] for i in answer['items']]
