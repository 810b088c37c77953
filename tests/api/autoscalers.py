"""autoscalers.py - autoscaling/v1 of HorizontalPodAutoscaler: what its annotations carry of v2, and what in them says nothing."""
import json

from client import check, meta

AT = 'autoscaling.alpha.kubernetes.io/'
CPU = {'type': 'Resource', 'resource': {'name': 'cpu', 'target': {'type': 'Utilization', 'averageUtilization': 80}}}
QUEUE = {'type': 'Pods', 'pods': {'metricName': 'queue', 'targetAverageValue': 5}}
QUEUE_V2 = {'type': 'Pods', 'pods': {'metric': {'name': 'queue'}, 'target': {'type': 'AverageValue', 'averageValue': '5'}}}
STATUS = {'conditions': [{'type': 'AbleToScale', 'status': 'True', 'lastTransitionTime': '2024-01-02T03:04:05Z', 'reason': 'r'}],
          'current-metrics': [{'type': 'Pods', 'pods': {'metricName': 'queue', 'currentAverageValue': '7'}}]}
RULES = {'StabilizationWindowSeconds': 5, 'SelectPolicy': 'Min', 'Policies': [{'Type': 'Pods', 'Value': 1, 'PeriodSeconds': 9}], 'Tolerance': None}
RULES_V2 = {'stabilizationWindowSeconds': 5, 'selectPolicy': 'Min', 'policies': [{'type': 'Pods', 'value': 1, 'periodSeconds': 9}]}
ALL_V2 = {'selectPolicy': 'Max', 'policies': [{'type': 'Percent', 'value': 100, 'periodSeconds': 15}]}
ABOUT = {'target': {'kind': 'Service', 'name': 's', 'apiVersion': 'v1'}, 'metricName': 'm', 'averageValue': 1}
# Name, annotations, spec.metrics of v2, spec.behavior of v2.
ROWS = (
    ('none', {}, [CPU], None),
    ('a_metric', {'metrics': [QUEUE]}, [QUEUE_V2], None),
    ('no_metric', {'metrics': []}, [CPU], None),
    ('null_for_metrics', {'metrics': None}, [CPU], None),
    ('metrics_that_are_no_json', {'metrics': '[{'}, [CPU], None),
    ('metrics_that_are_no_list', {'metrics': {'a': 1}}, [CPU], None),
    ('a_metric_that_is_a_number', {'metrics': [QUEUE, 5]}, [CPU], None),
    ('a_source_that_is_a_number', {'metrics': [QUEUE, {'type': 'Pods', 'pods': 5}]}, [CPU], None),
    ('a_type_that_is_a_number', {'metrics': [{**QUEUE, 'type': 5}]}, [CPU], None),
    ('a_selector_that_is_a_text', {'metrics': [{**QUEUE, 'pods': {**QUEUE['pods'], 'selector': 'x'}}]}, [CPU], None),
    ('a_quantity_that_is_none', {'metrics': [{**QUEUE, 'pods': {'metricName': 'queue', 'targetAverageValue': 'many'}}]}, [CPU], None),
    ('a_percentage_with_a_fraction', {'metrics': [{'type': 'Resource', 'resource': {'name': 'memory', 'targetAverageUtilization': 5.5}}]},
     [CPU], None),
    ('unknown_fields', {'metrics': [{**QUEUE, 'more': 1, 'pods': {**QUEUE['pods'], 'more': {}}}]}, [QUEUE_V2], None),
    ('names_in_other_letters', {'metrics': [{'Type': 'Pods', 'PODS': {'metricname': 'queue', 'TargetAverageValue': 5}}]}, [QUEUE_V2], None),
    ('a_selector', {'metrics': [{**QUEUE, 'pods': {**QUEUE['pods'], 'selector': {'matchLabels': {'Type': 'b'}}}}]},
     [{**QUEUE_V2, 'pods': {**QUEUE_V2['pods'], 'metric': {'name': 'queue', 'selector': {'matchLabels': {'Type': 'b'}}}}}], None),
    ('an_object', {'metrics': [{'type': 'Object', 'object': {
        'target': {'kind': 'Service', 'name': 's', 'apiVersion': 'v1'}, 'metricName': 'm', 'targetValue': 2, 'averageValue': '1'}}]},
     [{'type': 'Object', 'object': {'describedObject': {'kind': 'Service', 'name': 's', 'apiVersion': 'v1'}, 'metric': {'name': 'm'},
                                    'target': {'type': 'AverageValue', 'value': '2', 'averageValue': '1'}}}], None),
    ('an_external_metric', {'metrics': [{'type': 'External', 'external': {'metricName': 'm', 'targetValue': '3'}}]},
     [{'type': 'External', 'external': {'metric': {'name': 'm'}, 'target': {'type': 'Value', 'value': '3'}}}], None),
    ('memory', {'metrics': [{'type': 'Resource', 'resource': {'name': 'memory', 'targetAverageValue': '1Gi'}}]},
     [{'type': 'Resource', 'resource': {'name': 'memory', 'target': {'type': 'AverageValue', 'averageValue': '1Gi'}}}], None),
    ('behavior', {'behavior': {'ScaleUp': RULES, 'ScaleDown': None}}, [CPU], {'scaleUp': RULES_V2, 'scaleDown': ALL_V2}),
    ('behavior_in_other_letters', {'behavior': {'scaleUp': RULES_V2}}, [CPU], {'scaleUp': RULES_V2, 'scaleDown': ALL_V2}),
    ('empty_behavior', {'behavior': {}}, [CPU], None),
    ('behavior_that_is_a_list', {'behavior': [5]}, [CPU], None),
    ('rules_that_are_a_text', {'behavior': {'ScaleUp': RULES, 'ScaleDown': 'x'}}, [CPU], None),
    ('a_window_that_is_a_text', {'behavior': {'ScaleUp': {**RULES, 'StabilizationWindowSeconds': '5'}}}, [CPU], None),
    ('a_policy_that_is_a_number', {'behavior': {'ScaleUp': {**RULES, 'Policies': [5]}}}, [CPU], None),
    ('status', STATUS, [CPU], None),
    ('garbage_for_status', {'conditions': [5], 'current-metrics': {'a': 'b'}}, [CPU], None),
    ('what_older_servers_wrote', {'scale-up-tolerance': '0.1', 'scale-down-tolerance': 'x'}, [CPU], None),
)


def path(t, version):
    return t.at('horizontalpodautoscalers', 'autoscaling', version)


def scaler(annotations, **more):
    texts = {AT + k: v if isinstance(v, str) else json.dumps(v) for k, v in annotations.items()}
    return {'metadata': meta('a', annotations={'mine': 'stays', **texts}),
            'spec': {'maxReplicas': 3, 'scaleTargetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': 'd'}}, **more}


def carried(o):
    return {k[len(AT):]: json.loads(v) for k, v in o['metadata']['annotations'].items() if k.startswith(AT)}


def row(name, annotations, metrics, behavior):
    def run(t):
        made = t.make(path(t, 'v1'), scaler(annotations))
        t.eq(made['metadata']['annotations']['mine'], 'stays', 'another annotation')
        t.true(not set(carried(made)) & {*STATUS, 'scale-up-tolerance', 'scale-down-tolerance'}, f'annotations {carried(made)}')
        t.eq(made['spec'].get('targetCPUUtilizationPercentage'), 80 if metrics == [CPU] else None, 'target')
        v2 = t.code(t.get(f'{path(t, "v2")}/a'), 200)
        t.eq(v2['metadata.annotations'], {'mine': 'stays'}, 'annotations of v2')
        t.eq(v2['spec.metrics'], metrics, 'metrics')
        t.eq(v2.json['spec'].get('behavior'), behavior, 'behavior')
        t.eq(v2['status'], {'currentMetrics': None, 'desiredReplicas': 0}, 'status')
    run.__name__ = f'annotations_with_{name}'
    check(run)


for _row in ROWS:
    row(*_row)


@check
def annotations_are_refused_for_what_they_say(t):
    for annotations, field in (({'metrics': [None]}, 'spec.metrics[0].type'),
                               ({'metrics': [{'type': 'Pods', 'pods': {'targetAverageValue': 1}}]}, 'spec.metrics[0].pods.metric.name'),
                               ({'behavior': {'ScaleUp': {}}}, 'spec.behavior.scaleUp.policies'),
                               ({'behavior': {'ScaleUp': {**RULES, 'Tolerance': '-1'}}}, 'spec.behavior.scaleUp.tolerance'),
                               ({'metrics': [{'type': 'Object', 'object': ABOUT}]}, 'spec.metrics[0].object.target.value'),
                               ({'metrics': [{'type': 'Pods', 'pods': {'metricName': 'm'}}]}, 'spec.metrics[0].pods.target.averageValue'),
                               ({'metrics': [{'type': 'External', 'external': {'metricName': 'm', 'targetValue': 1, 'targetAverageValue': 1}}]},
                                'spec.metrics[0].external.target.value')):
        a = t.code(t.post(path(t, 'v1'), scaler(annotations)), 422)
        t.true(field in [c['field'] for c in a['details.causes']], f'{field} in {a["details.causes"]}')


@check
def v2_takes_no_annotations_of_v1(t):
    made = t.make(path(t, 'v2'), scaler({'metrics': [QUEUE], 'behavior': {}, **STATUS, 'scale-up-tolerance': '1'}))
    t.eq(made['metadata']['annotations'], {'mine': 'stays'}, 'annotations')
    t.eq(made['spec']['metrics'], [CPU], 'metrics')
    t.eq(t.read(f'{path(t, "v1")}/a')['metadata']['annotations'], {'mine': 'stays'}, 'annotations of v1')


@check
def an_update_of_v1_changes_no_status(t):
    t.make(path(t, 'v1'), scaler({}))
    status = {'status': {'currentReplicas': 1, 'desiredReplicas': 2, 'currentCPUUtilizationPercentage': 40}}
    # Of the status that v1 writes: the annotations, not the percentage beside them.
    a = t.code(t.put(f'{path(t, "v1")}/a/status', scaler({**STATUS, 'metrics': [QUEUE], 'behavior': {'ScaleUp': RULES}}, **status)), 200)
    t.eq(carried(a.json), STATUS, 'annotations after a change of the status')
    v2 = t.read(f'{path(t, "v2")}/a')
    t.eq(v2['status'], {'currentReplicas': 1, 'desiredReplicas': 2, 'conditions': STATUS['conditions'], 'currentMetrics': [
        {'type': 'Pods', 'pods': {'metric': {'name': 'queue'}, 'current': {'averageValue': '7'}}}]}, 'status')
    t.eq((v2['spec']['metrics'], v2['spec'].get('behavior')), ([CPU], None), 'spec after a change of the status')
    others = {'conditions': [], 'current-metrics': [{'type': 'Pods', 'pods': {'metricName': 'other', 'currentAverageValue': '1'}}]}
    a = t.code(t.put(f'{path(t, "v1")}/a', scaler({**others, 'metrics': [QUEUE]})), 200)
    t.eq({k: v for k, v in carried(a.json).items() if k in STATUS}, STATUS, 'status after a change of the spec')
    t.eq(t.read(f'{path(t, "v2")}/a')['spec']['metrics'], [QUEUE_V2], 'metrics')


@check
def v1_shows_a_status_of_v2(t):
    t.make(path(t, 'v2'), scaler({}))
    current = {'type': 'Resource', 'resource': {'name': 'cpu', 'current': {'averageUtilization': 40, 'averageValue': '100m'}}}
    t.code(t.patch(f'{path(t, "v2")}/a/status', {'status': {'currentMetrics': [current], 'desiredReplicas': 2, 'currentReplicas': 1}}), 200)
    v1 = t.code(t.get(f'{path(t, "v1")}/a'), 200)
    t.eq(v1['status.currentCPUUtilizationPercentage'], 40, 'percentage')
    t.eq(carried(v1.json), {'current-metrics': [{'type': 'Resource', 'resource': {
        'name': 'cpu', 'currentAverageUtilization': 40, 'currentAverageValue': '100m'}}]}, 'annotations')
    t.code(t.put(f'{path(t, "v1")}/a/status', {**v1.json, 'status': {'desiredReplicas': 3, 'currentReplicas': 1}}), 200)
    t.eq(t.read(f'{path(t, "v2")}/a')['status']['currentMetrics'], [current], 'metrics written back')


@check
def a_status_counts_no_less_than_nothing(t):
    t.make(path(t, 'v2'), scaler({}))
    for version in ('v1', 'v2'):
        a = t.patch(f'{path(t, version)}/a/status', {'status': {'currentReplicas': -1, 'desiredReplicas': -2}})
        t.status(a, 422, 'Invalid')
        t.eq([c['field'] for c in a['details.causes']], ['status.currentReplicas', 'status.desiredReplicas'], 'causes')
        # Who writes the spec says nothing of the status.
        t.code(t.patch(f'{path(t, version)}/a', {'status': {'desiredReplicas': -2}}), 200)
    t.eq(t.read(f'{path(t, "v2")}/a')['status']['desiredReplicas'], 0, 'replicas')


@check
def the_group_of_a_target_may_stay_as_it_is(t):
    t.make(path(t, 'v2'), scaler({}, spec={'maxReplicas': 3, 'scaleTargetRef': {'kind': 'ReplicationController', 'name': 'd'}}))
    for version in ('v1', 'v2'):
        one = f'{path(t, version)}/a'
        t.code(t.patch(one, {'spec': {'scaleTargetRef': {'name': f'of-{version}'}}}), 200)
        for wrong in ({'kind': 'Deployment'}, {'apiVersion': 'a/b/c'}):
            a = t.status(t.patch(one, {'spec': {'scaleTargetRef': wrong}}), 422, 'Invalid')
            t.eq([c['field'] for c in a['details.causes']], ['spec.scaleTargetRef.apiVersion'], f'causes of {wrong}')


@check
def v1_cannot_write_back_an_object_without_a_value(t):
    """It shows 0 for the value that is not there, and that is no target."""
    t.make(path(t, 'v2'), {**scaler({}), 'spec': {**scaler({})['spec'], 'metrics': [{'type': 'Object', 'object': {
        'describedObject': ABOUT['target'], 'metric': {'name': 'm'}, 'target': {'type': 'AverageValue', 'averageValue': '1'}}}]}})
    v1 = t.read(f'{path(t, "v1")}/a')
    t.eq(carried(v1)['metrics'][0]['object']['targetValue'], '0', 'value')
    a = t.status(t.put(f'{path(t, "v1")}/a', v1), 422, 'Invalid')
    t.eq([c['field'] for c in a['details.causes']], ['spec.metrics[0].object.target.value'], 'causes')
    t.code(t.put(f'{path(t, "v1")}/a/status', {**v1, 'status': {'currentReplicas': 1, 'desiredReplicas': 1}}), 200)


@check
def a_tolerance_is_kept(t):
    up = {**RULES_V2, 'tolerance': '50m'}
    made = t.make(path(t, 'v2'), {**scaler({}), 'spec': {**scaler({})['spec'], 'behavior': {'scaleUp': {**up, 'tolerance': 0.05}}}})
    t.eq(made['spec']['behavior']['scaleUp'], up, 'rules')
