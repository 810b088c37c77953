"""runtime_life - what else people do with a node, whoever stands between kubelet and runtime.

exec, attach, port-forward, logs, probes, lists of pods, containers and images, events of containers, and a resize in place.
`runtime`: the CRI socket that tools are given; the kubelet's is the node's.
"""
import json
import os
import re
import subprocess
import threading
import urllib.request

import node_image
from agent import until
from lab import KUBECTL, PATIENCE_S, Failed
from node import free_ports, shell
from runtime_lab import limits_now, meta, peer

# A page for port-forward, and an echo for attach.
SERVE = '''
mkdir -p /tmp/www && echo 'a page' >/tmp/www/index.html
httpd -p 127.0.0.1:$1 -h /tmp/www
echo 'it serves'
while read -r line; do echo "you said $line"; done
sleep 3600
'''


def start_kubectl(node, *words):
    return subprocess.Popen([KUBECTL, '--kubeconfig', node.cluster.config(), *words], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kubectl(node, *words, stdin=''):
    """(exit status, output, complaints)"""
    with start_kubectl(node, *words) as p:
        out, err = p.communicate(stdin, PATIENCE_S)
        return p.returncode, out, err


class Events:
    """GetContainerEvents of a runtime, until it ends."""

    def __init__(self, socket):
        self.seen = []
        self.p = subprocess.Popen([os.path.join(os.path.dirname(KUBECTL), 'runtimepeer'), 'events', socket],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.p.stdout:
            self.seen.append(json.loads(line))

    def of(self, pod):
        return [e['type'] for e in list(self.seen) if e.get('pod') == pod]

    def end(self):
        self.p.kill()
        self.p.wait()
        self.reader.join()


def start_pod(node, port):
    probe = {'exec': {'command': ['true']}, 'periodSeconds': 1}
    spec = {'containers': [{'name': 'main', 'image': node_image.BUSYBOX, 'imagePullPolicy': 'Never', 'command': shell(SERVE, port),
                            'stdin': True, 'resources': {'limits': {'cpu': '500m'}, 'requests': {'cpu': '10m'}},
                            'readinessProbe': probe, 'livenessProbe': probe}]}
    name = node.add(1, None, 'probed', metadata=meta('LS'), spec=spec)[0]
    node.wait_phase([name], limit=90)

    def ready():
        return any(c['type'] == 'Ready' and c['status'] == 'True' for c in node.pods()[name]['status'].get('conditions', []))
    until('probes succeed', ready, 60)
    return name


def check_streams(check, node, name, port):
    code, out, err = kubectl(node, 'exec', '-i', name, '--', 'sh', '-c', 'cat; echo wrong >&2; exit 3', stdin='x' * 100000)
    check('exec: input, output, complaints and the exit status', (code, out) == (3, 'x' * 100000) and 'wrong' in err, (code, len(out), err[-200:]))
    attached = start_kubectl(node, 'attach', '-i', name)
    attached.stdin.write('hello\n')
    attached.stdin.flush()
    until('attach', lambda: 'you said hello' in node.log(name), 60)
    said = attached.stdout.readline()
    attached.kill()
    attached.communicate()
    check('attach: both ways', 'you said hello' in said, said)
    forward = start_kubectl(node, 'port-forward', f'pod/{name}', f':{port}')
    try:
        where = re.search(r'127\.0\.0\.1:\d+', forward.stdout.readline())
        if not where:
            forward.kill()
            raise Failed(f'port-forward: {forward.communicate()[1]}')
        with urllib.request.urlopen(f'http://{where.group(0)}/', timeout=60) as page:
            check('port-forward', page.read() == b'a page\n')
    finally:
        forward.kill()
        forward.communicate()
    check('logs', 'it serves' in kubectl(node, 'logs', name)[1])


def check_lists(check, node, name, runtime):
    """By the kubelet, by a tool, and without whoever is between."""
    def listed():
        return any(node_image.BUSYBOX in i.get('names', []) for i in node.cluster.api('GET', f'/api/v1/nodes/{node.name}')[1]['status']['images'])
    until('the kubelet lists its image', listed, 120)
    through, direct = [{what: sorted(items, key=json.dumps) for what, items in peer('list', socket).items()}
                       for socket in (runtime, node.socket)]
    check('pods, containers and images are listed', through == direct and node_image.BUSYBOX in through['images'] and
          any(c['pod'] == name and c['running'] for c in through['containers']), str(through)[:300])


def check_events(check, node, runtime, has_events):
    through = Events(runtime)
    if has_events:  # containerd 1.7 tells each to one of its listeners only, so nobody else listens
        name = node.add(1, shell('exit 0'), 'brief')[0]
        node.wait_phase([name], 'Succeeded', 60)
        until(f'events: {through.seen}', lambda: through.of(name).count('CONTAINER_STOPPED_EVENT') == 2, 60)
        kinds = [kind.split('_')[1] for kind in through.of(name)]
        check('GetContainerEvents tells what happens, as it happens',  # of the sandbox and of its container
              kinds[:5] == ['CREATED', 'STARTED', 'CREATED', 'STARTED', 'STOPPED'], kinds)
        node.remove([name])
    else:
        direct = Events(node.socket)
        codes = [(e.p.wait(60), e.reader.join(), e.seen)[2] for e in (through, direct)]
        check('GetContainerEvents ends as the runtime says', codes[0] == codes[1] == [{'status': 'Unimplemented'}], codes)
    through.end()


def resize(node, name):
    status, answer = node.cluster.api('PATCH', f'/api/v1/namespaces/default/pods/{name}/resize', {'spec': {'containers': [{
        'name': 'main', 'resources': {'limits': {'cpu': '800m'}, 'requests': {'cpu': '10m'}}}]}}, kind='application/strategic-merge-patch+json')
    if status != 200:
        raise Failed(f'resize: {status} {answer.get("message")}')
    until(f'an in-place resize: {limits_now(node, name)}', lambda: re.match(r'cpu=66667\b', limits_now(node, name)), 60)


def usual_life(check, node, runtime, has_events):
    port = free_ports(1)[0]
    name = start_pod(node, port)
    check('probes by ExecSync work', True)
    check_streams(check, node, name, port)
    check_lists(check, node, name, runtime)
    check_events(check, node, runtime, has_events)
    resize(node, name)
    check('an in-place resize arrives, normalized once', True)
    return [name]
