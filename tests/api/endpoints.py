"""endpoints.py - Endpoints and EndpointSlices: what is filled in, what may change, and what is warned of.

What is refused is in malformed_network.py.
"""
from client import MERGE, check

DEPRECATED = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'


def endpoints(name, *ips, **subset):
    return {'apiVersion': 'v1', 'kind': 'Endpoints', 'metadata': {'name': name},
            'subsets': [{'addresses': [{'ip': ip} for ip in ips], **subset}]}


def slice_of(name, *ips, kind='IPv4', **more):
    return {'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'metadata': {'name': name},
            'addressType': kind, 'endpoints': [{'addresses': [ip]} for ip in ips], **more}


def slices(t):
    return t.at('endpointslices', 'discovery.k8s.io')


def warnings(a):
    return [w for w in a.headers.get_all('Warning') or [] if w != DEPRECATED]


@check
def ports_of_endpoints_are_tcp(t):
    got = t.make(t.at('endpoints'), endpoints('x', '10.0.0.1', ports=[{'port': 80}]))
    t.eq(got['subsets'], [{'addresses': [{'ip': '10.0.0.1'}], 'ports': [{'port': 80, 'protocol': 'TCP'}]}], 'subsets')


@check
def ports_of_a_slice_have_a_name_and_are_tcp(t):
    got = t.make(slices(t), slice_of('x', '10.0.0.1', ports=[{'port': 80}]))
    t.eq(got['ports'], [{'name': '', 'port': 80, 'protocol': 'TCP'}], 'ports')
    t.eq(got['endpoints'], [{'addresses': ['10.0.0.1'], 'conditions': {}}], 'endpoints')
    t.has(got, 'metadata.generation', 1)


@check
def a_slice_may_have_neither_endpoints_nor_ports(t):
    got = t.make(slices(t), {'metadata': {'name': 'x'}, 'addressType': 'IPv6'})
    t.eq((got['endpoints'], got['ports']), (None, None), 'endpoints and ports')


@check
def the_limits_of_a_slice_are_taken(t):
    many = [{'addresses': [f'10.{n // 250}.{n % 250}.1'], 'hints': {'forZones': [{'name': f'z{z}'} for z in range(8)]}}
            for n in range(1000)]
    many[0]['addresses'] = [f'10.99.0.{n}' for n in range(1, 101)]
    got = t.make(slices(t), {'metadata': {'name': 'x'}, 'addressType': 'IPv4', 'endpoints': many})
    t.eq((len(got['endpoints']), len(got['endpoints'][0]['addresses'])), (1000, 100), 'endpoints')


@check
def old_forms_of_addresses_are_kept_and_warned_of(t):
    a = t.post(t.at('endpoints'), endpoints('x', '010.1.2.3', '::ffff:1.2.3.4', 'FD00:0::1', 'fd00::2'))
    t.code(a, 201)
    t.eq([e['ip'] for e in a['subsets'][0]['addresses']], ['010.1.2.3', '::ffff:1.2.3.4', 'FD00:0::1', 'fd00::2'], 'ips')
    at, later = 'subsets[0].addresses', 'will be considered invalid in a future Kubernetes release'
    t.eq(warnings(a), [
        f'299 - "{at}[0].ip: non-standard IP address \\"010.1.2.3\\" {later}: use \\"10.1.2.3\\""',
        f'299 - "{at}[1].ip: non-standard IP address \\"::ffff:1.2.3.4\\" {later}: use \\"1.2.3.4\\""',
        f'299 - "{at}[2].ip: IPv6 address \\"FD00:0::1\\" should be in RFC 5952 canonical format (\\"fd00::1\\")"',
    ], 'warnings')


@check
def old_forms_of_a_controller_are_not_warned_of(t):
    e = endpoints('x', '010.1.2.3')
    e['metadata']['labels'] = {'endpoints.kubernetes.io/managed-by': 'endpoint-controller'}
    a = t.post(t.at('endpoints'), e)
    t.code(a, 201)
    t.eq(warnings(a), [], 'warnings')


@check
def an_address_of_a_slice_in_an_old_form_is_warned_of(t):
    a = t.post(slices(t), slice_of('x', '10.00.0.1'))
    t.code(a, 201)
    t.eq(warnings(a), ['299 - "endpoints[0].addresses[0]: non-standard IP address \\"10.00.0.1\\" will be considered invalid '
                       'in a future Kubernetes release: use \\"10.0.0.1\\""'], 'warnings')
    a = t.patch(f'{slices(t)}/x', {'metadata': {'labels': {'a': 'b'}}}, MERGE)
    t.code(a, 200)
    t.eq(len(warnings(a)), 1, 'warnings of an update')


@check
def domains_of_a_slice_are_warned_of(t):
    a = t.post(slices(t), slice_of('x', 'a.example.com', 'b.example.com.', kind='FQDN'))
    t.code(a, 201)
    t.eq(warnings(a), ['299 - "spec.addressType: FQDN endpoints are deprecated"'], 'warnings')
    a = t.patch(f'{slices(t)}/x', {'metadata': {'labels': {'a': 'b'}}}, MERGE)
    t.eq((a.code, warnings(a)), (200, []), 'an update')


@check
def the_type_of_a_slice_stays(t):
    t.make(slices(t), slice_of('x'))
    t.invalid(t.patch(f'{slices(t)}/x', {'addressType': 'IPv6'}, MERGE), ('FieldValueInvalid', 'addressType'),
              part='field is immutable')


@check
def a_change_of_endpoints_is_judged(t):
    t.make(slices(t), slice_of('x', '10.0.0.1'))
    t.invalid(t.patch(f'{slices(t)}/x', {'endpoints': [{'addresses': ['127.0.0.1']}]}, MERGE),
              ('FieldValueInvalid', 'endpoints[0].addresses[0]'), part='may not be in the loopback range')
    t.make(t.at('endpoints'), endpoints('x', '10.0.0.1'))
    t.invalid(t.patch(f'{t.at("endpoints")}/x', {'subsets': [{'addresses': [{'ip': '127.0.0.1'}]}]}, MERGE),
              ('FieldValueInvalid', 'subsets[0].addresses[0].ip'), part='may not be in the loopback range')


@check
def labels_and_endpoints_of_a_slice_count_as_changes(t):
    t.make(slices(t), slice_of('x', '10.0.0.1'))
    for n, change in ((2, {'metadata': {'labels': {'a': 'b'}}}), (2, {'metadata': {'annotations': {'a': 'b'}}}),
                      (3, {'endpoints': [{'addresses': ['10.0.0.2']}]}),
                      (4, {'metadata': {'labels': None}, 'ports': [{'port': 1}]})):
        t.has(t.patch(f'{slices(t)}/x', change, MERGE), 'metadata.generation', n)


@check
def the_old_topology_of_a_slice_is_dropped(t):
    e = [{'addresses': ['10.0.0.1'], 'zone': 'z', 'nodeName': 'n', 'deprecatedTopology': {'kubernetes.io/hostname': 'm'}}]
    want = [{'addresses': ['10.0.0.1'], 'conditions': {}, 'zone': 'z', 'nodeName': 'n'}]
    t.eq(t.make(slices(t), {**slice_of('x'), 'endpoints': e})['endpoints'], want, 'endpoints')
    e[0]['addresses'] = want[0]['addresses'] = ['10.0.0.2']
    t.eq(t.patch(f'{slices(t)}/x', {'endpoints': e}, MERGE)['endpoints'], want, 'endpoints after a change')


@check
def endpoints_are_made_by_put(t):
    a = t.put(f'{t.at("endpoints")}/x', endpoints('x', '10.0.0.1'))
    t.code(a, 201)
    t.code(t.put(f'{slices(t)}/x', slice_of('x', '10.0.0.1')), 404)


@check
def an_external_address_of_a_service_is_judged_as_one_of_endpoints(t):
    for ip in ('127.0.0.1', '::ffff:169.254.0.1', '0.0.0.0', '224.0.0.5', 'x'):
        t.invalid(t.post(t.at('services'), {'metadata': {'name': 's'}, 'spec': {'ports': [{'port': 80}], 'externalIPs': [ip]}}),
                  ('FieldValueInvalid', 'spec.externalIPs[0]'))
    t.make(t.at('services'), {'metadata': {'name': 's'}, 'spec': {'ports': [{'port': 80}], 'externalIPs': ['010.0.0.1']}})
