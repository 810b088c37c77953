"""alert_cases - for each alert of packaging/watch.py a fault that it is about, as series for `promtool test rules`.

All cases share the series of a cluster where all is well; a fault lasts from minute BEGINS on, for as long as the alert waits and ten
minutes more. Then every alert is asked about: the one of the case fires, with these labels and this summary, neither sooner nor after
the fault, and all others stay silent.
"""
import re
import sys

from lab import ROOT

sys.path.insert(0, f'{ROOT}/packaging')
import watch  # noqa: E402

BEGINS, AFTERWARDS = 60, 45  # minutes
MANAGER, SCHEDULER, DESCHEDULER = (f'koordinator-system/koord-{name}-metrics-podmonitor' for name in ('manager', 'scheduler', 'descheduler'))
KOORDLET = 'koordlet-service'


class Gauge:
    """A value, and another one during the fault."""

    def __init__(self, well, fault=None):
        self.well, self.fault = well, well if fault is None else fault

    def values(self, ends, last):
        return [self.fault if BEGINS < minute <= ends else self.well for minute in range(last + 1)]


class Counter(Gauge):
    """What is added in a minute."""

    def values(self, ends, last):
        total, out = 0, []
        for step in super().values(ends, last):
            total += step
            out.append(total)
        return out


DURATION = 'scheduler_scheduling_attempt_duration_seconds_bucket'
WELL = {
    **{f'up{{job="{job}",instance="{where}"}}': Gauge(1) for job, where in (
        (MANAGER, 'a:8080'), (SCHEDULER, 'b:10251'), (DESCHEDULER, 'c:10251'), (KOORDLET, 'node-1:9316'))},
    'up{job="prometheus",instance="p"}': Gauge(1),
    'koordinator_manager_is_leader{instance="a:8080"}': Gauge(1),
    'koordinator_manager_is_leader{instance="a2:8080"}': Gauge(0),
    'scheduler_schedule_attempts_total{result="scheduled"}': Counter(20),
    'scheduler_schedule_attempts_total{result="unschedulable"}': Counter(5),
    'scheduler_schedule_attempts_total{result="error"}': Counter(0),
    'scheduler_pending_pods{queue="active"}': Gauge(3),
    'scheduler_pending_pods{queue="unschedulable"}': Gauge(0),
    f'{DURATION}{{le="0.5"}}': Counter(20), f'{DURATION}{{le="2"}}': Counter(20), f'{DURATION}{{le="+Inf"}}': Counter(20),
    'koordlet_report_total{node="node-1",object="NodeMetric",status="succeeded"}': Counter(1),
    'koordlet_report_total{node="node-1",object="NodeMetric",status="failed"}': Counter(0),
    'slo_controller_node_resource_reconcile_count{status="succeeded",reason=""}': Counter(10),
    'slo_controller_node_resource_reconcile_count{status="failed",reason="UpdateNodeFailed"}': Counter(0),
    'koordlet_collect_failures_total{instance="node-1:9316",collector="PodsUsage"}': Counter(1),  # a pod that ends in the middle
    'koordlet_node_feature_blocked{instance="node-1:9316",feature="CPUBurst",capability="cfs_burst",effect="part"}': Gauge(1),
    'koordlet_kernel_file_overwritten_total{instance="node-1:9316",type="cpu.cfs_quota_us",writer="kubelet"}': Counter(0),
    'koordlet_be_suppress_cpu_cores{node="node-1",type="cfsQuota"}': Gauge(1.5),
    'koordlet_be_suppress_be_used_cpu_cores{node="node-1"}': Gauge(0.5),
    'koordlet_pod_eviction{node="node-1",reason="evicted"}': Counter(0.1),
    'descheduler_pods_evicted{result="success",strategy="LowNodeLoad",namespace="default",node="node-1"}': Counter(1),
    'descheduler_pods_evicted{result="error",strategy="LowNodeLoad",namespace="default",node="node-1"}': Counter(0),
    f'koord_scheduler_config_reloads_total{{job="{SCHEDULER}",result="refused"}}': Counter(0),
    f'koord_descheduler_config_reloads_total{{job="{DESCHEDULER}",result="accepted"}}': Counter(0.01),
    'koord_manager_webhook_errors_total{webhook_type="mutate",object_type="pod",plugin_name="ClusterColocationProfile"}': Counter(0),
    f'rest_client_requests_total{{job="{MANAGER}",method="PATCH",code="200"}}': Counter(100),
    f'rest_client_requests_total{{job="{MANAGER}",method="PATCH",code="403"}}': Counter(0),
    f'rest_client_requests_total{{job="{MANAGER}",method="PATCH",code="409"}}': Counter(30),
    f'rest_client_requests_total{{job="{MANAGER}",method="PATCH",code="503"}}': Counter(1),
    f'workqueue_longest_running_processor_seconds{{job="{MANAGER}",name="node"}}': Gauge(2),
    f'workqueue_depth{{job="{MANAGER}",name="node"}}': Gauge(20),
}

# Alert -> (series of its fault, labels beside its severity, summary).
CASES = {
    'KoordTargetDown': (
        {f'up{{job="{KOORDLET}",instance="node-1:9316"}}': Gauge(1, 0)}, {'job': KOORDLET, 'instance': 'node-1:9316'},
        f'Prometheus cannot scrape {KOORDLET} at node-1:9316.'),
    'KoordManagerNoLeader': (
        {'koordinator_manager_is_leader{instance="a:8080"}': Gauge(1, 0)}, {},
        'No replica of koord-manager holds the lease: batch resources and NodeSLOs are not brought up to date.'),
    'KoordSchedulerErrors': (
        {'scheduler_schedule_attempts_total{result="error"}': Counter(0, 2)}, {},
        'koord-scheduler fails to place pods for other reasons than a lack of room.'),
    'KoordSchedulerPodsUnschedulable': (
        {'scheduler_pending_pods{queue="unschedulable"}': Gauge(0, 7)}, {}, '7 pods have found no node for half an hour.'),
    'KoordSchedulerSlow': (
        {f'{DURATION}{{le="0.5"}}': Counter(20, 0)}, {}, 'One scheduling attempt in a hundred takes 1.985s.'),
    'KoordNodeReportsFailing': (
        {'koordlet_report_total{node="node-1",object="NodeMetric",status="failed"}': Counter(0, 1)}, {'node': 'node-1'},
        'koordlet on node-1 cannot write its NodeMetric: the node loses its batch resources.'),
    'KoordNodeReconcileFailing': (
        {'slo_controller_node_resource_reconcile_count{status="failed",reason="UpdateNodeFailed"}': Counter(0, 1)}, {},
        'koord-manager cannot write the batch and mid resources of nodes.'),
    'KoordletCollectFailing': (
        {'koordlet_collect_failures_total{instance="node-1:9316",collector="PodsUsage"}': Counter(1, 30)},
        {'instance': 'node-1:9316', 'collector': 'PodsUsage'}, 'PodsUsage of koordlet at node-1:9316 cannot read what it measures.'),
    'KoordletFeatureBlocked': (
        {'koordlet_node_feature_blocked{instance="node-1:9316",feature="Resctrl",capability="resctrl",effect="all"}': Gauge(0, 1)},
        {'instance': 'node-1:9316', 'feature': 'Resctrl', 'capability': 'resctrl'},
        'Resctrl is on and cannot work at node-1:9316: there is no resctrl.'),
    'KoordletKernelFileContested': (
        {'koordlet_kernel_file_overwritten_total{instance="node-1:9316",type="cpu.cfs_quota_us",writer="kubelet"}': Counter(0, 1)},
        {'instance': 'node-1:9316', 'type': 'cpu.cfs_quota_us'},
        'Somebody else writes the kernel files (cpu.cfs_quota_us) that koordlet at node-1:9316 manages.'),
    'KoordletBestEffortStarved': (
        {'koordlet_be_suppress_cpu_cores{node="node-1",type="cfsQuota"}': Gauge(1.5, 0.1)}, {'node': 'node-1'},
        'Best-effort pods on node-1 have been held back to 0.1 cores for half an hour.'),
    'KoordletEvictsPods': (
        {'koordlet_pod_eviction{node="node-1",reason="evicted"}': Counter(0, 15)}, {'node': 'node-1'},
        'koordlet on node-1 has evicted 45 pods in a quarter of an hour.'),
    'KoordDeschedulerErrors': (
        {'descheduler_pods_evicted{result="error",strategy="LowNodeLoad",namespace="default",node="node-1"}': Counter(0, 1)},
        {'strategy': 'LowNodeLoad'}, 'Evictions of LowNodeLoad fail.'),
    'KoordConfigRefused': (
        {f'koord_scheduler_config_reloads_total{{job="{SCHEDULER}",result="refused"}}': Counter(0, 1)}, {'job': SCHEDULER},
        f'{SCHEDULER} refused a changed configuration and goes on with the one before.'),
    'KoordWebhookErrors': (
        {'koord_manager_webhook_errors_total{webhook_type="mutate",object_type="pod",plugin_name="ClusterColocationProfile"}': Counter(0, 1)},
        {'plugin_name': 'ClusterColocationProfile'}, 'The webhook ClusterColocationProfile of koord-manager fails.'),
    'KoordAPIRequestsForbidden': (
        {f'rest_client_requests_total{{job="{MANAGER}",method="PATCH",code="403"}}': Counter(0, 1)}, {'job': MANAGER, 'method': 'PATCH'},
        f'The API server refuses PATCH requests of {MANAGER}: a right is missing.'),
    'KoordAPIRequestsFailing': (
        {f'rest_client_requests_total{{job="{MANAGER}",method="PATCH",code="503"}}': Counter(1, 130)}, {'job': MANAGER},
        f'50% of the requests of {MANAGER} to the API server fail.'),
    'KoordWorkQueueStuck': (
        {f'workqueue_longest_running_processor_seconds{{job="{MANAGER}",name="node"}}': Gauge(2, 600)}, {'job': MANAGER, 'name': 'node'},
        f'A sync of the queue node of {MANAGER} has not ended for 10m 0s.'),
    'KoordWorkQueueBacklog': (
        {f'workqueue_depth{{job="{MANAGER}",name="node"}}': Gauge(20, 500)}, {'job': MANAGER, 'name': 'node'},
        f'500 keys wait in the queue node of {MANAGER}.'),
}


def minutes(text):
    """Of "30m" or "1h"."""
    number, unit = re.fullmatch(r'(\d+)([mh])', text).groups()
    return int(number) * (60 if unit == 'h' else 1)


def expected(name, labels, severity, summary):
    return [{'exp_labels': {'severity': severity, **labels}, 'exp_annotations': {
        'summary': summary, 'runbook': f'docs/operations.md#{name.lower()}'}}]


def case(name, hold, severity):
    """One test of promtool: WELL but for the series of the fault."""
    faults, labels, summary = CASES[name]
    fires = BEGINS + hold + 3  # a rate needs a sample or two
    ends = BEGINS + hold + 10
    last = ends + AFTERWARDS
    asked = [{'eval_time': f'{fires}m', 'alertname': other, 'exp_alerts': expected(name, labels, severity, summary) if other == name else []}
             for other in CASES]
    asked += [{'eval_time': f'{minute}m', 'alertname': name, 'exp_alerts': []} for minute in (BEGINS + max(hold - 1, 0), last)]
    return {'name': name, 'interval': '1m', 'alert_rule_test': asked, 'input_series': [
        {'series': series, 'values': ' '.join(f'{v:g}' for v in values.values(ends, last))} for series, values in {**WELL, **faults}.items()]}


def tests(rules):
    """The input of `promtool test rules`."""
    return {'rule_files': [rules], 'evaluation_interval': '1m', 'tests': [
        case(name, minutes(hold), severity) for name, _, hold, severity, _ in watch.ALERTS]}
