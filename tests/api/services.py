"""services.py - cluster addresses and node ports of Services: one owner each, refused, given back."""
from client import check

ADDRESSES = '/apis/networking.k8s.io/v1/ipaddresses'
TAKEN_IP = 'failed to allocate IP {ip}: provided IP is already allocated'
TAKEN_PORT = 'provided port is already allocated'


def service(name, ports=None, **spec):
    return {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': name},
            'spec': {'ports': ports or [{'port': 80}], **spec}}


def make(t, name, ports=None, **spec):
    return t.make(t.at('services'), service(name, ports, **spec))


def node_ports(obj):
    return [p.get('nodePort') for p in obj['spec']['ports']]


# ---- addresses ----

@check
def the_first_range_is_an_object(t):
    got = t.read('/apis/networking.k8s.io/v1/servicecidrs/kubernetes')
    t.has(got, 'spec.cidrs', ['10.96.0.0/16'])
    t.eq([(c['type'], c['status'], c['message']) for c in got['status']['conditions']],
         [('Ready', 'True', 'Kubernetes default Service CIDR is ready')], 'conditions')


@check
def every_service_gets_an_address_of_its_own(t):
    ips = [make(t, f's{i}')['spec']['clusterIP'] for i in range(20)]
    t.eq(len(set(ips)), 20, f'different addresses among {ips}')
    t.true(all(ip.startswith('10.96.') for ip in ips), f'{ips}')


@check
def an_address_is_an_object_that_names_its_service(t):
    made = make(t, 's')
    ip = made['spec']['clusterIP']
    t.has(made, 'spec.clusterIPs', [ip])
    t.has(made, 'spec.ipFamilies', ['IPv4'])
    t.has(made, 'spec.ipFamilyPolicy', 'SingleStack')
    got = t.read(f'{ADDRESSES}/{ip}')
    t.eq(got['spec']['parentRef'], {'resource': 'services', 'namespace': t.ns, 'name': 's'}, 'parentRef')
    t.eq(got['metadata']['labels'], {'ipaddress.kubernetes.io/ip-family': 'IPv4',
                                     'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io'}, 'labels')


@check
def an_address_goes_with_its_service(t):
    ip = make(t, 's')['spec']['clusterIP']
    t.code(t.delete(f'{t.at("services")}/s'), 200)
    t.until('the IPAddress is gone', lambda: t.get(f'{ADDRESSES}/{ip}').code == 404)
    t.has(make(t, 'again', clusterIP=ip), 'spec.clusterIP', ip)


@check
def an_address_that_is_taken_is_refused(t):
    ip = make(t, 's')['spec']['clusterIP']
    a = t.post(t.at('services'), service('b', clusterIP=ip))
    t.status(a, 422, 'Invalid', f'Service "b" is invalid: spec.clusterIPs: Invalid value: ["{ip}"]: '
             + TAKEN_IP.format(ip=ip), causes=[('FieldValueInvalid', 'spec.clusterIPs')])
    t.code(t.get(f'{t.at("services")}/b'), 404)


@check
def an_address_of_another_object_is_refused(t):
    ip = make(t, 's')['spec']['clusterIP']
    t.code(t.delete(f'{t.at("services")}/s'), 200)
    t.until('the IPAddress is gone', lambda: t.get(f'{ADDRESSES}/{ip}').code == 404)
    t.make(ADDRESSES, {'metadata': {'name': ip}, 'spec': {'parentRef': {'resource': 'things', 'name': 'x'}}})
    t.invalid(t.post(t.at('services'), service('b', clusterIP=ip)), ('FieldValueInvalid', 'spec.clusterIPs'),
              part='provided IP is already allocated')


@check
def an_address_of_no_range_is_refused(t):
    for ip in ('10.1.2.3', '10.96.0.0', '10.96.255.255', '192.168.1.1'):
        a = t.post(t.at('services'), service('b', clusterIP=ip))
        t.status(a, 422, 'Invalid', f'Service "b" is invalid: spec.clusterIPs: Invalid value: ["{ip}"]: failed to '
                 f'allocate IP {ip}: the provided network does not match the current range')


@check
def the_other_family_is_not_configured(t):
    at = t.at('services')
    t.status(t.post(at, service('b', clusterIP='fd00::1')), 422, 'Invalid', 'Service "b" is invalid: spec.clusterIPs[0]: '
             'Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster')
    t.status(t.post(at, service('b', ipFamilies=['IPv6'])), 422, 'Invalid', 'Service "b" is invalid: spec.ipFamilies[0]: '
             'Invalid value: "IPv6": not configured on this cluster')
    t.status(t.post(at, service('b', ipFamilyPolicy='RequireDualStack')), 422, 'Invalid', 'Service "b" is invalid: '
             'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services')
    t.has(make(t, 'c', ipFamilyPolicy='PreferDualStack'), 'spec.ipFamilies', ['IPv4'])


@check
def headless_services_have_families_by_their_selector(t):
    got = make(t, 'plain', clusterIP='None')
    t.has(got, 'spec.ipFamilyPolicy', 'RequireDualStack')
    t.has(got, 'spec.ipFamilies', ['IPv4', 'IPv6'])
    got = make(t, 'selecting', clusterIP='None', selector={'a': 'b'})
    t.has(got, 'spec.ipFamilyPolicy', 'SingleStack')
    t.has(got, 'spec.ipFamilies', ['IPv4'])


@check
def replace_without_addresses_keeps_them(t):
    made = make(t, 's', type='LoadBalancer', externalTrafficPolicy='Local')
    got = t.code(t.put(f'{t.at("services")}/s', service('s', type='LoadBalancer', externalTrafficPolicy='Local')), 200)
    for field in ('clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'ports', 'healthCheckNodePort'):
        t.has(got, f'spec.{field}', made['spec'][field])


@check
def an_address_may_not_change(t):
    make(t, 's')
    a = t.patch(f'{t.at("services")}/s', {'spec': {'clusterIP': '10.96.250.250'}})
    t.invalid(a, ('FieldValueInvalid', 'spec.clusterIPs[0]', 'may not change once set'))
    a = t.patch(f'{t.at("services")}/s', {'spec': {'clusterIP': 'None'}})
    t.invalid(a, ('FieldValueInvalid', 'spec.clusterIPs[0]', 'may not change once set'))


@check
def a_name_instead_of_an_address_gives_it_back(t):
    ip = make(t, 's')['spec']['clusterIP']
    path = f'{t.at("services")}/s'
    got = t.code(t.patch(path, {'spec': {'type': 'ExternalName', 'externalName': 'a.b'}}), 200)
    t.has(got, 'spec.clusterIP', None)
    t.has(got, 'spec.ipFamilies', None)
    t.until('the IPAddress is gone', lambda: t.get(f'{ADDRESSES}/{ip}').code == 404)
    make(t, 'b', clusterIP=ip)
    got = t.code(t.patch(path, {'spec': {'type': 'ClusterIP', 'externalName': None}}), 200)
    t.true(got['spec.clusterIP'] not in (None, ip), f'{got}')
    t.invalid(t.patch(path, {'spec': {'type': 'ExternalName', 'externalName': 'a.b', 'clusterIP': ip}}),
              ('FieldValueForbidden', 'spec.clusterIPs'))


@check
def a_dry_run_takes_no_address(t):
    ip = make(t, 's')['spec']['clusterIP']
    t.code(t.delete(f'{t.at("services")}/s'), 200)
    t.until('the IPAddress is gone', lambda: t.get(f'{ADDRESSES}/{ip}').code == 404)
    t.code(t.post(t.at('services'), service('b', clusterIP=ip), dryRun='All'), 201)
    t.code(t.get(f'{ADDRESSES}/{ip}'), 404)
    t.code(t.post(t.at('services'), service('c'), dryRun='All'), 201)
    make(t, 'b', clusterIP=ip)


# ---- node ports ----

@check
def every_service_gets_a_node_port_of_its_own(t):
    ports = [node_ports(make(t, f's{i}', type='NodePort'))[0] for i in range(10)]
    t.eq(len(set(ports)), 10, f'different ports among {ports}')
    t.true(all(30000 <= p <= 32767 for p in ports), f'{ports}')


@check
def a_node_port_that_is_taken_is_refused(t):
    port = node_ports(make(t, 's', type='NodePort'))[0]
    a = t.post(t.at('services'), service('b', [{'port': 80, 'nodePort': port}], type='NodePort'))
    t.status(a, 422, 'Invalid', f'Service "b" is invalid: spec.ports[0].nodePort: Invalid value: {port}: {TAKEN_PORT}')
    make(t, 'c', type='NodePort')
    a = t.patch(f'{t.at("services")}/c', [{'op': 'replace', 'path': '/spec/ports/0/nodePort', 'value': port}],
                content='application/json-patch+json')
    t.status(a, 422, 'Invalid', f'Service "c" is invalid: spec.ports[0].nodePort: Invalid value: {port}: {TAKEN_PORT}')


@check
def a_node_port_outside_the_range_is_refused(t):
    for port in (80, 29999, 32768, 70000):
        a = t.post(t.at('services'), service('b', [{'port': 80, 'nodePort': port}], type='NodePort'))
        t.status(a, 422, 'Invalid', f'Service "b" is invalid: spec.ports[0].nodePort: Invalid value: {port}: provided port '
                 'is not in the valid range. The range of valid ports is 30000-32767')


@check
def ports_of_two_protocols_share_a_node_port(t):
    got = make(t, 's', [{'name': 'a', 'port': 53}, {'name': 'b', 'port': 53, 'protocol': 'UDP'}], type='NodePort')
    a, b = node_ports(got)
    t.eq(a, b, 'node ports')
    got = make(t, 'u', [{'name': 'a', 'port': 53}, {'name': 'b', 'port': 54}], type='NodePort')
    a, b = node_ports(got)
    t.true(a != b, f'{a} {b}')


@check
def a_node_port_twice_in_one_service_is_refused(t):
    port = node_ports(make(t, 's', type='NodePort'))[0]
    t.code(t.delete(f'{t.at("services")}/s'), 200)
    ports = [{'name': 'a', 'port': 1, 'nodePort': port}, {'name': 'b', 'port': 2, 'nodePort': port}]
    t.invalid(t.post(t.at('services'), service('b', ports, type='NodePort')), ('FieldValueInvalid', 'spec.ports[1].nodePort'),
              part=TAKEN_PORT)


@check
def node_ports_are_given_back(t):
    port = node_ports(make(t, 's', type='NodePort'))[0]
    t.has(t.code(t.patch(f'{t.at("services")}/s', {'spec': {'type': 'ClusterIP'}}), 200), 'spec.externalTrafficPolicy', None)
    asked = [{'port': 80, 'nodePort': port}]
    t.eq(node_ports(make(t, 'b', asked, type='NodePort')), [port], 'node port')
    t.code(t.delete(f'{t.at("services")}/b'), 200)
    t.eq(node_ports(make(t, 'c', asked, type='LoadBalancer')), [port], 'node port')


@check
def balancers_may_do_without_node_ports(t):
    got = make(t, 's', type='LoadBalancer', allocateLoadBalancerNodePorts=False)
    t.eq(node_ports(got), [None], 'node ports')
    t.invalid(t.post(t.at('services'), service('b', allocateLoadBalancerNodePorts=False)),
              ('FieldValueForbidden', 'spec.allocateLoadBalancerNodePorts'))


@check
def health_check_ports(t):
    local = {'type': 'LoadBalancer', 'externalTrafficPolicy': 'Local'}
    got = make(t, 's', **local)
    port = got['spec']['healthCheckNodePort']
    t.true(30000 <= port <= 32767 and port != node_ports(got)[0], f'{got["spec"]}')
    a = t.post(t.at('services'), service('b', healthCheckNodePort=port, **local))
    t.status(a, 500, 'InternalError', f'Internal error occurred: failed to allocate requested HealthCheck NodePort {port}: '
             + TAKEN_PORT)
    a = t.post(t.at('services'), service('b', healthCheckNodePort=80, **local))
    t.status(a, 500, 'InternalError', 'Internal error occurred: failed to allocate requested HealthCheck NodePort 80: provided '
             'port is not in the valid range. The range of valid ports is 30000-32767')
    a = t.patch(f'{t.at("services")}/s', {'spec': {'healthCheckNodePort': port + 1 if port < 32767 else port - 1}})
    t.invalid(a, ('FieldValueForbidden', 'spec.healthCheckNodePort'))
    t.has(t.code(t.patch(f'{t.at("services")}/s', {'spec': {'externalTrafficPolicy': 'Cluster'}}), 200),
          'spec.healthCheckNodePort', None)
    t.invalid(t.post(t.at('services'), service('b', healthCheckNodePort=30001)),
              ('FieldValueInvalid', 'spec.healthCheckNodePort'))


@check
def balancers_have_fields_of_their_own(t):
    at = t.at('services')
    t.invalid(t.post(at, service('b', loadBalancerClass='a.b/c')), ('FieldValueForbidden', 'spec.loadBalancerClass'))
    t.invalid(t.post(at, service('b', loadBalancerSourceRanges=['10.0.0.0/8'])),
              ('FieldValueForbidden', 'spec.LoadBalancerSourceRanges'))
    t.invalid(t.post(at, service('b', type='LoadBalancer', loadBalancerSourceRanges=['x'])),
              ('FieldValueInvalid', 'spec.LoadBalancerSourceRanges[0]'))
    t.invalid(t.post(at, service('b', type='LoadBalancer', loadBalancerClass='Bad Class')),
              ('FieldValueInvalid', 'spec.loadBalancerClass'))
    t.invalid(t.post(at, service('b', trafficDistribution='X')), ('FieldValueNotSupported', 'spec.trafficDistribution'))
    make(t, 's', type='LoadBalancer', loadBalancerClass='a.b/c')
    t.invalid(t.patch(f'{at}/s', {'spec': {'loadBalancerClass': 'a.b/d'}}),
              ('FieldValueInvalid', 'spec.loadBalancerClass', 'may not change once set'))


@check
def the_state_of_a_balancer(t):
    make(t, 's', type='LoadBalancer')
    path = f'{t.at("services")}/s'
    good = {'status': {'loadBalancer': {'ingress': [{'ip': '10.1.1.1'}]}}}
    t.has(t.code(t.patch(f'{path}/status', good), 200), 'status.loadBalancer.ingress', [{'ip': '10.1.1.1', 'ipMode': 'VIP'}])
    t.invalid(t.patch(f'{path}/status', {'status': {'loadBalancer': {'ingress': [{'ip': 'x'}]}}}),
              ('FieldValueInvalid', 'status.loadBalancer.ingress[0].ip'))
    t.invalid(t.patch(f'{path}/status', {'status': {'loadBalancer': {'ingress': [{'hostname': 'A_b'}]}}}),
              ('FieldValueInvalid', 'status.loadBalancer.ingress[0].hostname'))
    t.invalid(t.patch(f'{path}/status', {'status': {'loadBalancer': {'ingress': [{'hostname': '10.1.1.1'}]}}}),
              ('FieldValueInvalid', 'status.loadBalancer.ingress[0].hostname'))
    got = t.code(t.patch(path, {'spec': {'type': 'ClusterIP'}}), 200)
    t.has(got, 'status.loadBalancer', {})
    t.invalid(t.patch(f'{path}/status', good), ('FieldValueForbidden', 'status.loadBalancer.ingress'))
