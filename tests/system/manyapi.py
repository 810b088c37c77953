"""manyapi.py - an API server of many nodes and pods that nobody has to create: lists by page, watches, NodeMetrics that change.

For figures of size only: it stores nothing, and answers GET alone. Objects are texts made when they are asked for, as large
as those of a real server. Each NodeMetric is new once a minute.
"""
import http.server
import json
import threading
import time
import urllib.parse

WORKLOADS = 300
WAITING = 2000
USED_BY_PODS_M = 6000  # of a node's 16 CPUs

POD = json.dumps({
    'metadata': {
        'name': '@NAME@', 'generateName': 'service-@W@-7d5db696dd-', 'namespace': 'team-@T@', 'uid': '@UID@', 'resourceVersion': '@RV@',
        'creationTimestamp': '2026-01-01T00:00:00Z', 'labels': {'app': 'service-@W@', 'pod-template-hash': '7d5db696dd',
                                                                'koordinator.sh/qosClass': '@QOS@', 'team': 'team-@T@'},
        'annotations': {'example.com/checksum': 'b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c'},
        'ownerReferences': [{'apiVersion': 'apps/v1', 'kind': 'ReplicaSet', 'name': 'service-@W@-7d5db696dd', 'controller': True,
                             'blockOwnerDeletion': True, 'uid': '11111111-2222-4333-8444-0000000@W@'}],
        'managedFields': [{'manager': 'kube-controller-manager', 'operation': 'Update', 'apiVersion': 'v1', 'fieldsType': 'FieldsV1',
                           'fieldsV1': {f'f:field-{i}': {'.': {}, f'f:inner-{i}': {}} for i in range(16)}}]},
    'spec': {
        'nodeName': '@NODE@', 'priority': 9000, 'schedulerName': 'koord-scheduler', 'restartPolicy': 'Always',
        'serviceAccountName': 'default', 'tolerations': [{'key': 'node.kubernetes.io/not-ready', 'operator': 'Exists',
                                                          'effect': 'NoExecute', 'tolerationSeconds': 300}],
        'containers': [{'name': n, 'image': f'registry.example/team/service-@W@-{n}:1.2.3', 'env': [
            {'name': f'SETTING_{i}', 'value': f'value of setting {i}'} for i in range(6)], 'resources': {
                'requests': {'cpu': '250m', 'memory': '512Mi'}, 'limits': {'cpu': '1', 'memory': '1Gi'}}} for n in ('main', 'sidecar')]},
    'status': {'phase': '@PHASE@', 'qosClass': 'Burstable', 'podIP': '10.1.2.3', 'conditions': '@CONDITIONS@', 'containerStatuses': [
        {'name': n, 'ready': True, 'restartCount': 0, 'image': 'x', 'imageID': 'y', 'containerID': 'containerd://' + 'a' * 64,
         'state': {'running': {'startedAt': '2026-01-01T00:00:10Z'}}} for n in ('main', 'sidecar')]}})
RUNNING = json.dumps([{'type': t, 'status': 'True', 'lastTransitionTime': '2026-01-01T00:00:00Z'}
                      for t in ('PodScheduled', 'Initialized', 'ContainersReady', 'Ready')])
PENDING = json.dumps([{'type': 'PodScheduled', 'status': 'False', 'reason': 'Unschedulable',
                       'message': '0/5000 nodes are available: 5000 Insufficient cpu.'}])


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that goes is no error here


class ManyApi:
    def __init__(self, nodes, pods_per_node):
        self.nodes, self.per_node = nodes, pods_per_node
        self.revision = 1000
        self.closing = False
        self.server = Server(('127.0.0.1', 0), lambda *a: Handler(self, *a))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def kubeconfig(self):
        return json.dumps({'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'many',
                           'clusters': [{'name': 'many', 'cluster': {'server': f'http://127.0.0.1:{self.server.server_port}'}}],
                           'users': [{'name': 'me', 'user': {}}],
                           'contexts': [{'name': 'many', 'context': {'cluster': 'many', 'user': 'me'}}]})

    def close(self):
        self.closing = True
        self.server.shutdown()
        self.server.server_close()

    # ---- objects

    def total(self, resource):
        return {'nodes': self.nodes, 'nodemetrics': self.nodes, 'pods': self.nodes * self.per_node + WAITING}.get(resource, 0)

    def pod_name(self, i):
        return f'service-{i % WORKLOADS:03}-7d5db696dd-{i:06x}'

    def pod(self, i):
        waits = i >= self.nodes * self.per_node
        text = POD.replace('"@CONDITIONS@"', PENDING if waits else RUNNING)
        for word, value in (('NAME', self.pod_name(i)), ('W', f'{i % WORKLOADS:03}'), ('T', str(i % 40)), ('RV', str(900 + i)),
                            ('UID', f'{i:08x}-1111-4222-8333-{i:012x}'), ('QOS', 'BE' if i % 3 == 0 else 'LS'),
                            ('NODE', '' if waits else f'node-{i // self.per_node}'), ('PHASE', 'Pending' if waits else 'Running')):
            text = text.replace(f'@{word}@', value)
        return text

    def node(self, i):
        return json.dumps({
            'metadata': {'name': f'node-{i}', 'uid': f'{i:08x}-aaaa-4aaa-8aaa-{i:012x}', 'resourceVersion': str(900 + i)},
            'status': {'capacity': {'cpu': '16', 'memory': '64Gi'}, 'conditions': [{'type': 'Ready', 'status': 'True'}],
                       'allocatable': {'cpu': '15', 'memory': '60Gi', 'kubernetes.io/batch-cpu': '6000',
                                       'kubernetes.io/batch-memory': '16Gi'}}})

    def metric(self, i):
        now = time.time()
        load = 0.3 + 1.6 * ((i * 7919 + int(now) // 60 * 31) % 100) / 100
        pods = [{'namespace': f'team-{p % 40}', 'name': self.pod_name(p), 'priority': 'koord-batch' if p % 3 == 0 else 'koord-prod',
                 'qos': 'BE' if p % 3 == 0 else 'LS', 'podUsage': {'resources': {
                     'cpu': f'{int(load * USED_BY_PODS_M / self.per_node)}m', 'memory': '700Mi'}}}
                for p in range(i * self.per_node, (i + 1) * self.per_node)]
        return json.dumps({
            'metadata': {'name': f'node-{i}', 'uid': f'{i:08x}-bbbb-4bbb-8bbb-{i:012x}', 'resourceVersion': str(self.revision)},
            'status': {'updateTime': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(now)), 'podsMetric': pods, 'nodeMetric': {
                'nodeUsage': {'resources': {'cpu': f'{int(load * USED_BY_PODS_M) + 500}m', 'memory': '24Gi'}}}}})

    def item(self, resource, i):
        return {'nodes': self.node, 'nodemetrics': self.metric, 'pods': self.pod}[resource](i)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def __init__(self, api, *rest):
        self.api = api
        super().__init__(*rest)

    def log_message(self, *words):
        pass

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        resource = url.path.rsplit('/', 1)[1]
        try:
            if query.get('watch') in ('true', '1'):
                self.watch(resource)
            else:
                self.list(resource, int(query.get('limit', 500)), int(query.get('continue', 0)))
        except OSError:
            self.close_connection = True

    def list(self, resource, limit, start):
        end = min(start + limit, self.api.total(resource))
        more = str(end) if end < self.api.total(resource) else ''
        body = ('{"metadata":{"resourceVersion":"%d","continue":"%s"},"items":[' % (self.api.revision, more) +
                ','.join(self.api.item(resource, i) for i in range(start, end)) + ']}').encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def watch(self, resource):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        self.wfile.flush()
        at = 0
        while not self.api.closing:
            time.sleep(0.5)
            if resource != 'nodemetrics':
                continue
            self.api.revision += 1
            for _ in range(self.api.nodes // 120):
                line = ('{"type":"MODIFIED","object":' + self.api.metric(at % self.api.nodes) + '}\n').encode()
                self.wfile.write(b'%x\r\n%s\r\n' % (len(line), line))
                at += 1
            self.wfile.flush()
