"""runtime_lab - pods of all QoS classes that print their own limits before anything else, and what koordlet plans for them.

The node's CPUs count 1.2 times (cpu-normalization-ratio), so that quotas of class LS and batch quotas are lowered.
"""
import json
import re

from agent import until
from node import shell

MERGE = 'application/merge-patch+json'
# Before anything else; without a limit of its own a file says so by a number.
TELL = shell('''
dir=/sys/fs/cgroup
if [ -e $dir/cgroup.controllers ]; then
    echo "cpu=$(cat $dir/cpu.max) shares=$(cat $dir/cpu.weight) memory=$(cat $dir/memory.max) cpus=$(cat $dir/cpuset.cpus) gpus=$NVIDIA_VISIBLE_DEVICES"
else
    echo "cpu=$(cat $dir/cpu/cpu.cfs_quota_us) shares=$(cat $dir/cpu/cpu.shares) memory=$(cat $dir/memory/memory.limit_in_bytes)" \
         "cpus=$(cat $dir/cpuset/cpuset.cpus) gpus=$NVIDIA_VISIBLE_DEVICES"
fi
trap 'exit 0' TERM
while :; do sleep 3600 & wait; done
''')


def meta(qos, **annotations):
    return {'labels': {'koordinator.sh/qosClass': qos}, 'annotations': annotations}


def batch_meta():
    size = {'kubernetes.io/batch-cpu': '500', 'kubernetes.io/batch-memory': '256Mi'}
    metadata = meta('BE')
    metadata['annotations']['node.koordinator.sh/extended-resource-spec'] = json.dumps(
        {'containers': {'main': {'requests': size, 'limits': size}}})
    return metadata


def lsr_meta():
    metadata = meta('LSR')
    metadata['annotations']['scheduling.koordinator.sh/resource-status'] = json.dumps({'cpuset': '0'})
    metadata['annotations']['scheduling.koordinator.sh/device-allocated'] = json.dumps({'gpu': [{'minor': 3}]})
    return metadata


SMALL = {'cpu': '50m', 'memory': '64Mi'}  # so that all fit on two CPUs
KINDS = {
    'batch': ({}, batch_meta, r'cpu=41667( 100000)? shares=(512|20) memory=268435456 .*gpus=$'),
    'lsr': ({'limits': SMALL, 'requests': SMALL}, lsr_meta, r'cpu=(-1|max 100000) shares=(51|2) memory=67108864 cpus=0 gpus=3$'),
    'ls': ({'limits': {'cpu': '500m'}, 'requests': {'cpu': '10m'}}, lambda: meta('LS'), r'cpu=41667( 100000)? '),
    'plain': ({}, lambda: {}, r'cpu=(-1|max 100000) shares=[12] .*gpus=$'),
    'guaranteed': ({'limits': SMALL, 'requests': SMALL}, lambda: meta('LSE'), r'cpu=5000( 100000)? shares=(51|2) memory=67108864 '),
}


def first_words(node, name):
    return until(f'{name} says something', lambda: re.findall(r'(?m)^cpu=.*$', node.log(name)), 60)[0]


def say_and_compare(check, node, names):
    bad = [f'{n}: {said}' for n in names if not re.search(KINDS[n.split('-')[0]][2], said := first_words(node, n))]
    check(f'{len(names)} containers found what is planned for them', not bad, bad[:3])


def start(node, count, policy='Never'):
    """policy: what the kubelet does when a call to the runtime broke off in the middle of a start."""
    names = []
    kinds = list(KINDS)
    for i in range(count):
        resources, metadata, _ = KINDS[kinds[i % len(kinds)]]
        names += node.add(1, TELL, kinds[i % len(kinds)], resources, metadata(), {'restartPolicy': policy})
    return names


def set_ratio(node):
    node.cluster.api('PATCH', f'/api/v1/nodes/{node.name}', {'metadata': {'annotations': {
        'node.koordinator.sh/cpu-normalization-ratio': '1.20'}}}, kind=MERGE)
