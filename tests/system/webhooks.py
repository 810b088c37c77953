"""webhooks.py - the webhooks of koord-manager on a real API server, for test_koord_manager.

Two replicas behind a balancer, as a Service and its endpoints would be: each listens on an address of its own, and
only those that are ready get new connections.
"""
import contextlib
import http.client
import http.server
import json
import os
import random
import select
import signal
import socket
import ssl
import subprocess
import threading
import time

from lab import FULL, PATIENCE_S, ROOT, Failed, program

HOOKS = '/apis/admissionregistration.k8s.io/v1'
MUTATING = f'{HOOKS}/mutatingwebhookconfigurations/koordinator-mutating-webhook-configuration'
VALIDATING = f'{HOOKS}/validatingwebhookconfigurations/koordinator-validating-webhook-configuration'
SECRET = '/api/v1/namespaces/koordinator-system/secrets/koordinator-webhook-certs'
PROFILES = '/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles'
PODS = '/api/v1/namespaces/default/pods'
MERGE = 'application/merge-patch+json'
CREATES = 10000 if FULL else 500
UNCONCERNED = 1000
CALLS = 'koord_manager_webhook_webhook_duration_milliseconds_count'


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as s:
        return s.getsockname()[1]


class Balancer:
    """Connections to one address, handed to the replicas that are ready."""

    def __init__(self, port):
        self.port, self.replicas, self.lock = port, {}, threading.Lock()
        self.server = socket.create_server(('127.0.0.1', port), backlog=256)
        threading.Thread(target=self._accept, daemon=True).start()

    def set(self, name, address, ready):
        with self.lock:
            self.replicas[name] = (address, ready)

    def drop(self, name):
        with self.lock:
            self.replicas.pop(name, None)

    def _dial(self):
        with self.lock:
            all_ = list(self.replicas.values())
        random.shuffle(all_)
        for address, ready in sorted(all_, key=lambda r: not self._is_ready(r[1])):
            with contextlib.suppress(OSError):
                return socket.create_connection((address, self.port), timeout=5)
        return None

    @staticmethod
    def _is_ready(ready):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return ready()
        return False

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.server.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client):
        server = self._dial()
        if not server:
            client.close()
            return
        other = {client: server, server: client}
        with client, server, contextlib.suppress(OSError):
            while True:
                for s in select.select([client, server], [], [])[0]:
                    data = s.recv(65536)
                    if not data:
                        return
                    other[s].sendall(data)

    def close(self):
        self.server.close()


def environment(lab, name, port, **more):
    return {'WEBHOOK_PORT': str(port), 'WEBHOOK_CERT_DIR': os.path.join(lab.dir, f'certs-{name}'),
            'WEBHOOK_CERT_WRITER': 'secret', **more}


class Pair:
    """Two replicas by URL, and the balancer before them."""

    def __init__(self, lab, start):
        self.lab, self.start_one = lab, start
        self.port = free_port()
        self.balancer = Balancer(self.port)
        lab.closers.append(self.balancer.close)
        self.replicas = {}

    def start(self, name, *words):
        address = {'a': '127.0.0.2', 'b': '127.0.0.3'}[name]
        m = self.start_one(name, environment(self.lab, name, self.port, WEBHOOK_HOST='127.0.0.1',
                                             WEBHOOK_BIND_ADDRESS=address), *words)
        self.replicas[name] = m
        self.balancer.set(name, address, m.ready)
        return m

    def calls(self):
        """How many reviews they have answered."""
        total = 0
        for m in self.replicas.values():
            text = m.get(m.metrics, '/internal-metrics')[1]
            total += sum(int(float(line.rsplit(' ', 1)[1])) for line in text.splitlines() if line.startswith(CALLS))
        return total


def pod(name, labels=None, ns='default', **spec):
    return {'metadata': {'name': name, 'namespace': ns, **({'labels': labels} if labels else {})},
            'spec': {'containers': [{'name': 'main', 'image': 'busybox', 'resources': {
                'requests': {'cpu': '500m', 'memory': '1Gi'}, 'limits': {'cpu': '1', 'memory': '2Gi'}}}], **spec}}


class Client:
    """One connection to the API server, used again and again."""

    def __init__(self, cluster):
        self.cluster, self.c = cluster, None

    def do(self, method, path, body=None):
        for attempt in range(2):
            if not self.c:
                self.c = http.client.HTTPSConnection('127.0.0.1', self.cluster.port, context=self.cluster.tls,
                                                     timeout=PATIENCE_S)
            try:
                self.c.request(method, path, json.dumps(body) if body is not None else None,
                               {'Authorization': f'Bearer {self.cluster.token}', 'Content-Type': 'application/json'})
                r = self.c.getresponse()
                return r.status, json.loads(r.read() or b'null')
            except (http.client.HTTPException, OSError):
                self.c = None
                if attempt:
                    raise
        return None


# ---- what a pod becomes ----

def profile(cluster):
    status, answer = cluster.api('POST', PROFILES, {
        'apiVersion': 'config.koordinator.sh/v1alpha1', 'kind': 'ClusterColocationProfile',
        'metadata': {'name': 'spark'}, 'spec': {
            'selector': {'matchLabels': {'spark-role': 'executor'}}, 'qosClass': 'BE',
            'priorityClassName': 'koord-batch', 'schedulerName': 'koord-scheduler'}})
    if status not in (201, 409):
        raise Failed(f'profile: {answer.get("message")}')


def is_batch(answer):
    resources = answer['spec']['containers'][0]['resources']
    return (answer['metadata'].get('labels', {}).get('koordinator.sh/qosClass') == 'BE'
            and answer['spec'].get('priorityClassName') == 'koord-batch'
            and resources['requests'] == {'kubernetes.io/batch-cpu': '500', 'kubernetes.io/batch-memory': '1Gi'}
            and resources['limits'] == {'kubernetes.io/batch-cpu': '1k', 'kubernetes.io/batch-memory': '2Gi'})


def spark(name):
    return pod(name, {'spark-role': 'executor'})


def translated(cluster, until, check, where):
    def made():
        status, answer = cluster.api('POST', PODS + '?dryRun=All', spark('probe'))
        return status == 201 and is_batch(answer) and answer
    until(f'a pod that the profile changes, {where}', made)
    status, answer = cluster.api('POST', PODS, spark(f'executor-{where}'))
    check(f'a Spark executor becomes a BE pod with batch resources, {where}', status == 201 and is_batch(answer),
          json.dumps(answer)[:400])
    bad = pod('bad', {'koordinator.sh/qosClass': 'BE'}, priorityClassName='koord-prod')
    status, answer = cluster.api('POST', PODS, bad)
    check(f'illegal pairs are refused in upstream\'s words, {where}', status == 400 and answer.get('message') == (
        'admission webhook "vpod.koordinator.sh" denied the request: Pod: Forbidden: koordinator.sh/qosClass=BE and '
        'priorityClass=koord-prod cannot be used in combination'), f'{status} {answer.get("message")}')


def names(cluster, path):
    return [w['name'] for w in cluster.api('GET', path)[1].get('webhooks', [])]


# ---- creates while everything changes ----

class Creates:
    """Pods that a profile changes, without a pause, by several clients; none may fail."""

    def __init__(self, cluster, workers=4):
        self.cluster, self.stopping, self.lock = cluster, False, threading.Lock()
        self.done, self.bad = 0, []
        self.threads = [threading.Thread(target=self._run, args=(i,), daemon=True) for i in range(workers)]
        for t in self.threads:
            t.start()

    def _run(self, worker):
        client, i = Client(self.cluster), 0
        while not self.stopping or self.done < CREATES:
            i += 1
            status, answer = client.do('POST', PODS + '?dryRun=All', spark(f'c{worker}-{i}'))
            with self.lock:
                self.done += 1
                if status != 201 or not is_batch(answer):
                    self.bad.append(f'{status} {answer.get("message") or answer["spec"]}')
            if not FULL:
                time.sleep(0.05)

    def end(self):
        self.stopping = True
        for t in self.threads:
            t.join()


def certificate(cluster):
    data = cluster.api('GET', SECRET)[1].get('data') or {}
    return data.get('cert.pem'), data.get('ca-cert.pem')


def served(port):
    """What a client that connects now is shown, by every replica."""
    out = set()
    for address in ('127.0.0.2', '127.0.0.3'):
        with contextlib.suppress(OSError, ssl.SSLError):
            out.add(ssl.get_server_certificate((address, port)).strip())
    return out


def rotate(cluster, pair, until, what, change):
    """A change of the Secret, until both replicas serve what comes of it."""
    import base64
    before = certificate(cluster)
    change()

    def swapped():
        now = certificate(cluster)
        return now[0] and now != before and served(pair.port) == {base64.b64decode(now[0]).decode().strip()}
    until(f'{what}: both replicas serve the new certificate', swapped)
    return before, certificate(cluster)


def patch_secret(cluster, data):
    cluster.api('PATCH', SECRET, {'data': data}, kind=MERGE)


def restart(pair, until):
    for name in ('a', 'b'):
        pair.replicas[name].end()
        m = pair.start(name)
        until(f'replica {name} again', m.ready)


def rotations(lab, pair, until, check):
    cluster, garbage = lab.cluster, 'Z2FyYmFnZQ=='
    creates = Creates(cluster)
    for i in range(3 if FULL else 1):
        before, after = rotate(cluster, pair, until, f'rotation {i}', lambda: patch_secret(
            cluster, {'cert.pem': garbage, 'tls.crt': garbage}))
        check(f'rotation {i}: the CA stays', before[1] == after[1])
    before, after = rotate(cluster, pair, until, 'deleted Secret', lambda: cluster.api('DELETE', SECRET))
    check('a deleted Secret comes back with a new CA', before[1] != after[1])
    before, after = rotate(cluster, pair, until, 'new CA', lambda: patch_secret(
        cluster, {'ca-key.pem': garbage, 'cert.pem': garbage, 'tls.crt': garbage}))
    check('a damaged CA is replaced', before[1] != after[1])
    restart(pair, until)
    creates.end()
    check(f'none of {creates.done} creates failed meanwhile', not creates.bad and creates.done >= CREATES,
          f'{len(creates.bad)}: {creates.bad[:2]}')


# ---- when nobody answers ----

def many(cluster, count):
    """Pods that concern no rule, from several clients. The answers that are not 201."""
    bad, lock = [], threading.Lock()

    def run(worker):
        client = Client(cluster)
        for i in range(count // 4):
            status, answer = client.do('POST', PODS + '?dryRun=All', pod(f'plain-{worker}-{i}', {'app': 'web'}))
            if status != 201:
                with lock:
                    bad.append(answer.get('message'))
    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return bad


def unconcerned(cluster, pair, check):
    before = pair.calls()
    bad = many(cluster, UNCONCERNED)
    check(f'{UNCONCERNED} pods that concern no rule cause no call', not bad and pair.calls() == before,
          f'{pair.calls() - before} calls, {bad[:1]}')


def dead(cluster, pair, check):
    for m in pair.replicas.values():
        m.kill()
    bad = many(cluster, UNCONCERNED)
    check('with both replicas dead, pods that concern no rule are created', not bad, str(bad[:1]))
    status, answer = cluster.api('POST', '/api/v1/namespaces/kube-system/pods', pod('dns', {
        'spark-role': 'executor', 'koordinator.sh/qosClass': 'LS'}, 'kube-system'))
    check('and those of kube-system', status == 201, str(answer.get('message')))
    status, answer = cluster.api('POST', PODS + '?dryRun=All', spark('waits'))
    check('those of a profile are not, rather than go unchanged', status == 500 and 'mpod-create.koordinator.sh' in
          answer.get('message', ''), f'{status} {answer.get("message")}')


# ---- the whole ----

def by_url(lab, start, until, check):
    """start(name, environment, *words) starts a replica."""
    pair = Pair(lab, start)
    profile(lab.cluster)
    for name in ('a', 'b'):
        pair.start(name)
    for name in ('a', 'b'):
        until(f'replica {name} is ready', pair.replicas[name].ready)
    translated(lab.cluster, until, check, 'by-url')
    secret = lab.cluster.api('GET', SECRET)[1]
    check('one Secret for both replicas', sorted(secret['data']) == [
        'ca-cert.pem', 'ca-key.pem', 'cert.pem', 'key.pem', 'tls.crt', 'tls.key'])
    unconcerned(lab.cluster, pair, check)
    rotations(lab, pair, until, check)
    dead(lab.cluster, pair, check)
    return list(pair.replicas.values())


def gates(lab, start, until, check):
    cluster = lab.cluster
    before = names(cluster, VALIDATING)
    env = environment(lab, 'gates', free_port(), WEBHOOK_HOST='127.0.0.1')
    m = start('gates', env, '--feature-gates=PodValidatingWebhook=false')
    until('ready without the validating webhook', m.ready)
    now = names(cluster, VALIDATING)
    check('a gate turned off removes its entries, and no others',
          'vpod.koordinator.sh' in before and now == ['velasticquota.koordinator.sh'], f'{before} {now}')
    m.end()
    m = start('gates', env)
    until('ready with it', m.ready)
    check('and turned on restores them', names(cluster, VALIDATING) == before, str(names(cluster, VALIDATING)))
    m.end()
    return [m]


def own_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(('192.0.2.254', 9))
        return s.getsockname()[0]


def by_service(lab, start, until, check):
    """Through the Service: the API server finds the replicas by EndpointSlices, made by hand here."""
    cluster, made = lab.cluster, []
    try:
        address = own_address()
    except OSError:
        address = '127.0.0.1'
    if address.startswith('127.'):
        return None
    for name in ('x', 'y'):
        port = free_port()
        m = start(name, environment(lab, name, port))
        made.append(m)
        cluster.make('/apis/discovery.k8s.io/v1/namespaces/koordinator-system/endpointslices', {
            'metadata': {'name': f'webhook-{name}', 'labels': {
                'kubernetes.io/service-name': 'koordinator-webhook-service'}},
            'addressType': 'IPv4', 'endpoints': [{'addresses': [address], 'conditions': {'ready': True}}],
            'ports': [{'name': 'webhook', 'port': port, 'protocol': 'TCP'}]})
    for m in made:
        until('a replica behind the Service', m.ready)
    translated(cluster, until, check, 'by-service')
    for m in made:
        m.end()
    return made


# ---- conditions, evaluated by the API server ----

class Recorder(http.server.BaseHTTPRequestHandler):
    """A webhook that allows everything and remembers for which objects it was called."""
    protocol_version = 'HTTP/1.1'
    seen = set()

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        self.seen.add(review['request']['name'])
        body = json.dumps({'apiVersion': review['apiVersion'], 'kind': 'AdmissionReview', 'response': {
            'uid': review['request']['uid'], 'allowed': True}}).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def recorder(lab):
    key, cert = os.path.join(lab.dir, 'recorder.key'), os.path.join(lab.dir, 'recorder.crt')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-days', '2',
                    '-subj', '/CN=recorder', '-addext', 'subjectAltName=IP:127.0.0.1'], check=True, capture_output=True)
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Recorder)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    lab.closers.append(server.shutdown)
    with open(cert, encoding='ascii') as f:
        return server.server_address[1], f.read()


def vectors(folder, name, mode):
    """The cases of a file, each with its condition. Those that we answer differently on purpose are left out."""
    with open(os.path.join(ROOT, 'tests/golden/differences.txt'), encoding='utf-8') as f:
        other = {line.split()[1] for line in f if line.startswith(f'manager/{name} ')}
    path = os.path.join(folder, f'{name}.jsonl')
    with open(path, encoding='utf-8') as f:
        out = subprocess.run([program('match_probe'), mode], stdin=f, capture_output=True, text=True, check=True)
    with open(path, encoding='utf-8') as f:
        cases = [json.loads(line) for line in f]
    conditions = [json.loads(line) for line in out.stdout.splitlines()]
    if [c['name'] for c in cases] != [c['name'] for c in conditions]:
        raise Failed(f'match_probe {name}: not an answer for each case')
    return [(c, q['condition']) for c, q in zip(cases, conditions) if c['name'] not in other]


CASES = '/apis/test.koordinator.sh/v1'
# Pods in the shape of another kind, of which the API server knows nothing: it evaluates conditions on whatever the
# cases contain, also on what it would not take for a pod.
DEFINITION = {
    'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
    'metadata': {'name': 'casepods.test.koordinator.sh'},
    'spec': {'group': 'test.koordinator.sh', 'scope': 'Namespaced', 'names': {
        'kind': 'CasePod', 'plural': 'casepods', 'singular': 'casepod', 'listKind': 'CasePodList'}, 'versions': [{
            'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {
                'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}}]}}


def case_pod(source, name, ns):
    meta = {k: v for k, v in (source.get('metadata') or {}).items() if k in ('labels', 'annotations')}
    return {'apiVersion': 'test.koordinator.sh/v1', 'kind': 'CasePod', 'spec': source.get('spec') or {},
            'metadata': {**meta, 'name': name, 'namespace': ns}}


def install_conditions(cluster, conditions, port, ca):
    """A namespace for each condition, and one webhook in it."""
    import base64
    hooks = []
    for i, text in enumerate(conditions):
        cluster.make('/api/v1/namespaces', {'metadata': {'name': f'set-{i}', 'labels': {'set': str(i)}}})
        hooks.append({
            'name': f's{i}.test.koordinator.sh', 'sideEffects': 'None', 'admissionReviewVersions': ['v1'],
            'clientConfig': {'url': f'https://127.0.0.1:{port}/', 'caBundle': base64.b64encode(ca.encode()).decode()},
            'namespaceSelector': {'matchLabels': {'set': str(i)}},
            'rules': [{'apiGroups': ['test.koordinator.sh'], 'apiVersions': ['v1'], 'operations': ['CREATE', 'UPDATE'],
                       'resources': ['casepods']}],
            'matchConditions': [{'name': 'concerned', 'expression': text}]})
    status, answer = cluster.api('POST', f'{HOOKS}/validatingwebhookconfigurations', {
        'metadata': {'name': 'conditions'}, 'webhooks': hooks})
    if status != 201:
        raise Failed(f'the API server refuses a condition: {str(answer.get("message"))[:600]}')


def conditions_hold(lab, folder, until, check):
    cluster = lab.cluster
    cases = [(c, q, True) for c, q in vectors(folder, 'profile', 'mutate')]
    cases += [(c, q, False) for c, q in vectors(folder, 'pod-validate', 'validate')]
    sets = sorted({q for _, q, _ in cases if q})
    port, ca = recorder(lab)
    cluster.make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', DEFINITION)
    for i in range(len(sets)):
        cluster.make('/api/v1/namespaces', {'metadata': {'name': f'set-{i}', 'labels': {'set': str(i)}}})
    until('the kind of the cases', lambda: cluster.api('GET', f'{CASES}/namespaces/set-0/casepods')[0] == 200)
    client = Client(cluster)
    work, refused = [], []
    for i, (c, q, _) in enumerate(cases):
        if not q:
            continue
        ns = f'set-{sets.index(q)}'
        path = f'{CASES}/namespaces/{ns}/casepods'
        if c['in'].get('oldPod'):
            status, answer = client.do('POST', path, case_pod(c['in']['oldPod'], f'case-{i}', ns))
            if status != 201:
                refused.append(f'{c["name"]}: {answer.get("message")}')
                continue
        work.append((i, path, ns))
    install_conditions(cluster, sets, port, ca)
    first = case_pod({'spec': {'containers': [{'name': 'c', 'resources': {'requests': {
        'kubernetes.io/batch-cpu': '1', 'koordinator.sh/gpu': '1'}}}]}}, 'first', 'set-0')
    until('the conditions count', lambda: client.do(
        'POST', f'{CASES}/namespaces/set-0/casepods?dryRun=All', first)[0] == 201 and 'first' in Recorder.seen)
    for i, path, ns in work:
        body = case_pod(cases[i][0]['in']['pod'], f'case-{i}', ns)
        if cases[i][0]['in'].get('oldPod'):
            old = client.do('GET', f'{path}/case-{i}')[1]
            body['metadata']['resourceVersion'] = old['metadata']['resourceVersion']
            status, answer = client.do('PUT', f'{path}/case-{i}?dryRun=All', body)
        else:
            status, answer = client.do('POST', f'{path}?dryRun=All', body)
        if status not in (200, 201):
            refused.append(f'{cases[i][0]["name"]}: {answer.get("message")}')
    skipped = [i for i, _, _ in work if f'case-{i}' not in Recorder.seen]
    wrong = [cases[i][0]['name'] for i in skipped
             if not cases[i][0]['out'].get('allowed') or cases[i][0]['out'].get('changed')]
    check(f'{len(work)} cases reach the API server under {len(sets)} conditions', not refused and len(work) > 800,
          f'{len(work)}; {refused[:3]}')
    check(f'for none of the {len(skipped)} that cause no call would the handler do anything', skipped and not wrong,
          str(wrong[:5]))
    cluster.api('DELETE', f'{HOOKS}/validatingwebhookconfigurations/conditions')
