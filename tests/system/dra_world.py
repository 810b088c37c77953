"""dra_world.py - clusters with devices from a seed: nodes, ResourceSlices, DeviceClasses, claims, templates and pods.

Many of them fit on one API server: names begin with the cluster's own, pods stay on its nodes by a label, and every class
asks for drivers of the cluster first. What a scheduler makes of a cluster is decided by its objects alone, so that two
schedulers can be compared:
- pods have different priorities, hence one order
- each pod prefers its nodes in an order of its own, with weights that outweigh all other scores
- devices of a driver come from one slice on each node; where there are several (`open`), they are all alike, and only how
  many of them a claim has is compared: upstream goes through pools and slices in the order of a hash map
- at most one thing per pod fails with an error, since the first node to fail names it; pods whose selectors fail come last, for they
  are tried again and again, and devices that others take meanwhile would hide the failure
- pods that share a claim need nothing else: who gets it allocated first is a matter of time

Slips of upstream that are left out by construction: All as a later alternative of firstAvailable, an allocated claim beside one
that is not (kubernetes#139016), counters of two drivers in pools of one name, counters beside taints or constraints (what they
refuse stays counted), a pool whose counters are wrong (all nodes see it, and requests for All name the first they meet), and an old generation that is complete on nodes where the new one has no slice.
"""
import random

HOST, RACK, CLUSTER = 'kubernetes.io/hostname', 'example.com/rack', 'example.com/cluster'
PCIE = 'resource.kubernetes.io/pcieRoot'
PRIORITIES = 40
NODES_MAX, PODS_MAX = 20, 24
GATES = {
    'partitions': 'DRAPartitionableDevices',
    'taints': 'DRADeviceTaints',
    'taintrules': 'DRADeviceTaints=true,DRADeviceTaintRules',
    'capacity': 'DRAConsumableCapacity',
    'binding': 'DRADeviceBindingConditions',
    'extended': 'DRAExtendedResource',
}


def cel(expression):
    return {'cel': {'expression': expression}}


def one_term(key, values, fields=False):
    return {'nodeSelectorTerms': [{'matchFields' if fields else 'matchExpressions': [
        {'key': key, 'operator': 'In', 'values': values}]}]}


class Driver:
    """A driver of the cluster with its class; plain devices have all attributes."""

    def __init__(self, world, kind):
        self.kind = kind
        self.name = f'{kind}.{world.name}.example.com'
        self.cls = f'{world.name}-{kind}'
        self.attributes = f'device.attributes["{self.name}"]'
        self.capacity = f'device.capacity["{self.name}"]'


class World:
    def __init__(self, seed, gate=''):
        self.seed, self.gate = seed, gate
        self.rand = r = random.Random(f'{gate}/{seed}')
        self.name = f'{gate[:4] or "c"}{seed}'
        self.profile = r.choice(['nearest', 'devices'])
        # Most clusters are small: they cost less, and contention is as good there.
        count = r.choice([r.randint(1, 6), r.randint(1, 12), r.randint(6, NODES_MAX)])
        self.nodes = [self.node(i) for i in range(count)]
        self.names = [n['metadata']['name'] for n in self.nodes]
        self.racks = sorted({n['metadata']['labels'][RACK] for n in self.nodes})
        self.slices, self.classes, self.templates, self.claims, self.pods = [], [], [], [], []
        self.rules = []         # DeviceTaintRules, with their gate
        self.held = set()       # pods that never reach an attempt
        self.allocated = {}     # claim -> what its status says from the start
        self.open = set()       # drivers of which only the number of devices is decided
        self.failing = ''       # the one pool that is incomplete or invalid
        self.drivers = {kind: Driver(self, kind) for kind in ('gpu', 'nic', 'rack', 'all', 'open', 'pin')}
        self.supply()
        if gate:
            getattr(self, f'supply_{gate}')()
        number = min(PODS_MAX, r.randint(3, 6 + 2 * count))
        self.last = []  # pods that come after all others
        if r.random() < 0.1:
            # As many as a claim may have, while all are free: with a few taken upstream would try all permutations.
            lot = {'name': 'lot', 'exactly': {'deviceClassName': self.drivers['all'].cls, 'count': 32}}
            self.make_pod('first', [self.entry('first-a', {'requests': [lot]})])
        for i in range(number):
            self.demand(i)
        for name in self.last:
            self.make_pod(name, [self.entry(f'{name}-a', self.wrong())])

    # ---- nodes -----------------------------------------------------------------------------------------------

    def node(self, i):
        name = f'{self.name}-n{i:02}'
        room = {'cpu': '64', 'memory': '256Gi', 'pods': '110'}
        return {'apiVersion': 'v1', 'kind': 'Node', 'spec': {},
                'metadata': {'name': name, 'labels': {HOST: name, CLUSTER: self.name, RACK: f'r{self.rand.randrange(3)}'}},
                'status': {'allocatable': room, 'capacity': dict(room),
                           'conditions': [{'type': 'Ready', 'status': 'True'}]}}

    # ---- slices and classes ----------------------------------------------------------------------------------

    def make_class(self, name, *expressions, **spec):
        spec['selectors'] = [cel(e) for e in expressions]
        self.classes.append({'apiVersion': 'resource.k8s.io/v1', 'kind': 'DeviceClass', 'metadata': {'name': name}, 'spec': spec})

    def make_slice(self, driver, pool, devices, generation=1, count=1, part='', **where):
        name = f'{pool}-{driver.kind}-{generation}{part}'
        spec = {'driver': driver.name, 'pool': {'name': pool, 'generation': generation, 'resourceSliceCount': count}, **where}
        if devices is not None:
            spec['devices'] = devices
        self.slices.append({'apiVersion': 'resource.k8s.io/v1', 'kind': 'ResourceSlice', 'metadata': {'name': name}, 'spec': spec})

    def device(self, driver, i, **more):
        r = self.rand
        attributes = {'model': {'string': r.choice('aab')}, 'index': {'int': i}, 'numa': {'int': r.randrange(2)},
                      'ecc': {'bool': r.random() < 0.7}, 'firmware': {'version': r.choice(['1.1.9', '1.2.0', '2.0.0-rc.1'])},
                      PCIE: {'string': f'pci{r.randrange(2)}'}}
        if r.random() < 0.9:
            attributes['serial'] = {'string': f's{i}'}
        return {'name': f'd{i}', 'attributes': attributes,
                'capacity': {'memory': {'value': r.choice(['16Gi', '40Gi', '80Gi'])}}, **more}

    def devices(self, driver, low, high):
        return [self.device(driver, i) for i in range(self.rand.randint(low, high))]

    def supply(self):
        d = self.drivers
        for driver in d.values():
            config = []
            if self.rand.random() < 0.3:
                config = [{'opaque': {'driver': driver.name, 'parameters': {'mode': driver.kind}}}]
            self.make_class(driver.cls, f'device.driver == "{driver.name}"', **({'config': config} if config else {}))
        gpu = d['gpu']
        self.make_class(f'{gpu.cls}-a', f'device.driver == "{gpu.name}"', f'{gpu.attributes}.model == "a"')
        self.make_class(f'{gpu.cls}-bad', f'device.driver == "{gpu.name}" && {gpu.attributes}.missing == 1')
        for name in self.names:
            self.supply_node(name)
        for rack in self.racks:
            if self.rand.random() < 0.8:
                inside = [n['metadata']['name'] for n in self.nodes if n['metadata']['labels'][RACK] == rack]
                where = one_term(RACK, [rack])
                if self.rand.random() < 0.3:
                    where = one_term('metadata.name', [self.rand.choice(inside)], fields=True)
                self.make_slice(d['rack'], f'{self.name}-{rack}', self.devices(d['rack'], 0, 4), nodeSelector=where)
        if self.rand.random() < 0.7:
            few, many = self.devices(d['all'], 1, 6), [self.device(d['all'], i) for i in range(40)]
            # Those of all nodes are seen by the neighbours too, and cost upstream dearly: few clusters have them.
            where = {'allNodes': True} if self.rand.random() < 0.15 else {'nodeSelector': one_term(CLUSTER, [self.name])}
            self.make_slice(d['all'], self.name, few if self.rand.random() < 0.9 else many, **where)
        self.spoil()

    def supply_node(self, name):
        d, r = self.drivers, self.rand
        for kind in ('gpu', 'nic'):
            if r.random() < 0.85:
                self.make_slice(d[kind], name, self.devices(d[kind], 0, 4), nodeName=name)
        self.make_slice(d['pin'], name, [self.device(d['pin'], 0), self.device(d['pin'], 1)], nodeName=name)
        if r.random() < 0.5:
            # Alike, in two slices of a pool or in two pools.
            self.open.add(d['open'].name)
            together = r.random() < 0.5
            for k in range(2):
                devices = [{'name': f'o{k}{i}'} for i in range(r.randint(1, 2))]
                self.make_slice(d['open'], name if together else f'{name}-{k}', devices, count=1 + together, part=f'-{k}', nodeName=name)

    def spoil(self):
        """An old generation beside a new one; a pool with a part missing, one with a name twice."""
        r = self.rand
        gpus = [s for s in self.slices if s['spec']['driver'] == self.drivers['gpu'].name]
        if gpus and r.random() < 0.3:
            s = r.choice(gpus)
            s['spec']['pool']['generation'] = 2
            self.make_slice(self.drivers['gpu'], s['spec']['pool']['name'], self.devices(self.drivers['gpu'], 1, 3), 1, r.randint(1, 2),
                            '-old', nodeName=s['spec']['nodeName'])
        nics = [s for s in self.slices if s['spec']['driver'] == self.drivers['nic'].name and s['spec']['devices']]
        how = r.choice(['', '', 'part', 'twice'])
        if nics and how:
            s = r.choice(nics)
            self.failing = how
            s['spec']['pool']['resourceSliceCount'] = 2
            if how == 'twice':
                self.make_slice(self.drivers['nic'], s['spec']['pool']['name'], [dict(s['spec']['devices'][0])], 1, 2, '-b',
                                nodeName=s['spec']['nodeName'])

    # ---- claims ----------------------------------------------------------------------------------------------

    def selector(self, driver):
        a, c, r = driver.attributes, driver.capacity, self.rand
        return r.choice([f'{a}.model == "a"', f'{a}.model != "b"', f'{a}.numa == 0', f'{a}.index >= 1', f'{a}.ecc',
                         f'{a}.firmware.compareTo(semver("1.2.0")) >= 0', f'{a}.index in [0, 2, 3]',
                         f'{c}.memory.compareTo(quantity("40Gi")) >= 0', f'{c}.memory.isGreaterThan(quantity("16Gi"))',
                         f'"serial" in {a} && {a}.serial.startsWith("s")', f'!has({a}.serial) || {a}.serial != "s1"'])

    def ask(self, kind, **more):
        """What is asked of one driver: a class, perhaps a selector."""
        driver, r = self.drivers[kind], self.rand
        out = {'deviceClassName': driver.cls, **more}
        if kind == 'gpu' and r.random() < 0.2:
            out['deviceClassName'] = f'{driver.cls}-a'
        if kind != 'open' and r.random() < 0.5:
            out['selectors'] = [cel(self.selector(driver))]
            if r.random() < 0.3:
                out['selectors'].append(cel(self.selector(driver)))
        return out

    def exactly(self, name, kind, **more):
        return {'name': name, 'exactly': self.ask(kind, **more)}

    def fill(self):
        """spec.devices of a claim, of the shapes that this cluster has."""
        r = self.rand
        shapes = [self.plain, self.plain, self.plain, self.pair, self.match, self.match_over, self.first, self.first, self.all,
                  self.admin, self.reach, self.reach, self.crowd]
        if self.gate:
            shapes = shapes[1:] + [getattr(self, f'shape_{self.gate}')] * 12
        spec = r.choice(shapes)()
        if r.random() < 0.15:
            requests = [spec['requests'][0]['name']] if r.random() < 0.5 else []
            config = {'opaque': {'driver': self.drivers['gpu'].name, 'parameters': {'n': r.randrange(9)}}}
            spec['config'] = [{**({'requests': requests} if requests else {}), **config}]
        return spec

    def plain(self):
        r = self.rand
        return {'requests': [self.exactly('dev', r.choice(['gpu', 'gpu', 'nic', 'open']), count=r.choice([1, 1, 1, 2, 3]))]}

    def pair(self):
        r = self.rand
        return {'requests': [self.exactly('one', 'gpu', count=1), self.exactly('two', r.choice(['gpu', 'nic']), count=r.choice([1, 2]))]}

    def match(self):
        driver = self.drivers[self.rand.choice(['gpu', 'nic'])]
        attribute = f'{driver.name}/{self.rand.choice(["numa", "model", "firmware", "serial"])}'
        spec = {'requests': [self.exactly('one', driver.kind, count=2)], 'constraints': [{'matchAttribute': attribute}]}
        if self.rand.random() < 0.4:
            spec['requests'].append(self.exactly('two', driver.kind, count=1))
            spec['constraints'][0]['requests'] = ['one', 'two']
        return spec

    def match_over(self):
        return {'requests': [self.exactly('gpu', 'gpu', count=self.rand.choice([1, 2])), self.exactly('nic', 'nic', count=1)],
                'constraints': [{'requests': ['gpu', 'nic'], 'matchAttribute': PCIE}]}

    def first(self):
        r = self.rand
        alternatives = [{'name': f'alt{i}', **self.ask(r.choice(['gpu', 'gpu', 'nic', 'rack', 'all']), count=r.choice([1, 1, 2, 4]))}
                        for i in range(r.randint(2, 3))]
        if r.random() < 0.15 and not self.failing:
            alternatives[0] = {'name': 'alt0', **self.ask('nic', allocationMode='All')}
        spec = {'requests': [{'name': 'any', 'firstAvailable': alternatives}]}
        if r.random() < 0.4:
            spec['requests'].insert(r.randrange(2), self.exactly('more', r.choice(['gpu', 'nic']), count=1))
        if r.random() < 0.2 and 'allocationMode' not in alternatives[0]:  # All beside a constraint fails, on the first node
            spec['constraints'] = [{'requests': [r.choice(['any', 'any/alt0', 'any/alt1'])], 'matchAttribute': PCIE}]
        return spec

    def all(self):
        spec = {'requests': [self.exactly('every', self.rand.choice(['gpu', 'nic', 'open', 'rack']), allocationMode='All')]}
        if self.rand.random() < 0.3:
            spec['requests'].append(self.exactly('one', 'gpu', count=1))
        return spec

    def admin(self):
        r = self.rand
        count = {'allocationMode': 'All'} if r.random() < 0.4 else {'count': r.choice([1, 2])}
        return {'requests': [self.exactly('watch', r.choice(['gpu', 'nic', 'rack']), adminAccess=True, **count)]}

    def reach(self):
        """Devices that are not of one node."""
        r = self.rand
        spec = {'requests': [self.exactly('net', r.choice(['rack', 'all']), count=r.choice([1, 1, 2]))]}
        if r.random() < 0.3:
            spec['requests'].append(self.exactly('near', 'gpu', count=1))
        return spec

    def crowd(self):
        """Beyond the limit of 32 devices."""
        n = self.rand.choice([33, 40])
        return {'requests': [{'name': name, 'exactly': {'deviceClassName': self.drivers['all'].cls, 'count': count}}
                             for name, count in (('lot', n - 4), ('rest', 4))]}

    def wrong(self):
        """What fails while devices are looked at."""
        gpu, r = self.drivers['gpu'], self.rand
        request = {'name': 'bad', 'exactly': {'deviceClassName': gpu.cls, 'count': r.choice([1, 2])}}
        how = r.randrange(4)
        if how == 0:
            request['exactly']['deviceClassName'] = f'{gpu.cls}-bad'
        elif how == 1:
            request['exactly']['selectors'] = [cel(f'{gpu.attributes}.serial.startsWith("s")')]
        elif how == 2:
            request['exactly']['selectors'] = [cel('true'), cel(f'{gpu.attributes}.missing')]
        else:
            request['exactly']['selectors'] = [cel(f'{gpu.attributes}.firmware.isGreaterThan(semver({gpu.attributes}.model))')]
        return {'requests': [request]}

    # ---- pods ------------------------------------------------------------------------------------------------

    def make_template(self, name, devices):
        self.templates.append({'apiVersion': 'resource.k8s.io/v1', 'kind': 'ResourceClaimTemplate',
                               'metadata': {'name': name, 'namespace': self.name},
                               'spec': {'metadata': {'labels': {'from': name}}, 'spec': {'devices': devices}}})
        return {'resourceClaimTemplateName': name}

    def make_claim(self, name, devices):
        self.claims.append({'apiVersion': 'resource.k8s.io/v1', 'kind': 'ResourceClaim',
                            'metadata': {'name': name, 'namespace': self.name}, 'spec': {'devices': devices}})
        return {'resourceClaimName': name}

    def make_pod(self, name, entries, selector=None, **spec):
        r = self.rand
        weights = r.sample(range(1, 101), len(self.names))
        prefer = [{'weight': w, 'preference': {'matchExpressions': [{'key': HOST, 'operator': 'In', 'values': [n]}]}}
                  for n, w in zip(self.names, weights)]
        container = {'name': 'c', 'image': 'registry.k8s.io/pause:3.10'}
        if entries:
            container['resources'] = {'claims': [{'name': f'e{i}'} for i in range(len(entries))]}
            spec['resourceClaims'] = [{'name': f'e{i}', **e} for i, e in enumerate(entries)]
        if 'extra' in spec:
            container.setdefault('resources', {}).update(spec.pop('extra'))
        pod = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name, 'namespace': self.name},
               'spec': {'schedulerName': self.profile, 'terminationGracePeriodSeconds': 0, 'containers': [container],
                        'priorityClassName': f'p{len(self.pods) % PRIORITIES:02}', 'nodeSelector': selector or {CLUSTER: self.name},
                        'affinity': {'nodeAffinity': {'preferredDuringSchedulingIgnoredDuringExecution': prefer}}, **spec}}
        self.pods.append(pod)
        return pod

    def entry(self, name, devices):
        make = self.make_template if self.rand.random() < 0.7 else self.make_claim
        return make(name, devices)

    def demand(self, i):
        r, name = self.rand, f'pod{i:02}'
        kind = r.random()
        if self.gate == 'extended' and kind < 0.6:
            self.demand_extended(name)
        elif kind < 0.60:
            selector = None
            if r.random() < 0.15:
                selector = {HOST: r.choice(self.names)}
            self.make_pod(name, [self.entry(f'{name}-a', self.fill())], selector)
        elif kind < 0.72:
            self.make_pod(name, [self.entry(f'{name}-a', self.fill()), self.entry(f'{name}-b', self.quiet_fill())])
        elif kind < 0.80:
            claim = self.make_claim(f'{name}-shared', self.fill())
            for k in range(r.randint(2, 3)):
                self.make_pod(f'{name}-{k}', [claim])
        elif kind < 0.86:
            self.last.append(name)
        elif kind < 0.91:
            self.lacking(name)
        elif kind < 0.96:
            self.pinned(name)
        else:
            self.make_pod(name, [])

    def quiet_fill(self):
        """A second claim: nothing of it may fail with an error of its own."""
        return self.rand.choice([self.plain, self.match, self.match_over, self.reach])()

    def lacking(self, name):
        """Something that a claim needs is not there."""
        how = self.rand.randrange(3)
        if how == 0:
            request = {'name': 'dev', 'exactly': {'deviceClassName': f'{self.name}-none', 'count': 1}}
            if self.rand.random() < 0.5:
                request = {'name': 'dev', 'firstAvailable': [{'name': 'sub', 'deviceClassName': f'{self.name}-none', 'count': 1}]}
            self.make_pod(name, [self.entry(f'{name}-a', {'requests': [request]})])
            return
        self.held.add(name)
        self.make_pod(name, [{'resourceClaimName': 'none'} if how == 1 else {'resourceClaimTemplateName': 'none'}])

    def pinned(self, name):
        """A claim that is allocated from the start: unused, or held by a pod that runs."""
        r = self.rand
        node, pin = r.choice(self.names), self.drivers['pin']
        if self.allocated:
            self.make_pod(name, [])
            return
        devices = {'requests': [{'name': 'pin', 'exactly': {'deviceClassName': pin.cls, 'count': 1}}]}
        claim = self.make_claim(f'{name}-pin', devices)
        self.allocated[f'{name}-pin'] = {
            'devices': {'results': [{'request': 'pin', 'driver': pin.name, 'pool': node, 'device': 'd0'}]},
            'nodeSelector': one_term('metadata.name', [node], fields=True)}
        if self.gate == 'binding':
            # Without it both schedulers try to add it with the reservation, and an allocation is immutable.
            self.allocated[f'{name}-pin']['allocationTimestamp'] = '2026-01-01T00:00:00Z'
        if r.random() < 0.4:
            self.make_pod(f'{name}-holder', [claim], nodeName=node)
        self.make_pod(name, [claim], {HOST: r.choice(self.names)} if r.random() < 0.7 else None)

    # ---- behind gates ----------------------------------------------------------------------------------------

    def supply_partitions(self):
        """Cards in parts, which consume counters of their pool; devices that say themselves on which node they are."""
        d, r = Driver(self, 'part'), self.rand
        self.drivers['part'] = d
        self.make_class(d.cls, f'device.driver == "{d.name}"')
        for name in self.names:
            if r.random() < 0.2:
                continue
            sets = [{'name': f'card{k}', 'counters': {'memory': {'value': '80Gi'}, 'cores': {'value': '8'}}} for k in range(r.randint(1, 2))]
            devices = []
            for k in range(len(sets)):
                for part, memory, cores in (('whole', '80Gi', 8), ('half', '40Gi', 4), ('half', '40Gi', 4), ('small', '20Gi', 1),
                                            ('small', '20Gi', 1), ('small', '20Gi', 1)):
                    use = {'counterSet': f'card{k}', 'counters': {'memory': {'value': memory}, 'cores': {'value': str(cores)}}}
                    devices.append({'name': f'd{len(devices)}', 'attributes': {'part': {'string': part}}, 'consumesCounters': [use]})
            r.shuffle(devices)
            self.make_slice(d, name, None, count=2, part='-counters', nodeName=name, sharedCounters=sets)
            self.make_slice(d, name, devices, count=2, part='-devices', nodeName=name)
        each = Driver(self, 'each')
        self.drivers['each'] = each
        self.make_class(each.cls, f'device.driver == "{each.name}"')
        devices = []
        for i in range(r.randint(1, 8)):
            where = r.choice([{'nodeName': r.choice(self.names)}, {'allNodes': True}, {'nodeSelector': one_term(RACK, [r.choice(self.racks)])}])
            devices.append({'name': f'd{i}', **where})
        self.make_slice(each, f'{self.name}-each', devices, perDeviceNodeSelection=True)

    def shape_partitions(self):
        r, d = self.rand, self.drivers['part']

        def part(count=1):
            which = r.choice(['whole', 'half', 'half', 'small', 'small'])
            return {'deviceClassName': d.cls, 'count': count, 'selectors': [cel(f'{d.attributes}.part == "{which}"')]}

        kind = r.randrange(5)
        if kind == 0:
            return {'requests': [{'name': 'any', 'firstAvailable': [{'name': f's{i}', **part()} for i in range(3)]}]}
        if kind == 1:
            return {'requests': [{'name': 'one', 'exactly': part()}, {'name': 'two', 'exactly': part(r.choice([1, 2]))}]}
        if kind == 2:
            return {'requests': [{'name': 'each', 'exactly': {'deviceClassName': self.drivers['each'].cls, 'count': r.choice([1, 2])}}]}
        return {'requests': [{'name': 'part', 'exactly': part(r.choice([1, 1, 2]))}]}

    def supply_taints(self):
        r = self.rand
        for s in self.slices:
            for device in s['spec']['devices']:
                # Those of "open" must stay alike, those of "pin" serve pods that ask for nothing else.
                if r.random() < 0.4 and not s['spec']['driver'].startswith(('open.', 'pin.')):
                    device['taints'] = [{'key': f'{r.choice(["wear", "owner"])}.example.com', 'effect': r.choice(['NoSchedule', 'NoSchedule', 'None']),
                                         **({'value': r.choice(['x', 'y'])} if r.random() < 0.7 else {})} for _ in range(r.choice([1, 1, 2]))]
                    if len({(t['key'], t['effect']) for t in device['taints']}) < len(device['taints']):
                        device['taints'] = device['taints'][:1]

    def supply_taintrules(self):
        """Taints that an administrator gives to all devices of a driver, to those of a pool, or to one."""
        r = self.rand
        if r.random() < 0.5:
            self.supply_taints()
        # A pool's name alone must not mean devices that have to stay alike, or those of neighbours.
        kinds = ('gpu', 'nic', 'rack', 'all')
        slices = [s for s in self.slices if s['spec']['driver'].startswith(tuple(f'{k}.' for k in kinds))]
        for i in range(r.randint(1, 4)):
            spec = r.choice(slices)['spec'] if slices else {}
            driver = spec.get('driver') or self.drivers['gpu'].name
            pool = spec.get('pool', {}).get('name', 'none')
            device = r.choice(spec.get('devices') or [{'name': 'd0'}])['name']
            selector = r.choice([{'driver': driver}, {'driver': driver, 'pool': pool}, {'driver': driver, 'pool': pool},
                                 {'driver': driver, 'pool': pool, 'device': device}, {'driver': driver, 'device': device},
                                 {'driver': f'none.{self.name}.example.com'}])
            if driver.startswith(('rack.', 'all.')) and r.random() < 0.3:
                selector = {'pool': pool}
            taint = {'key': f'{r.choice(["wear", "owner"])}.example.com',
                     'effect': r.choice(['NoSchedule', 'NoSchedule', 'NoExecute', 'None']),
                     **({'value': r.choice(['x', 'y'])} if r.random() < 0.7 else {})}
            self.rules.append({'apiVersion': 'resource.k8s.io/v1alpha3', 'kind': 'DeviceTaintRule',
                               'metadata': {'name': f'{self.name}-{i}'}, 'spec': {'deviceSelector': selector, 'taint': taint}})

    def shape_taintrules(self):
        return self.shape_taints()

    def shape_taints(self):
        r = self.rand
        spec = r.choice([self.plain, self.pair, self.match, self.first, self.all, self.reach])()
        for request in spec['requests']:
            for ask in request.get('firstAvailable') or [request['exactly']]:
                if r.random() < 0.7:
                    ask['tolerations'] = [r.choice([
                        {'operator': 'Exists'}, {'operator': 'Exists', 'key': 'wear.example.com'},
                        {'operator': 'Equal', 'key': 'wear.example.com', 'value': 'x'},
                        {'operator': 'Equal', 'key': 'owner.example.com', 'value': 'y', 'effect': 'NoSchedule'},
                        {'operator': 'Exists', 'effect': 'NoExecute'}])]
        return spec

    def supply_capacity(self):
        """Devices that several claims share."""
        d, r = Driver(self, 'share'), self.rand
        self.drivers['share'] = d
        self.make_class(d.cls, f'device.driver == "{d.name}"')
        for name in self.names:
            devices = []
            for i in range(r.randint(0, 3)):
                shared = r.random() < 0.8
                capacity = {'bandwidth': {'value': '40'}}
                if shared:
                    capacity['bandwidth']['requestPolicy'] = r.choice([
                        {'default': '10', 'validValues': ['5', '10', '20']},
                        {'default': '8', 'validRange': {'min': '4', 'max': '32', 'step': '4'}},
                        {'default': '10', 'validRange': {'min': '2'}}])
                    if r.random() < 0.3:
                        capacity['slots'] = {'value': '4', 'requestPolicy': {'default': '1'}}
                devices.append({'name': f'd{i}', 'allowMultipleAllocations': shared, 'capacity': capacity,
                                'attributes': {'numa': {'int': r.randrange(2)}, 'link': {'string': f'l{i}'}}})
            self.make_slice(d, name, devices, nodeName=name)

    def shape_capacity(self):
        r, d = self.rand, self.drivers['share']
        out = {'requests': []}
        for name in ('one', 'two')[:r.choice([1, 1, 2])]:
            ask = {'deviceClassName': d.cls, 'count': r.choice([1, 1, 2])}
            if r.random() < 0.8:
                wanted = {'bandwidth': r.choice(['1', '5', '7', '10', '15', '20', '30', '33', '41'])}
                if r.random() < 0.2:
                    wanted['slots'] = '2'
                ask['capacity'] = {'requests': wanted}
            if r.random() < 0.2:
                ask['selectors'] = [cel(f'device.allowMultipleAllocations && {d.attributes}.numa == 0')]
            out['requests'].append({'name': name, 'exactly': ask})
        if r.random() < 0.3:
            out['constraints'] = [{r.choice(['distinctAttribute', 'matchAttribute']): f'{d.name}/{r.choice(["numa", "link"])}'}]
        return out

    def supply_binding(self):
        """Devices that are attached after the choice, beside others that need no waiting."""
        d, r = Driver(self, 'fabric'), self.rand
        self.drivers['fabric'] = d
        self.make_class(d.cls, f'device.driver == "{d.name}"')
        slow = {'bindingConditions': ['example.com/attached'], 'bindingFailureConditions': ['example.com/broken']}
        for rack in self.racks:
            plain = [{'name': f'd{i}'} for i in range(r.randint(0, 1))]
            fabric = [{'name': f'f{i}', **slow, **({'bindsToNode': True} if r.random() < 0.5 else {})} for i in range(r.randint(0, 2))]
            where = {'nodeSelector': one_term(RACK, [rack])}
            if plain and r.random() < 0.5:  # a pool with such devices is the last to be tried
                self.make_slice(d, f'{self.name}-{rack}-plain', plain, **where)
                self.make_slice(d, f'{self.name}-{rack}', fabric, **where)
            else:
                self.make_slice(d, f'{self.name}-{rack}', plain + fabric, **where)

    def shape_binding(self):
        d = self.drivers['fabric']
        return {'requests': [{'name': 'fabric', 'exactly': {'deviceClassName': d.cls, 'count': self.rand.choice([1, 1, 2])}}]}

    def supply_extended(self):
        """Resources of containers that classes stand for; some nodes have a device plugin for one of them."""
        for kind in ('gpu', 'nic'):
            cls = next(c for c in self.classes if c['metadata']['name'] == self.drivers[kind].cls)
            cls['spec']['extendedResourceName'] = f'{self.name}.example.com/{kind}'
        for n in self.nodes:
            if self.rand.random() < 0.2:
                for room in (n['status']['allocatable'], n['status']['capacity']):
                    room[f'{self.name}.example.com/gpu'] = '1'

    def shape_extended(self):
        return self.plain()

    def demand_extended(self, name):
        r = self.rand
        which = r.choice([f'{self.name}.example.com/gpu', f'{self.name}.example.com/nic',
                          f'deviceclass.resource.kubernetes.io/{self.drivers["rack"].cls}'])
        amount = {which: r.choice(['1', '1', '2'])}
        if r.random() < 0.3:
            amount[f'{self.name}.example.com/nic'] = '1'
        self.make_pod(name, [], extra={'requests': amount, 'limits': dict(amount)})
