"""malformed_limits.py - LimitRanges and ResourceQuotas that contradict themselves; see malformed.py for how to read a row."""
from client import check
from malformed import NS, refuse_new

refuse_new('limit_range', f'{NS}/limitranges', {'metadata': {'name': 'x'}, 'spec': {'limits': []}}, 'spec', [
    ('min_above_max', {'limits': [{'type': 'Container', 'min': {'cpu': '2'}, 'max': {'cpu': '1'}}]},
     '422 Invalid: Invalid spec.limits[0].defaultRequest[cpu], Invalid spec.limits[0].default[cpu], Invalid spec.limits[0].min[cpu]'),
    ('default_above_max', {'limits': [{'type': 'Container', 'default': {'cpu': '2'}, 'max': {'cpu': '1'}}]},
     '422 Invalid: Invalid spec.limits[0].defaultRequest[cpu], Invalid spec.limits[0].default[cpu]'),
    ('default_below_min', {'limits': [{'type': 'Container', 'default': {'cpu': '1'}, 'min': {'cpu': '2'}}]},
     '422 Invalid: Invalid spec.limits[0].defaultRequest[cpu], Invalid spec.limits[0].default[cpu]'),
    ('request_above_default', {'limits': [{'type': 'Container', 'defaultRequest': {'cpu': '2'}, 'default': {'cpu': '1'}}]},
     '422 Invalid: Invalid spec.limits[0].defaultRequest[cpu]'),
    ('request_above_max', {'limits': [{'type': 'Container', 'defaultRequest': {'cpu': '2'}, 'max': {'cpu': '1'}}]},
     '422 Invalid: Invalid spec.limits[0].defaultRequest[cpu]'),
    ('request_below_min', {'limits': [{'type': 'Container', 'defaultRequest': {'cpu': '1'}, 'min': {'cpu': '2'}}]},
     '422 Invalid: Invalid spec.limits[0].defaultRequest[cpu]'),
    ('ratio_below_one', {'limits': [{'type': 'Container', 'maxLimitRequestRatio': {'cpu': '0.5'}}]},
     '422 Invalid: Invalid spec.limits[0].maxLimitRequestRatio[cpu]'),
    ('ratio_above_max_over_min', {'limits': [{'type': 'Container', 'maxLimitRequestRatio': {'cpu': '10'}, 'min': {'cpu': '1'}, 'max': {'cpu': '2'}}]},
     '422 Invalid: Invalid spec.limits[0].maxLimitRequestRatio[cpu]'),
    ('pod_with_default', {'limits': [{'type': 'Pod', 'default': {'cpu': '1'}}]},
     '422 Invalid: Forbidden spec.limits[0].default'),
    ('pod_with_defaultRequest', {'limits': [{'type': 'Pod', 'defaultRequest': {'cpu': '1'}}]},
     '422 Invalid: Forbidden spec.limits[0].defaultRequest'),
    ('pvc_without_bounds', {'limits': [{'type': 'PersistentVolumeClaim'}]},
     '422 Invalid: Required spec.limits[0].limits'),
    ('pvc_with_cpu', {'limits': [{'type': 'PersistentVolumeClaim', 'max': {'cpu': '1'}}]},
     '422 Invalid: Required spec.limits[0].limits'),
    ('two_of_a_type', {'limits': [{'type': 'Container', 'max': {'cpu': '1'}}, {'type': 'Container', 'max': {'cpu': '2'}}]},
     '422 Invalid: Duplicate spec.limits[1].type'),
    ('type_unknown', {'limits': [{'type': 'X', 'max': {'cpu': '1'}}]},
     '422 Invalid: Invalid spec.limits[0].type'),
    ('type_missing', {'limits': [{'max': {'cpu': '1'}}]},
     '422 Invalid: Invalid spec.limits[0].type'),
    ('unknown_resource', {'limits': [{'type': 'Container', 'max': {'x y': '1'}}]},
     '422 Invalid: Invalid spec.limits[0].defaultRequest[x y], Invalid spec.limits[0].default[x y], Invalid spec.limits[0].max[x y]'),
    ('plain_unknown_resource', {'limits': [{'type': 'Container', 'max': {'foo': '1'}}]},
     '422 Invalid: Invalid spec.limits[0].defaultRequest[foo], Invalid spec.limits[0].default[foo], Invalid spec.limits[0].max[foo]'),
    ('not_a_quantity', {'limits': [{'type': 'Container', 'max': {'cpu': 'x'}}]},
     '400 BadRequest'),
    ('all_contradict', {'limits': [{'type': 'Container', 'min': {'cpu': '4'}, 'max': {'cpu': '3'}, 'default': {'cpu': '2'}, 'defaultRequest': {'cpu': '5'}, 'maxLimitRequestRatio': {'cpu': '9'}}]},
     '422 Invalid: Invalid spec.limits[0].defaultRequest[cpu], Invalid spec.limits[0].default[cpu], Invalid spec.limits[0].maxLimitRequestRatio[cpu], Invalid spec.limits[0].min[cpu]'),
    ('extended_default_without_request', {'limits': [{'type': 'Container', 'default': {'example.com/gpu': '1'}, 'defaultRequest': {'example.com/gpu': '2'}}]},
     '422 Invalid: Invalid spec.limits[0].defaultRequest[example.com/gpu]'),
    ('hugepages', {'limits': [{'type': 'Container', 'default': {'hugepages-2Mi': '2Mi'}, 'defaultRequest': {'hugepages-2Mi': '4Mi'}}]},
     '422 Invalid: Invalid spec.limits[0].defaultRequest[hugepages-2Mi]'),
])

refuse_new('quota', f'{NS}/resourcequotas', {'metadata': {'name': 'x'}, 'spec': {}}, 'spec', [
    ('negative', {'hard': {'pods': '-1'}},
     '422 Invalid: Invalid spec.hard[pods]'),
    ('fraction_of_pods', {'hard': {'pods': '1.5'}},
     '422 Invalid: Invalid spec.hard[pods]'),
    ('not_a_quantity', {'hard': {'pods': 'x'}},
     '400 BadRequest'),
    ('unknown', {'hard': {'x y': '1'}},
     '422 Invalid: Invalid spec.hard[x y]'),
    ('plain_unknown', {'hard': {'foo': '1'}},
     '422 Invalid: Invalid spec.hard[foo]'),
    ('unknown_count', {'hard': {'count/': '1'}},
     '422 Invalid: Invalid spec.hard[count/]'),
    ('both_best_effort', {'hard': {'pods': '1'}, 'scopes': ['BestEffort', 'NotBestEffort']},
     '422 Invalid: Invalid spec.scopes'),
    ('both_terminating', {'hard': {'pods': '1'}, 'scopes': ['Terminating', 'NotTerminating']},
     '422 Invalid: Invalid spec.scopes'),
    ('scope_unknown', {'hard': {'pods': '1'}, 'scopes': ['X']},
     '422 Invalid: Invalid spec.scopes'),
    ('best_effort_with_cpu', {'hard': {'cpu': '1'}, 'scopes': ['BestEffort']},
     '422 Invalid: Invalid spec.scopes'),
    ('terminating_with_services', {'hard': {'services': '1'}, 'scopes': ['Terminating']},
     '422 Invalid: Invalid spec.scopes'),
    ('selector_unknown_scope', {'hard': {'pods': '1'}, 'scopeSelector': {'matchExpressions': [{'scopeName': 'X', 'operator': 'Exists'}]}},
     '422 Invalid: Invalid spec.scopeSelector.matchExpressions.scopeName'),
    ('selector_unknown_operator', {'hard': {'pods': '1'}, 'scopeSelector': {'matchExpressions': [{'scopeName': 'PriorityClass', 'operator': 'X'}]}},
     '422 Invalid: Invalid spec.scopeSelector.matchExpressions.operator'),
    ('selector_in_without_values', {'hard': {'pods': '1'}, 'scopeSelector': {'matchExpressions': [{'scopeName': 'PriorityClass', 'operator': 'In'}]}},
     '422 Invalid: Required spec.scopeSelector.matchExpressions.values'),
    ('selector_exists_with_values', {'hard': {'pods': '1'}, 'scopeSelector': {'matchExpressions': [{'scopeName': 'PriorityClass', 'operator': 'Exists', 'values': ['a']}]}},
     '422 Invalid: Invalid spec.scopeSelector.matchExpressions.values'),
    ('selector_best_effort_in', {'hard': {'pods': '1'}, 'scopeSelector': {'matchExpressions': [{'scopeName': 'BestEffort', 'operator': 'In', 'values': ['a']}]}},
     '422 Invalid: Invalid spec.scopeSelector.matchExpressions.operator'),
    ('selector_contradicts', {'hard': {'pods': '1'}, 'scopeSelector': {'matchExpressions': [{'scopeName': 'BestEffort', 'operator': 'Exists'}, {'scopeName': 'NotBestEffort', 'operator': 'Exists'}]}},
     '422 Invalid: Invalid spec.scopeSelector.matchExpressions'),
    ('priority_with_services', {'hard': {'services': '1'}, 'scopeSelector': {'matchExpressions': [{'scopeName': 'PriorityClass', 'operator': 'Exists'}]}},
     '422 Invalid: Invalid spec.scopeSelector.matchExpressions'),
    ('huge', {'hard': {'pods': '999999999999999999999999999999'}},
     '422 Invalid: Invalid spec.hard[pods]'),
    ('storage_class_fraction', {'hard': {'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '0.5'}},
     '422 Invalid: Invalid spec.hard[gold.storageclass.storage.k8s.io/persistentvolumeclaims]'),
])


@check
def limits_that_contradict_tell_how(t):
    a = t.post(t.at('limitranges'), {'metadata': {'name': 'l'}, 'spec': {'limits': [
        {'type': 'Container', 'min': {'cpu': '2'}, 'max': {'cpu': '1'}, 'maxLimitRequestRatio': {'memory': '0.5'}}]}})
    t.invalid(a, ('FieldValueInvalid', 'spec.limits[0].min[cpu]', 'min value 2 is greater than max value 1'),
              ('FieldValueInvalid', 'spec.limits[0].defaultRequest[cpu]', 'min value 2 is greater than default request value 1'),
              ('FieldValueInvalid', 'spec.limits[0].default[cpu]', 'Invalid value: "2": min value 2 is greater than default value 1'),
              ('FieldValueInvalid', 'spec.limits[0].maxLimitRequestRatio[memory]', 'ratio 500m is less than 1'))
    a = t.post(t.at('limitranges'), {'metadata': {'name': 'l'}, 'spec': {'limits': [
        {'type': 'Container', 'min': {'cpu': '1'}, 'max': {'cpu': '2'}, 'maxLimitRequestRatio': {'cpu': '10'}}]}})
    t.invalid(a, ('FieldValueInvalid', 'spec.limits[0].maxLimitRequestRatio[cpu]', 'ratio 10 is greater than max/min = 2.000000'))


@check
def odd_limits_that_are_taken(t):
    for i, (plural, spec) in enumerate((('limitranges', {'limits': [{'type': 'Container', 'max': {'cpu': '-1'}}]}),
                                        ('limitranges', {'limits': [{'type': 'Container', 'min': {'cpu': '-1'}}]}),
                                        ('limitranges', {'limits': []}),
                                        ('limitranges', {'limits': [{'type': 'Container', 'max': {'example.com/gpu': '0.5'}}]}),
                                        ('resourcequotas', {'hard': {'pods': '1'}, 'scopes': ['BestEffort', 'BestEffort']}),
                                        ('resourcequotas', {'hard': {'pods': '1'}, 'scopeSelector': {'matchExpressions': [{'scopeName': 'PriorityClass', 'operator': 'In', 'values': ['A_b c']}]}}),
                                        ('resourcequotas', {'hard': {'requests.cpu': '4', 'limits.cpu': '2'}}))):
        t.make(t.at(plural), {'metadata': {'name': f'x{i}'}, 'spec': spec})
