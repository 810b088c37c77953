"""malformed_devices.py - claims, classes and slices of resource.k8s.io that a server refuses; see malformed.py for how to
read a row."""
from client import check
from malformed import NO_TEXTS, raw_with, refuse_new, said
from webhooks import rows

GROUP = '/apis/resource.k8s.io/v1'
CLAIMS = f'{GROUP}/namespaces/{{ns}}/resourceclaims'
TEMPLATES = f'{GROUP}/namespaces/{{ns}}/resourceclaimtemplates'
CLASSES = f'{GROUP}/deviceclasses'
SLICES = f'{GROUP}/resourceslices'
PLACE = 'spec.devices.requests[0]'


def thing(kind, name, **fields):
    return {'apiVersion': 'resource.k8s.io/v1', 'kind': kind, 'metadata': {'name': name}, **fields}


def request(name='r', **fields):
    return {'name': name, 'exactly': {'deviceClassName': 'c.example.com', **fields}}


def first(*names, **fields):
    return {'name': 'f', 'firstAvailable': [{'name': n, 'deviceClassName': 'c.example.com', **fields} for n in names]}


def selector(text):
    return {'cel': {'expression': text}}


def opaque(**fields):
    return {'opaque': {'driver': 'd.example.com', 'parameters': {'a': 1}, **fields}}


def device(name='d0', **fields):
    return {'name': name, **fields}


CLAIM = thing('ResourceClaim', 'x', spec={'devices': {'requests': [request()]}})
SLICE = thing('ResourceSlice', 'x', spec={
    'driver': 'd.example.com', 'nodeName': 'n', 'pool': {'name': 'n', 'resourceSliceCount': 1, 'generation': 1},
    'devices': [device()]})

# ---- what a claim asks for ----

ONE_OF = f'422 Invalid: Required {PLACE}'
refuse_new('claim', CLAIMS, CLAIM, 'spec.devices', [
    ('request_is_empty', {'requests': [{}]}, f'422 Invalid: Invalid {PLACE}.name, Required {PLACE}'),
    ('request_has_no_kind', {'requests': [{'name': 'r'}]}, ONE_OF),
    ('request_has_both_kinds', {'requests': [{**first('a'), **request()}]}, f'422 Invalid: Invalid {PLACE}'),
    ('request_name_is_no_label', {'requests': [request('R_1')]}, f'422 Invalid: Invalid {PLACE}.name'),
    ('request_name_is_too_long', {'requests': [request('r' * 64)]}, f'422 Invalid: Invalid {PLACE}.name'),
    ('request_twice', {'requests': [request(), request()]}, '422 Invalid: Duplicate spec.devices.requests[1]'),
    ('requests_are_too_many', {'requests': [request(f'r{i}') for i in range(33)]},
     '422 Invalid: TooMany spec.devices.requests'),
    ('class_is_missing', {'requests': [request(deviceClassName='')]},
     f'422 Invalid: Required {PLACE}.exactly.deviceClassName'),
    ('class_is_no_subdomain', {'requests': [request(deviceClassName='A/b')]},
     f'422 Invalid: Invalid {PLACE}.exactly.deviceClassName'),
    ('mode_is_unknown', {'requests': [request(allocationMode='Some')]},
     f'422 Invalid: NotSupported {PLACE}.exactly.allocationMode'),
    ('count_is_negative', {'requests': [request(count=-1)]}, f'422 Invalid: Invalid {PLACE}.exactly.count'),
    ('count_beside_all', {'requests': [request(allocationMode='All', count=2)]},
     f'422 Invalid: Invalid {PLACE}.exactly.count'),
    ('count_is_a_word', {'requests': [request(count='x')]}, '400 BadRequest'),
    ('count_is_a_fraction', {'requests': [request(count=1.5)]}, '400 BadRequest'),
    ('count_is_beyond_64_bits', {'requests': [request(count=2 ** 63)]}, '400 BadRequest'),
    ('selector_is_empty', {'requests': [request(selectors=[{}])]},
     f'422 Invalid: Required {PLACE}.exactly.selectors[0].cel'),
    ('selector_is_no_expression', {'requests': [request(selectors=[selector('device.driver ==')])]},
     f'422 Invalid: Invalid {PLACE}.exactly.selectors[0].cel.expression'),
    ('selector_has_no_text', {'requests': [request(selectors=[selector('')])]},
     f'422 Invalid: Invalid {PLACE}.exactly.selectors[0].cel.expression'),
    ('selector_is_a_string', {'requests': [request(selectors=[selector('"a"')])]},
     f'422 Invalid: Invalid {PLACE}.exactly.selectors[0].cel.expression'),
    ('selector_names_a_stranger', {'requests': [request(selectors=[selector('self.x == 1')])]},
     f'422 Invalid: Invalid {PLACE}.exactly.selectors[0].cel.expression'),
    ('selector_field_is_unknown', {'requests': [request(selectors=[selector('device.model == "a"')])]},
     f'422 Invalid: Invalid {PLACE}.exactly.selectors[0].cel.expression'),
    ('selector_is_too_long', {'requests': [request(selectors=[selector('true || ' * 1400 + 'true')])]},
     f'422 Invalid: TooLong {PLACE}.exactly.selectors[0].cel.expression'),
    ('selector_is_too_costly', {'requests': [request(selectors=[selector(
        'device.attributes["a"].all(x, device.attributes["b"].all(y, device.attributes["c"].all(z, '
        'device.attributes["d"].all(w, x + y + z + w != device.driver))))')])]},
     f'422 Invalid: Forbidden {PLACE}.exactly.selectors[0].cel.expression'),
    ('selectors_are_too_many', {'requests': [request(selectors=[selector('true')] * 33)]},
     f'422 Invalid: TooMany {PLACE}.exactly.selectors'),
    ('admin_access_without_the_label', {'requests': [request(adminAccess=True)]},
     f'422 Invalid: Forbidden {PLACE}.adminAccess'),
    ('alternative_twice', {'requests': [first('a', 'a')]}, f'422 Invalid: Duplicate {PLACE}.firstAvailable[1]'),
    ('alternative_name_is_bad', {'requests': [first('A')]}, f'422 Invalid: Invalid {PLACE}.firstAvailable[0].name'),
    ('alternatives_are_too_many', {'requests': [first(*'abcdefghi')]}, f'422 Invalid: TooMany {PLACE}.firstAvailable'),
    ('alternative_without_a_class', {'requests': [first('a', deviceClassName='')]},
     f'422 Invalid: Required {PLACE}.firstAvailable[0].deviceClassName'),
    ('alternative_selector_is_bad', {'requests': [first('a', selectors=[selector('1')])]},
     f'422 Invalid: Invalid {PLACE}.firstAvailable[0].selectors[0].cel.expression'),
    ('alternative_count_beside_all', {'requests': [first('a', allocationMode='All', count=1)]},
     f'422 Invalid: Invalid {PLACE}.firstAvailable[0].count'),
])

C0 = 'spec.devices.constraints[0]'
refuse_new('claim_constraint', CLAIMS, CLAIM, 'spec.devices', [
    ('is_empty', {'constraints': [{}]}, f'422 Invalid: Required {C0}.matchAttribute'),
    ('attribute_has_no_domain', {'constraints': [{'matchAttribute': 'model'}]}, f'422 Invalid: Invalid {C0}.matchAttribute'),
    ('attribute_domain_is_empty', {'constraints': [{'matchAttribute': '/model'}]},
     f'422 Invalid: Invalid {C0}.matchAttribute'),
    ('attribute_name_is_empty', {'constraints': [{'matchAttribute': 'd.example.com/'}]},
     f'422 Invalid: Invalid {C0}.matchAttribute'),
    ('attribute_is_no_identifier', {'constraints': [{'matchAttribute': 'd.example.com/a-b'}]},
     f'422 Invalid: Invalid {C0}.matchAttribute'),
    ('attribute_is_too_long', {'constraints': [{'matchAttribute': 'd.example.com/' + 'a' * 33}]},
     f'422 Invalid: TooLong {C0}.matchAttribute'),
    ('request_is_unknown', {'constraints': [{'matchAttribute': 'd/a', 'requests': ['s']}]},
     f'422 Invalid: Invalid {C0}.requests[0]'),
    ('alternative_is_unknown', {'constraints': [{'matchAttribute': 'd/a', 'requests': ['r/s']}]},
     f'422 Invalid: Invalid {C0}.requests[0]'),
    ('request_has_three_parts', {'constraints': [{'matchAttribute': 'd/a', 'requests': ['r/s/t']}]},
     f'422 Invalid: Invalid {C0}.requests[0]'),
    ('request_twice', {'constraints': [{'matchAttribute': 'd/a', 'requests': ['r', 'r']}]},
     f'422 Invalid: Duplicate {C0}.requests[1]'),
    ('too_many', {'constraints': [{'matchAttribute': 'd/a'}] * 33}, '422 Invalid: TooMany spec.devices.constraints'),
])

K0 = 'spec.devices.config[0]'
refuse_new('claim_config', CLAIMS, CLAIM, 'spec.devices', [
    ('is_empty', {'config': [{}]}, f'422 Invalid: Required {K0}.opaque'),
    ('driver_is_missing', {'config': [opaque(driver='')]}, f'422 Invalid: Required {K0}.opaque.driver'),
    ('driver_is_bad', {'config': [opaque(driver='a b')]}, f'422 Invalid: Invalid {K0}.opaque.driver'),
    ('driver_is_too_long', {'config': [opaque(driver='d' * 64)]}, f'422 Invalid: TooLong {K0}.opaque.driver'),
    ('parameters_are_missing', {'config': [{'opaque': {'driver': 'd'}}]}, f'422 Invalid: Required {K0}.opaque.parameters'),
    ('parameters_are_a_list', {'config': [opaque(parameters=[1])]}, f'422 Invalid: Invalid {K0}.opaque.parameters'),
    ('parameters_are_too_long', {'config': [opaque(parameters={'a': 'b' * 10300})]},
     f'422 Invalid: TooLong {K0}.opaque.parameters'),
    ('request_is_unknown', {'config': [{**opaque(), 'requests': ['s']}]}, f'422 Invalid: Invalid {K0}.requests[0]'),
    ('too_many', {'config': [opaque()] * 33}, '422 Invalid: TooMany spec.devices.config'),
])

T0 = 'spec.spec.devices.requests[0]'
refuse_new('claim_template', TEMPLATES, thing('ResourceClaimTemplate', 'x', spec={'spec': CLAIM['spec']}), 'spec', [
    ('request_has_no_kind', {'spec.devices.requests': [{'name': 'r'}]}, f'422 Invalid: Required {T0}'),
    ('class_is_missing', {'spec.devices.requests': [request(deviceClassName='')]},
     f'422 Invalid: Required {T0}.exactly.deviceClassName'),
    ('selector_is_bad', {'spec.devices.requests': [request(selectors=[selector('a')])]},
     f'422 Invalid: Invalid {T0}.exactly.selectors[0].cel.expression'),
    ('admin_access_without_the_label', {'spec.devices.requests': [request(adminAccess=True)]},
     f'422 Invalid: Forbidden {PLACE}.adminAccess'),
])

# ---- classes ----

refuse_new('device_class', CLASSES, thing('DeviceClass', 'x', spec={}), 'spec', [
    ('selector_is_empty', {'selectors': [{}]}, '422 Invalid: Required spec.selectors[0].cel'),
    ('selector_is_bad', {'selectors': [selector('device.')]}, '422 Invalid: Invalid spec.selectors[0].cel.expression'),
    ('selectors_are_too_many', {'selectors': [selector('true')] * 33}, '422 Invalid: TooMany spec.selectors'),
    ('config_is_empty', {'config': [{}]}, '422 Invalid: Required spec.config[0].opaque'),
    ('config_driver_is_bad', {'config': [opaque(driver='-')]}, '422 Invalid: Invalid spec.config[0].opaque.driver'),
    ('config_parameters_are_text', {'config': [opaque(parameters='a')]},
     '422 Invalid: Invalid spec.config[0].opaque.parameters'),
    ('configs_are_too_many', {'config': [opaque()] * 33}, '422 Invalid: TooMany spec.config'),
])

# ---- slices ----

refuse_new('slice', SLICES, SLICE, 'spec', [
    ('driver_is_missing', {'driver': ''}, '422 Invalid: Required spec.driver'),
    ('driver_is_bad', {'driver': 'a_b'}, '422 Invalid: Invalid spec.driver'),
    ('driver_is_too_long', {'driver': 'a' * 64}, '422 Invalid: TooLong spec.driver'),
    ('pool_is_empty', {'pool': {}}, '422 Invalid: Invalid spec.pool.resourceSliceCount, Required spec.pool.name'),
    ('pool_name_is_bad', {'pool.name': 'a//b'}, '422 Invalid: Invalid spec.pool.name'),
    ('pool_name_is_too_long', {'pool.name': '/'.join(['a' * 200, 'b' * 100])}, '422 Invalid: TooLong spec.pool.name'),
    ('pool_generation_is_negative', {'pool.generation': -1}, '422 Invalid: Invalid spec.pool.generation'),
    ('pool_generation_is_beyond_64_bits', {'pool.generation': 2 ** 63}, '400 BadRequest'),
    ('pool_of_no_slices', {'pool.resourceSliceCount': 0}, '422 Invalid: Invalid spec.pool.resourceSliceCount'),
    ('node_is_missing', {'nodeName': None}, '422 Invalid: Required spec'),
    ('node_is_empty', {'nodeName': ''}, '422 Invalid: Invalid spec.nodeName, Required spec'),
    ('node_is_bad', {'nodeName': 'A'}, '422 Invalid: Invalid spec.nodeName'),
    ('nodes_twice', {'allNodes': True}, '422 Invalid: Invalid spec'),
    ('all_nodes_is_false', {'nodeName': None, 'allNodes': False}, '422 Invalid: Invalid spec.allNodes, Required spec'),
    ('node_selector_is_empty', {'nodeName': None, 'nodeSelector': {'nodeSelectorTerms': []}},
     '422 Invalid: Invalid spec.nodeSelector.nodeSelectorTerms, Required spec.nodeSelector.nodeSelectorTerms'),
    ('node_selector_has_two_terms', {'nodeName': None, 'nodeSelector': {'nodeSelectorTerms': [
        {'matchExpressions': [{'key': k, 'operator': 'Exists'}]} for k in 'ab']}},
     '422 Invalid: Invalid spec.nodeSelector.nodeSelectorTerms'),
    ('device_twice', {'devices': [device(), device()]}, '422 Invalid: Duplicate spec.devices[1]'),
    ('device_name_is_bad', {'devices': [device('D')]}, '422 Invalid: Invalid spec.devices[0].name'),
    ('device_name_is_empty', {'devices': [device('')]}, '422 Invalid: Invalid spec.devices[0].name'),
    ('devices_are_a_thousand', {'devices': [device(f'd{i}') for i in range(1000)]}, '422 Invalid: TooMany spec.devices'),
    ('devices_are_too_many', {'devices': [device(f'd{i}') for i in range(129)]}, '422 Invalid: TooMany spec.devices'),
    ('attribute_without_a_value', {'devices': [device(attributes={'a': {}})]},
     '422 Invalid: Invalid spec.devices[0].attributes[a]'),
    ('attribute_with_two_values', {'devices': [device(attributes={'a': {'int': 1, 'bool': True}})]},
     '422 Invalid: Invalid spec.devices[0].attributes[a]'),
    ('attribute_text_is_too_long', {'devices': [device(attributes={'a': {'string': 'x' * 65}})]},
     '422 Invalid: TooLong spec.devices[0].attributes[a].string'),
    ('attribute_version_is_bad', {'devices': [device(attributes={'a': {'version': '1.0'}})]},
     '422 Invalid: Invalid spec.devices[0].attributes[a].version'),
    ('attribute_version_has_zeros', {'devices': [device(attributes={'a': {'version': '1.02.0'}})]},
     '422 Invalid: Invalid spec.devices[0].attributes[a].version'),
    ('attribute_version_has_a_prefix', {'devices': [device(attributes={'a': {'version': 'v1.2.3'}})]},
     '422 Invalid: Invalid spec.devices[0].attributes[a].version'),
    ('attribute_version_has_four_parts', {'devices': [device(attributes={'a': {'version': '1.2.3.4'}})]},
     '422 Invalid: Invalid spec.devices[0].attributes[a].version'),
    ('attribute_version_is_empty', {'devices': [device(attributes={'a': {'version': ''}})]},
     '422 Invalid: Invalid spec.devices[0].attributes[a].version'),
    ('attribute_version_has_spaces', {'devices': [device(attributes={'a': {'version': ' 1.2.3'}})]},
     '422 Invalid: Invalid spec.devices[0].attributes[a].version'),
    ('attribute_version_is_long', {'devices': [device(attributes={'a': {'version': '1.2.3-' + 'a' * 64}})]},
     '422 Invalid: TooLong spec.devices[0].attributes[a].version'),
    ('attribute_number_is_beyond_64_bits', {'devices': [device(attributes={'a': {'int': 2 ** 63}})]}, '400 BadRequest'),
    ('attribute_version_ends_early', {'devices': [device(attributes={'a': {'version': '1.2.0-'}})]},
     '422 Invalid: Invalid spec.devices[0].attributes[a].version'),
    ('attribute_name_is_bad', {'devices': [device(attributes={'a-b': {'int': 1}})]},
     '422 Invalid: Invalid spec.devices[0].attributes[a-b]'),
    ('attribute_domain_is_bad', {'devices': [device(attributes={'_/b': {'int': 1}})]},
     '422 Invalid: Invalid spec.devices[0].attributes[_/b]'),
    ('attribute_name_is_long', {'devices': [device(attributes={'a' * 120: {'int': 1}})]},
     '422 Invalid: TooLong spec.devices[0].attributes[' + 'a' * 47 + '...' + 'a' * 46 + ']'),
    ('attributes_are_too_many', {'devices': [device(attributes={f'a{i}': {'int': 1} for i in range(30)},
                                                    capacity={f'c{i}': {'value': '1'} for i in range(3)})]},
     '422 Invalid: Invalid spec.devices[0]'),
    ('capacity_is_no_quantity', {'devices': [device(capacity={'a': {'value': 'x'}})]}, '400 BadRequest'),
    ('capacity_name_is_bad', {'devices': [device(capacity={'1': {'value': '1'}})]},
     '422 Invalid: Invalid spec.devices[0].capacity[1]'),
])

# Fields behind gates that are off: the real server drops them before it looks at what they say, so only what cannot be read
# at all is refused by both.


def counters(value, name='m', field='name'):
    return [{field: 's', 'counters': {name: value}}]


refuse_new('slice_behind_gates', SLICES, SLICE, 'spec', [
    ('counter_is_no_quantity', {'sharedCounters': counters({'value': 'x'})}, '400 BadRequest'),
    ('counter_is_empty', {'sharedCounters': counters({'value': ''})}, '400 BadRequest'),
    ('counter_is_a_list', {'sharedCounters': counters([1])}, '400 BadRequest'),
    ('counters_are_a_list', {'sharedCounters': [{'name': 's', 'counters': [{'m': {'value': '1'}}]}]}, '400 BadRequest'),
    ('counter_sets_are_a_map', {'sharedCounters': {'s': {}}}, '400 BadRequest'),
    ('consumed_counter_is_no_quantity', {'devices': [device(consumesCounters=counters({'value': '1 2'}, field='counterSet'))]},
     '400 BadRequest'),
    ('consumed_counter_ends_early', {'devices': [device(consumesCounters=counters({'value': '1e'}, field='counterSet'))]},
     '400 BadRequest'),
    ('consumed_counters_are_text', {'devices': [device(consumesCounters='m')]}, '400 BadRequest'),
    ('consumed_set_is_a_number', {'devices': [device(consumesCounters=[{'counterSet': 1}])]}, '400 BadRequest'),
    ('taint_is_text', {'devices': [device(taints=['a'])]}, '400 BadRequest'),
    ('taints_are_a_map', {'devices': [device(taints={'key': 'a', 'effect': 'NoSchedule'})]}, '400 BadRequest'),
    ('taint_key_is_a_number', {'devices': [device(taints=[{'key': 1, 'effect': 'NoSchedule'}])]}, '400 BadRequest'),
    ('taint_effect_is_a_list', {'devices': [device(taints=[{'key': 'a', 'effect': ['NoSchedule']}])]}, '400 BadRequest'),
    ('taint_time_is_no_time', {'devices': [device(taints=[{'key': 'a', 'effect': 'NoSchedule', 'timeAdded': 'yesterday'}])]},
     '400 BadRequest'),
    ('binding_conditions_are_text', {'devices': [device(bindingConditions='a')]}, '400 BadRequest'),
    ('binding_condition_is_a_number', {'devices': [device(bindingConditions=[1])]}, '400 BadRequest'),
    ('binding_failure_conditions_are_a_map', {'devices': [device(bindingFailureConditions={})]}, '400 BadRequest'),
    ('binds_to_node_is_text', {'devices': [device(bindsToNode='yes')]}, '400 BadRequest'),
    ('shared_is_a_number', {'devices': [device(allowMultipleAllocations=1)]}, '400 BadRequest'),
    ('nodes_by_device_are_text', {'perDeviceNodeSelection': 'true'}, '400 BadRequest'),
])


# ---- what may change, and the status of claims ----

def claimed(t):
    """A claim in a namespace of its own: where it is, and its path."""
    path = t.make(CLAIMS.format(ns=t.ns), {**CLAIM, 'metadata': {'name': 'c'}})
    return f'{CLAIMS.format(ns=t.ns)}/c', path


def allocation(**fields):
    return {'devices': {'results': [{'request': 'r', 'driver': 'd.example.com', 'pool': 'p', 'device': 'd0', **fields}]}}


def user(uid='1', **fields):
    return {'resource': 'pods', 'name': 'p', 'uid': uid, **fields}


def status(t, fields):
    path, _ = claimed(t)
    return said(t.call('PATCH', f'{path}/status', {'status': fields}, content='application/merge-patch+json'))


R0 = 'status.allocation.devices.results[0]'
STATUSES = [
    ('reserved_but_not_allocated', {'reservedFor': [user()]}, '422 Invalid: Forbidden status.reservedFor'),
    ('reserved_for_nobody', {'allocation': allocation(), 'reservedFor': [{}]},
     '422 Invalid: Required status.reservedFor[0].name, Required status.reservedFor[0].resource, '
     'Required status.reservedFor[0].uid'),
    ('reserved_without_a_name', {'allocation': allocation(), 'reservedFor': [user(name='')]},
     '422 Invalid: Required status.reservedFor[0].name'),
    ('reserved_by_a_list', {'allocation': allocation(), 'reservedFor': {'resource': 'pods'}}, '422 Invalid: Invalid patch'),
    ('reserved_twice', {'allocation': allocation(), 'reservedFor': [user(), user(name='q')]},
     '422 Invalid: Duplicate status.reservedFor[1]'),
    ('reserved_for_too_many', {'allocation': allocation(), 'reservedFor': [user(str(i)) for i in range(257)]},
     '422 Invalid: TooMany status.reservedFor'),
    ('result_of_an_unknown_request', {'allocation': allocation(request='s')}, f'422 Invalid: Invalid {R0}.request'),
    ('result_without_a_driver', {'allocation': allocation(driver='')}, f'422 Invalid: Required {R0}.driver'),
    ('result_without_a_pool', {'allocation': allocation(pool='')}, f'422 Invalid: Required {R0}.pool'),
    ('result_without_a_device', {'allocation': allocation(device='')}, f'422 Invalid: Invalid {R0}.device'),
    ('results_are_too_many', {'allocation': {'devices': {'results': allocation()['devices']['results'] * 33}}},
     '422 Invalid: TooMany status.allocation.devices.results'),
    ('result_with_admin_access', {'allocation': allocation(adminAccess=True)}, f'422 Invalid: Forbidden {R0}.adminAccess'),
    ('config_without_a_source', {'allocation': {'devices': {'config': [opaque()]}}},
     '422 Invalid: Required status.allocation.devices.config[0].source'),
    ('config_of_an_unknown_source', {'allocation': {'devices': {'config': [{**opaque(), 'source': 'X'}]}}},
     '422 Invalid: NotSupported status.allocation.devices.config[0].source'),
    ('device_that_is_not_allocated', {'allocation': allocation(), 'devices': [
        {'driver': 'd.example.com', 'pool': 'p', 'device': 'd1'}]}, '422 Invalid: Invalid status.devices[0]'),
    ('device_address_is_bad', {'allocation': allocation(), 'devices': [
        {'driver': 'd.example.com', 'pool': 'p', 'device': 'd0', 'networkData': {'ips': ['10.0.0.1']}}]},
     '422 Invalid: Invalid status.devices[0].networkData.ips[0]'),
    ('device_address_is_not_canonical', {'allocation': allocation(), 'devices': [
        {'driver': 'd.example.com', 'pool': 'p', 'device': 'd0', 'networkData': {'ips': ['2001:DB8::1/64']}}]},
     '422 Invalid: Invalid status.devices[0].networkData.ips[0]'),
]
CONDITION = {'type': 'Ready', 'status': 'True', 'reason': 'Up', 'message': '', 'lastTransitionTime': '2026-01-01T00:00:00Z'}
DC = 'status.devices[0].conditions'
STATUSES += [(f'device_condition_{name}', {'allocation': allocation(), 'devices': [
    {'driver': 'd.example.com', 'pool': 'p', 'device': 'd0', 'conditions': [{**CONDITION, **c} for c in conditions]}]}, answer)
    for name, conditions, answer in (
        ('type_is_bad', [{'type': 'a b'}], f'422 Invalid: Invalid {DC}[0].type'),
        ('type_twice', [{}, {}], f'422 Invalid: Duplicate {DC}[1].type'),
        ('status_is_unknown', [{'status': 'Foo'}], f'422 Invalid: NotSupported {DC}[0].status'),
        ('generation_is_negative', [{'observedGeneration': -1}], f'422 Invalid: Invalid {DC}[0].observedGeneration'),
        ('time_is_null', [{'lastTransitionTime': None}], f'422 Invalid: Required {DC}[0].lastTransitionTime'),
        ('time_is_zero', [{'lastTransitionTime': '0001-01-01T00:00:00Z'}], f'422 Invalid: Required {DC}[0].lastTransitionTime'),
        ('reason_is_empty', [{'reason': ''}], f'422 Invalid: Required {DC}[0].reason'),
        ('reason_is_bad', [{'reason': 'a b'}], f'422 Invalid: Invalid {DC}[0].reason'),
        ('reason_ends_badly', [{'reason': 'a:'}], f'422 Invalid: Invalid {DC}[0].reason'),
        ('reason_is_too_long', [{'reason': 'a' * 1025}], f'422 Invalid: TooLong {DC}[0].reason'),
        ('message_is_too_long', [{'message': 'a' * 32769}], f'422 Invalid: TooLong {DC}[0].message'),
        ('of_a_ninth_type', [{'type': f't{i}'} for i in range(9)], f'422 Invalid: TooMany {DC}'),
        ('of_nothing', [{'type': '', 'status': '', 'reason': '', 'lastTransitionTime': None}],
         f'422 Invalid: Invalid {DC}[0].type, NotSupported {DC}[0].status, Required {DC}[0].lastTransitionTime, Required {DC}[0].reason'))]
for _name, _fields, _answer in STATUSES:
    def _check(t, fields=_fields, answer=_answer):
        t.eq(status(t, fields), answer)
    _check.__name__ = f'claim_status_{_name}'
    check(_check)


@check
def claim_that_is_deallocated_loses_the_status_of_its_devices(t):
    """Who takes the allocation away need not know of the rest; what never was allocated is a mistake as before."""
    path, _ = claimed(t)
    merge, devices = 'application/merge-patch+json', [{'driver': 'd.example.com', 'pool': 'p', 'device': d} for d in ('d0', 'd1')]
    allocated = {'devices': {'results': [{'request': 'r', **d} for d in devices]}}

    def patch(**fields):
        return t.call('PATCH', f'{path}/status', {'status': fields}, content=merge)
    a = t.code(patch(allocation=allocated, devices=devices), 200)
    t.eq(len(a['status.devices']), 2, 'devices')
    t.eq(said(patch(allocation=None, devices=[*devices, {**devices[0], 'device': 'd2'}])), '422 Invalid: Invalid status.devices[0]', 'answer')
    t.eq(t.code(patch(allocation=None), 200)['status'], {}, 'status')
    t.code(patch(allocation=allocated, devices=devices[:1]), 200)
    t.eq(t.code(patch(devices=[]), 200)['status'], {'allocation': allocated}, 'status')


@check
def claim_spec_is_immutable(t):
    path, _ = claimed(t)
    a = t.call('PATCH', path, {'spec': {'devices': {'requests': [request('other')]}}}, content='application/merge-patch+json')
    t.eq(said(a), '422 Invalid: Invalid spec')


@check
def claim_allocation_is_immutable(t):
    path, _ = claimed(t)
    merge = 'application/merge-patch+json'
    t.eq(t.call('PATCH', f'{path}/status', {'status': {'allocation': allocation()}}, content=merge).code, 200)
    a = t.call('PATCH', f'{path}/status', {'status': {'allocation': allocation(device='d1')}}, content=merge)
    t.eq(said(a), '422 Invalid: Invalid status.allocation')
    t.eq(t.call('PATCH', f'{path}/status', {'status': {'allocation': None}}, content=merge).code, 200)
    t.eq(t.call('PATCH', f'{path}/status', {'status': {'allocation': allocation(device='d1')}}, content=merge).code, 200)


@check
def claim_count_is_one_unless_said(t):
    path, _ = claimed(t)
    a = t.call('GET', path)
    t.eq(a['spec.devices.requests'][0]['exactly'],
         {'deviceClassName': 'c.example.com', 'allocationMode': 'ExactCount', 'count': 1})


@check
def claim_with_admin_access_in_a_labelled_namespace(t):
    ns = t.name('admin')
    t.make('/api/v1/namespaces', {'metadata': {'name': ns, 'labels': {'resource.kubernetes.io/admin-access': 'true'}}})
    a = t.call('POST', CLAIMS.format(ns=ns), thing('ResourceClaim', 'a', spec={'devices': {'requests': [
        request(adminAccess=True)]}}))
    t.eq(a.code, 201)
    t.eq(a['spec.devices.requests'][0]['exactly']['adminAccess'], True)


@check
def slice_of_a_driver_keeps_its_node_and_pool(t):
    name = t.name('slice')
    t.make(SLICES, {**SLICE, 'metadata': {'name': name}})
    merge = 'application/merge-patch+json'
    for fields, answer in (({'nodeName': 'm'}, 'Invalid spec.nodeName'), ({'driver': 'e'}, 'Invalid spec.driver'),
                           ({'pool': {'name': 'm'}}, 'Invalid spec.pool.name')):
        a = t.call('PATCH', f'{SLICES}/{name}', {'spec': fields}, content=merge)
        t.eq(said(a), f'422 Invalid: {answer}')
    a = t.call('PATCH', f'{SLICES}/{name}', {'spec': {'pool': {'generation': 2}, 'devices': [device('d1')]}}, content=merge)
    t.eq(a.code, 200)
    t.eq(a['metadata.generation'], 2)


@check
def slices_are_selected_by_node_and_driver(t):
    name = t.name('slice')
    t.make(SLICES, {**SLICE, 'metadata': {'name': name}, 'spec': {**SLICE['spec'], 'nodeName': name}})
    for field, found in ((f'spec.nodeName={name}', 1), (f'spec.nodeName={name},spec.driver=d.example.com', 1),
                         (f'spec.nodeName={name},spec.driver=e', 0)):
        t.eq(len(t.call('GET', f'{SLICES}?fieldSelector={field}')['items']), found)


@check
def claim_state_is_a_column(t):
    path, _ = claimed(t)
    table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    a = t.call('GET', path, accept=table)
    t.eq([c['name'] for c in a['columnDefinitions']], ['Name', 'State', 'Age'])
    t.eq(a['rows'][0]['cells'][:2], ['c', 'pending'])


# ---- what looks wrong and is accepted: schedulers and controllers have to live with it ----

@check
def slice_without_devices_and_with_as_many_as_there_may_be(t):
    for n in (0, 1, 128):
        name = t.name('slice')
        t.make(SLICES, {**SLICE, 'metadata': {'name': name}, 'spec': {**SLICE['spec'], 'devices': [device(f'd{i}') for i in range(n)]}})
        t.eq(len(t.call('GET', f'{SLICES}/{name}')['spec'].get('devices') or []), n)


@check
def slices_that_contradict_each_other(t):
    """Two of one pool: other generations, another count, the same device. And a generation that goes back."""
    one, two = t.name('slice'), t.name('slice')
    for name, generation, count in ((one, 5, 1), (two, 4, 7)):
        t.make(SLICES, {**SLICE, 'metadata': {'name': name}, 'spec': {
            **SLICE['spec'], 'pool': {'name': 'n', 'generation': generation, 'resourceSliceCount': count}}})
    a = t.call('PATCH', f'{SLICES}/{one}', {'spec': {'pool': {'generation': 1}}}, content='application/merge-patch+json')
    t.eq((a.code, a['spec.pool.generation']), (200, 1))


@check
def slice_with_a_capacity_below_zero_or_beyond_reason(t):
    name = t.name('slice')
    t.make(SLICES, {**SLICE, 'metadata': {'name': name}, 'spec': {**SLICE['spec'], 'devices': [
        device(capacity={'low': {'value': '-1'}, 'high': {'value': '9223372036854775807'}, 'none': {'value': '0'}})]}})
    capacity = t.call('GET', f'{SLICES}/{name}')['spec.devices'][0]['capacity']
    t.eq({k: v['value'] for k, v in capacity.items()}, {'low': '-1', 'high': '9223372036854775807', 'none': '0'})


@check
def claim_for_more_devices_than_it_can_have(t):
    for i, count in enumerate((33, 2 ** 63 - 1)):
        a = t.call('POST', CLAIMS.format(ns=t.ns), thing('ResourceClaim', f'c{i}', spec={'devices': {'requests': [request(count=count)]}}))
        t.eq((a.code, a['spec.devices.requests'][0]['exactly']['count']), (201, count))


@check
def claim_of_a_class_that_does_not_exist(t):
    a = t.call('POST', CLAIMS.format(ns=t.ns), thing('ResourceClaim', 'c', spec={'devices': {'requests': [
        request(deviceClassName='nobody.example.com')]}}))
    t.eq(a.code, 201)


@check
def claim_is_reserved_for_strangers(t):
    """Other kinds, pods that do not exist: the server does not ask."""
    path, _ = claimed(t)
    users = [user(), user('2', resource='jobs', apiGroup='batch', name='j'), user('not-a-uid', name='no such pod')]
    a = t.call('PATCH', f'{path}/status', {'status': {'allocation': allocation(), 'reservedFor': users}}, content='application/merge-patch+json')
    t.eq((a.code, a['status.reservedFor']), (200, users))


@check
def claim_that_is_being_deleted_takes_no_more_users(t):
    path, _ = claimed(t)
    merge = 'application/merge-patch+json'
    t.eq(t.call('PATCH', path, {'metadata': {'finalizers': ['example.com/hold']}}, content=merge).code, 200)
    t.eq(t.call('PATCH', f'{path}/status', {'status': {'allocation': allocation(), 'reservedFor': [user()]}}, content=merge).code, 200)
    t.call('DELETE', path)
    a = t.call('PATCH', f'{path}/status', {'status': {'reservedFor': [user(), user('2', name='q')]}}, content=merge)
    t.eq(said(a), '422 Invalid: Forbidden status.reservedFor')
    t.eq(t.call('PATCH', f'{path}/status', {'status': {'reservedFor': None, 'allocation': None}}, content=merge).code, 200)
    t.eq(t.call('PATCH', path, {'metadata': {'finalizers': None}}, content=merge).code, 200)
    t.eq(t.call('GET', path).code, 404)


@check
def claim_that_is_in_use_keeps_its_allocation(t):
    path, _ = claimed(t)
    merge = 'application/merge-patch+json'
    t.eq(t.call('PATCH', f'{path}/status', {'status': {'allocation': allocation(), 'reservedFor': [user()]}}, content=merge).code, 200)
    a = t.call('PATCH', f'{path}/status', {'status': {'allocation': None}}, content=merge)
    t.eq(said(a), '422 Invalid: Forbidden status.reservedFor')


@check
def pod_with_claims_that_are_at_fault(t):
    def pod(entries, claims):
        return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'p'}, 'spec': {
            'resourceClaims': entries, 'containers': [{'name': 'c', 'image': 'i', 'resources': {'claims': claims}}]}}

    place = 'spec.resourceClaims[0]'
    for entries, claims, answer in (
            ([{'name': 'a', 'resourceClaimName': 'x', 'resourceClaimTemplateName': 'y'}], [], f'422 Invalid: Invalid {place}'),
            ([{'name': 'a'}], [], f'422 Invalid: Invalid {place}'),
            ([{'name': 'A', 'resourceClaimName': 'x'}], [], f'422 Invalid: Invalid {place}.name'),
            ([{'name': 'a', 'resourceClaimName': 'X/'}], [], f'422 Invalid: Invalid {place}.resourceClaimName'),
            ([{'name': 'a', 'resourceClaimName': 'x'}] * 2, [], '422 Invalid: Duplicate spec.resourceClaims[1].name'),
            ([], [{'name': 'a'}], '422 Invalid: NotFound spec.containers[0].resources.claims[0]'),
            ([{'name': 'a', 'resourceClaimName': 'x'}], [{'name': 'a'}] * 2,
             '422 Invalid: Duplicate spec.containers[0].resources.claims[1]')):
        a = t.call('POST', f'/api/v1/namespaces/{t.ns}/pods?dryRun=All', pod(entries, claims))
        t.eq(said(a), answer, str(a))


# ---- texts that are none ----

@rows(NO_TEXTS)
def selectors_with_bytes_that_are_no_text(t, _name, sent, read):
    """In a literal they are a text as any other; outside they are no expression."""
    def made(text):
        class_ = thing('DeviceClass', t.name('c') + '.example.com', spec={'selectors': [selector(text)]})
        claim = thing('ResourceClaim', 'x', spec={'devices': {'requests': [request(selectors=[selector(text)])]}})
        return [t.call('POST', path.format(ns=t.ns), raw=raw_with(body, sent), dryRun='All')
                for path, body in ((CLASSES, class_), (CLAIMS, claim))]
    for a, path in zip(made("device.driver != 'aMARKb'"), ('spec.selectors.0', 'spec.devices.requests.0.exactly.selectors.0')):
        t.has(t.code(a, 201), f'{path}.cel.expression', f"device.driver != 'a{read}b'")
    for bad in 'MARK', "device.driver == 'a'MARK", "device.MARKdriver == 'a'":
        for a in made(bad):
            t.invalid(a, part='Syntax error')
