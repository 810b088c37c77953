"""cluster_kills - kill -9 of every process of koord, of containerd and of the kubelet while pods come and go: a part of test_cluster.

In each round a batch Job is created and each of them is killed in turn, all replicas at once. Whatever died, it ends the same: the
Job's pod runs as its profile says and the kernel has its limits, all of koord is ready again, and no pod of users was restarted.
"""
import os
import random
import signal
import time

import node_host
from lab import FULL, PATIENCE_S, Failed
from node_host import wait_until
from real_cluster import CHART

ROUNDS = 20 if FULL else 3
PROGRAMS = ('koord-scheduler', 'koord-manager', 'koord-descheduler', 'koordlet', 'koord-device-daemon')
RESOURCES = {'requests': {'kubernetes.io/batch-cpu': '300', 'kubernetes.io/batch-memory': '32Mi'},
             'limits': {'kubernetes.io/batch-cpu': '500', 'kubernetes.io/batch-memory': '64Mi'}}
SEED = 23


def kill(real, victim):
    """How many processes."""
    if victim == 'containerd':
        real.node.kill_containerd()
        return 1
    if victim == 'kubelet':
        real.node.kill_kubelet()
        return 1
    pids = [pid for pid, words in node_host.processes(f'/{victim}').items() if words]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return len(pids)


def runs_again(victim):
    return bool([pid for pid, words in node_host.processes(f'/{victim}').items() if words])


def restarts(status):
    """How often a container ran before. A kubelet that was killed between creating and starting one makes another and counts it; then
    the state before is no end."""
    return status['restartCount'] if 'terminated' in status.get('lastState', {}) else 0


def outcome(real, name, memory_limit):
    """What has become of a Job: its pod's state as users see it."""
    pods = [p for p in real.pods('default', f'job-name={name}') if 'deletionTimestamp' not in p['metadata']]
    if len(pods) != 1 or pods[0]['status']['phase'] != 'Running':
        return None
    p = pods[0]
    return {'scheduler': p['spec']['schedulerName'], 'priority': p['spec']['priority'], 'node': p['spec']['nodeName'],
            'class': p['metadata']['labels'].get('koordinator.sh/qosClass'), 'resources': p['spec']['containers'][0]['resources'],
            'restarts': restarts(p['status']['containerStatuses'][0]),
            'kernel': memory_limit('besteffort', f'pod{p["metadata"]["uid"]}')}


WANTED = {'scheduler': 'koord-scheduler', 'priority': 5000, 'node': 'lab-node', 'class': 'BE', 'resources': RESOURCES, 'restarts': 0,
          'kernel': 64 << 20}


def services(real):
    return {p['metadata']['name']: (p['metadata']['uid'], [(c['containerID'], c['restartCount']) for c in p['status']['containerStatuses']])
            for p in real.pods('default', 'app=service')}


def one_round(real, n, job, memory_limit, rng):
    name, killed = f'round-{n}', {}
    victims = [*PROGRAMS, 'containerd', 'kubelet']
    rng.shuffle(victims)
    at = rng.randrange(len(victims))
    for i, victim in enumerate(victims):
        if i == at:
            real.apply(job(name))
        # One that is not back yet cannot die again.
        if victim in PROGRAMS:
            wait_until(f'{victim} runs', lambda v=victim: runs_again(v), PATIENCE_S)
        killed[victim] = kill(real, victim)
        time.sleep(rng.random())
    real.ready(2 * PATIENCE_S)
    last = {}

    def same():
        last['seen'] = outcome(real, name, memory_limit)
        return last['seen'] == WANTED
    try:
        wait_until(f'{name} ends as ever', same, 2 * PATIENCE_S)
    except Failed as e:
        raise Failed(f'{e}: {last["seen"]}, {victims}') from e
    real.api('DELETE', f'/apis/batch/v1/namespaces/default/jobs/{name}?propagationPolicy=Background')
    return killed


def kills(real, check, service, job, memory_limit):
    """service, job: as in the story."""
    # A manager that is away must not let a pod through unchanged.
    real.helm('upgrade', 'koord', CHART, *real.values(), '--set', 'webhookConfiguration.failurePolicy.pods=Fail')
    real.ready()
    real.apply(service)
    wait_until('the service runs', lambda: [p for p in real.pods('default', 'app=service') if p['status']['phase'] == 'Running'], PATIENCE_S)
    before, rng, total = services(real), random.Random(SEED), 0
    for n in range(ROUNDS):
        killed = one_round(real, n, job, memory_limit, rng)
        total += sum(killed.values())
        check(f'round {n}: every process was killed, and it ends the same', all(killed.values()), killed)
    check('no pod of users was restarted', services(real) == before, (before, services(real)))
    print(f'# {total} processes killed in {ROUNDS} rounds')
