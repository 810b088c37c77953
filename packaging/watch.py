"""watch - what people watch koord by: the source of the alert rules and of the Grafana dashboards.

packaging/generate writes them to packaging/monitoring and for the chart; tests/system/test_watched asks a real Prometheus
every expression. A panel that stays empty on some machines says so: `empty` becomes part of its description.
"""
import json

RATE = '$__rate_interval'  # Grafana's: a few times the scrape interval
KOORD = 'job=~".*koord.*"'  # the jobs that the chart's monitors make, and whatever you call yours

# ---- alert rules ----

# Name, expression, how long it must hold, severity, summary. docs/operations.md has a runbook under each name.
ALERTS = [
    ('KoordTargetDown', f'up{{{KOORD}}} == 0', '5m', 'warning',
     'Prometheus cannot scrape {{ $labels.job }} at {{ $labels.instance }}.'),
    ('KoordManagerNoLeader', 'sum(koordinator_manager_is_leader) == 0', '2m', 'critical',
     'No replica of koord-manager holds the lease: batch resources and NodeSLOs are not brought up to date.'),
    ('KoordSchedulerErrors', 'sum(rate(scheduler_schedule_attempts_total{result="error"}[5m])) > 0', '10m', 'warning',
     'koord-scheduler fails to place pods for other reasons than a lack of room.'),
    ('KoordSchedulerPodsUnschedulable', 'sum(scheduler_pending_pods{queue="unschedulable"}) > 0', '30m', 'info',
     '{{ $value }} pods have found no node for half an hour.'),
    ('KoordSchedulerSlow', 'histogram_quantile(0.99, sum by (le) '
     '(rate(scheduler_scheduling_attempt_duration_seconds_bucket[5m]))) > 1', '10m', 'warning',
     'One scheduling attempt in a hundred takes {{ $value | humanizeDuration }}.'),
    ('KoordNodeReportsFailing', 'sum by (node) (rate(koordlet_report_total{status="failed"}[10m])) > 0', '15m', 'warning',
     'koordlet on {{ $labels.node }} cannot write its NodeMetric: the node loses its batch resources.'),
    ('KoordNodeReconcileFailing', 'sum(rate(slo_controller_node_resource_reconcile_count{status="failed"}[10m])) > 0', '15m',
     'warning', 'koord-manager cannot write the batch and mid resources of nodes.'),
    ('KoordletCollectFailing', 'sum by (node, instance, collector) (rate(koordlet_collect_failures_total[10m])) > 0.1', '15m',
     'warning', '{{ $labels.collector }} of koordlet at {{ $labels.instance }} cannot read what it measures.'),
    ('KoordletFeatureBlocked', 'max by (instance, feature, capability) (koordlet_node_feature_blocked{effect="all"}) == 1', '1h',
     'info', '{{ $labels.feature }} is on and cannot work at {{ $labels.instance }}: there is no {{ $labels.capability }}.'),
    ('KoordletKernelFileContested', 'sum by (instance, type) (rate(koordlet_kernel_file_overwritten_total[10m])) > 0', '30m',
     'warning', 'Somebody else writes the kernel files ({{ $labels.type }}) that koordlet at {{ $labels.instance }} manages.'),
    ('KoordletBestEffortStarved', 'min by (node) (koordlet_be_suppress_cpu_cores) <= 0.1 and '
     'on (node) koordlet_be_suppress_be_used_cpu_cores > 0', '30m', 'info',
     'Best-effort pods on {{ $labels.node }} have been held back to {{ $value }} cores for half an hour.'),
    ('KoordletEvictsPods', 'sum by (node) (rate(koordlet_pod_eviction[15m])) * 900 > 10', '0m', 'warning',
     'koordlet on {{ $labels.node }} has evicted {{ $value }} pods in a quarter of an hour.'),
    ('KoordDeschedulerErrors', 'sum by (strategy) (rate(descheduler_pods_evicted{result="error"}[10m])) > 0', '15m', 'warning',
     'Evictions of {{ $labels.strategy }} fail.'),
    ('KoordConfigRefused', f'sum by (job) (increase({{__name__=~"koord_.*_config_reloads_total",result="refused"}}[10m])) > 0',
     '0m', 'warning', '{{ $labels.job }} refused a changed configuration and goes on with the one before.'),
    ('KoordWebhookErrors', 'sum by (plugin_name) (rate(koord_manager_webhook_errors_total[10m])) > 0', '10m', 'warning',
     'The webhook {{ $labels.plugin_name }} of koord-manager fails.'),
    ('KoordAPIRequestsForbidden', f'sum by (job, method) (increase(rest_client_requests_total{{code="403",{KOORD}}}[10m])) > 0',
     '0m', 'warning', 'The API server refuses {{ $labels.method }} requests of {{ $labels.job }}: a right is missing.'),
    ('KoordAPIRequestsFailing', f'sum by (job) (rate(rest_client_requests_total{{code=~"5..|<error>",{KOORD}}}[5m])) / '
     f'sum by (job) (rate(rest_client_requests_total{{{KOORD}}}[5m])) > 0.05', '10m', 'warning',
     '{{ $value | humanizePercentage }} of the requests of {{ $labels.job }} to the API server fail.'),
    ('KoordWorkQueueStuck', f'max by (job, name) (workqueue_longest_running_processor_seconds{{{KOORD}}}) > 300', '5m', 'warning',
     'A sync of the queue {{ $labels.name }} of {{ $labels.job }} has not ended for {{ $value | humanizeDuration }}.'),
    ('KoordWorkQueueBacklog', f'max by (job, name) (workqueue_depth{{{KOORD}}}) > 100', '30m', 'warning',
     '{{ $value }} keys wait in the queue {{ $labels.name }} of {{ $labels.job }}.'),
]


def rules():
    """The groups as YAML, for `rule_files` and, indented, for a PrometheusRule."""
    out = ['groups:', '- name: koord', '  rules:']
    for name, expr, hold, severity, summary in ALERTS:
        out += [f'  - alert: {name}', f'    expr: {json.dumps(expr)}', f'    for: {hold}', '    labels:',
                f'      severity: {severity}', '    annotations:', f'      summary: {json.dumps(summary)}',
                f'      runbook: docs/operations.md#{name.lower()}']
    return '\n'.join(out) + '\n'


# ---- dashboards ----

class Panel:
    """One graph. queries: (expression, legend)...; empty: where it has no data, and why."""

    def __init__(self, title, unit, *queries, about='', empty=''):
        self.title, self.unit, self.queries, self.about, self.empty = title, unit, queries, about, empty


def quantile(q, metric, by='', where=''):
    return f'histogram_quantile({q}, sum by (le{by and ", " + by}) (rate({metric}_bucket{{{where}}}[{RATE}])))'


def rate(metric, by, where=''):
    return f'sum by ({by}) (rate({metric}{{{where}}}[{RATE}]))'


def client_panels(job):
    """What every program shows of its client and its work queues."""
    where = f'job=~"{job}"'
    return [
        Panel('Requests to the API server', 'reqps', (rate('rest_client_requests_total', 'method, code', where),
                                                      '{{method}} {{code}}')),
        Panel('Request duration, 99 %', 's', (quantile(0.99, 'rest_client_request_duration_seconds', 'verb', where), '{{verb}}')),
        Panel('CPU of the program', 'short', (f'rate(process_cpu_seconds_total{{{where}}}[{RATE}])', '{{instance}}')),
        Panel('Memory of the program', 'bytes', (f'process_resident_memory_bytes{{{where}}}', '{{instance}}')),
    ]


def queue_panels(job):
    where = f'job=~"{job}"'
    return [
        Panel('Work queues: depth', 'short', (f'max by (name) (workqueue_depth{{{where}}})', '{{name}}')),
        Panel('Work queues: keys added', 'ops', (rate('workqueue_adds_total', 'name', where), '{{name}}')),
        Panel('Work queues: time until a sync, 99 %', 's',
              (quantile(0.99, 'workqueue_queue_duration_seconds', 'name', where), '{{name}}')),
        Panel('Work queues: time of a sync, 99 %', 's',
              (quantile(0.99, 'workqueue_work_duration_seconds', 'name', where), '{{name}}')),
    ]


EXTENDED = 'slo_controller_node_extended_resource_allocatable_internal'
MANAGER, SCHEDULER, DESCHEDULER, KOORDLET = '.*koord-manager.*', '.*koord-scheduler.*', '.*koord-descheduler.*', '.*koordlet.*'
NODE = 'node=~"$node"'

COLOCATION = [
    Panel('Batch CPU offered', 'short', (f'sum({EXTENDED}{{resource="kubernetes.io/batch-cpu"}}) / 1000', 'cores')),
    Panel('Batch memory offered', 'bytes', (f'sum({EXTENDED}{{resource="kubernetes.io/batch-memory"}})', 'memory')),
    Panel('Batch CPU by node', 'short',
          (f'topk(20, sum by (node) ({EXTENDED}{{resource="kubernetes.io/batch-cpu"}}) / 1000)', '{{node}}')),
    Panel('CPU of services and of best effort', 'short',
          ('sum(koordlet_be_suppress_ls_used_cpu_cores)', 'services'),
          ('sum(koordlet_be_suppress_be_used_cpu_cores)', 'best effort'),
          ('sum(koordlet_node_used_cpu_cores)', 'nodes in all')),
    Panel('CPU that best effort may use', 'short', ('sum by (type) (koordlet_be_suppress_cpu_cores)', '{{type}}'),
          about='How far koordlet holds best effort back.',
          empty='before a NodeSLO enables CPU suppression'),
    Panel('Evictions by koordlet', 'short', ('sum by (reason) (increase(koordlet_pod_eviction[1h]))', '{{reason}}')),
    Panel('NodeMetric reports', 'ops', (rate('koordlet_report_total', 'object, status'), '{{object}} {{status}}')),
    Panel('Reconciles of node resources', 'ops',
          (rate('slo_controller_node_resource_reconcile_count', 'status, reason'), '{{status}} {{reason}}')),
    Panel('Plugins of node resources that fail', 'ops',
          (rate('slo_controller_node_resource_run_plugin_status', 'plugin, reason', 'status="failed"'), '{{plugin}} {{reason}}'),
          about='BatchResource fails in NodePrepare for a node whose koordlet has not reported yet.',
          empty='where every node has reported from the start'),
    Panel('NodeSLO and NodeMetric specs written', 'ops',
          (rate('slo_controller_nodeslo_reconcile_count', 'status'), 'NodeSLO {{status}}'),
          (rate('slo_controller_nodemetric_reconcile_count', 'status'), 'NodeMetric {{status}}')),
    Panel('Webhook time, 99 %', 'ms',
          (quantile(0.99, 'koord_manager_webhook_webhook_duration_milliseconds', 'plugin_name'), '{{plugin_name}}')),
    Panel('Leader', 'short', ('koordinator_manager_is_leader', '{{instance}}')),
    *queue_panels(MANAGER), *client_panels(MANAGER),
]

SCHEDULING = [
    Panel('Attempts', 'ops', (rate('scheduler_schedule_attempts_total', 'result'), '{{result}}')),
    Panel('Pods that wait', 'short', ('sum by (queue) (scheduler_pending_pods)', '{{queue}}')),
    Panel('Attempt duration', 's',
          (quantile(0.5, 'scheduler_scheduling_attempt_duration_seconds', where='result="scheduled"'), '50 %'),
          (quantile(0.99, 'scheduler_scheduling_attempt_duration_seconds', where='result="scheduled"'), '99 %')),
    Panel('From creation to a node', 's',
          (quantile(0.5, 'scheduler_pod_scheduling_sli_duration_seconds'), '50 %'),
          (quantile(0.99, 'scheduler_pod_scheduling_sli_duration_seconds'), '99 %')),
    Panel('Extension points, 99 %', 's',
          (quantile(0.99, 'scheduler_framework_extension_point_duration_seconds', 'extension_point'), '{{extension_point}}')),
    Panel('Plugins, 99 %', 's',
          (f'topk(10, {quantile(0.99, "scheduler_plugin_execution_duration_seconds", "plugin, extension_point")})',
           '{{plugin}} {{extension_point}}')),
    Panel('Why pods wait', 'short', ('sum by (plugin) (scheduler_unschedulable_pods)', '{{plugin}}'),
          empty='while every pod finds a node'),
    Panel('Nodes evaluated and feasible, half of the pods', 'short',
          (quantile(0.5, 'scheduler_pod_scheduling_evaluated_nodes'), 'evaluated'),
          (quantile(0.5, 'scheduler_pod_scheduling_feasible_nodes'), 'feasible')),
    Panel('Queue: pods that come in', 'ops', (rate('scheduler_queue_incoming_pods_total', 'queue, event'), '{{queue}} {{event}}')),
    Panel('Preemption', 'ops', ('rate(scheduler_preemption_attempts_total[%s])' % RATE, 'attempts'),
          (f'rate(scheduler_preemption_victims_sum[{RATE}])', 'victims')),
    Panel('Cache', 'short', ('sum by (type) (scheduler_cache_size)', '{{type}}')),
    Panel('Events handled, 99 %', 's', (quantile(0.99, 'scheduler_event_handling_duration_seconds', 'event'), '{{event}}')),
    Panel('Quotas: used and runtime CPU', 'short',
          ('sum by (name, field) (scheduler_elastic_quota_status{resource="cpu",field=~"used|runtime"}) / 1000',
           '{{name}} {{field}}')),
    Panel('Gangs that wait', 'short', ('sum(scheduler_waiting_gang_group_number)', 'gangs')),
    Panel('Reservations', 'short', ('sum by (phase) (scheduler_reservation_status_phase)', '{{phase}}'),
          empty='where there is no Reservation'),
    Panel('Configuration read again', 'ops', (rate('koord_scheduler_config_reloads_total', 'result'), '{{result}}')),
    *client_panels(SCHEDULER),
]

DESCHEDULING = [
    Panel('Rounds', 'ops', (rate('koord_descheduler_rounds_total', 'result'), '{{result}}')),
    Panel('Duration of a round', 's', (quantile(0.5, 'koord_descheduler_round_duration_seconds'), '50 %'),
          (quantile(0.99, 'koord_descheduler_round_duration_seconds'), '99 %')),
    Panel('Evictions', 'ops', (rate('descheduler_pods_evicted', 'strategy, result'), '{{strategy}} {{result}}'),
          empty='before the first eviction'),
    Panel('Evictions by node', 'ops', (f'topk(20, {rate("descheduler_pods_evicted", "node")})', '{{node}}'),
          empty='before the first eviction'),
    Panel('Configuration read again', 'ops', (rate('koord_descheduler_config_reloads_total', 'result'), '{{result}}')),
    Panel('Replicas that answer', 'short', (f'sum(up{{job=~"{DESCHEDULER}"}})', 'replicas')),
    *queue_panels(DESCHEDULER), *client_panels(DESCHEDULER),
]

NODES = [
    Panel('CPU used', 'short', (f'koordlet_node_used_cpu_cores{{{NODE}}}', '{{node}}')),
    Panel('Memory used', 'bytes', (f'koordlet_node_used_memory_bytes{{{NODE}}}', '{{node}}')),
    Panel('Batch and mid resources', 'short', (f'koordlet_node_resource_allocatable{{{NODE}}}', '{{node}} {{resource}}')),
    Panel('Services and best effort', 'short',
          (f'koordlet_be_suppress_ls_used_cpu_cores{{{NODE}}}', 'services {{node}}'),
          (f'koordlet_be_suppress_be_used_cpu_cores{{{NODE}}}', 'best effort {{node}}'),
          (f'koordlet_be_suppress_cpu_cores{{{NODE}}}', 'best effort may use ({{type}}) {{node}}')),
    Panel('CPU pools', 'short', (f'koordlet_cpuset_share_pool_cpu_cores{{{NODE}}}', 'shared {{node}}'),
          (f'koordlet_cpuset_be_share_pool_cpu_cores{{{NODE}}}', 'best effort {{node}}')),
    Panel('Evictions', 'short', (f'sum by (node, reason) (increase(koordlet_pod_eviction{{{NODE}}}[1h]))', '{{node}} {{reason}}')),
    Panel('Batch resources that containers ask for', 'short',
          (f'sum by (node, resource) (koordlet_container_resource_requests{{{NODE}}})', '{{node}} {{resource}}'),
          empty='where no batch pod runs'),
    Panel('CPU burst: quota of containers', 'µs',
          (f'topk(20, koordlet_container_scaled_cfs_quota_us{{{NODE}}})', '{{pod_namespace}}/{{pod_name}} {{container_name}}'),
          empty='before a NodeSLO enables CPU burst, or while no container needs it'),
    Panel('Pressure of pods (PSI)', 'short', (f'topk(20, koordlet_pod_psi{{{NODE}}})', '{{pod_namespace}}/{{pod_name}}'),
          empty='without the gate PSICollector, or on a kernel without PSI'),
    Panel('Cycles and instructions of containers', 'short',
          (f'topk(20, koordlet_container_cpi{{{NODE}}})', '{{pod_namespace}}/{{pod_name}} {{cpi_field}}'),
          empty='without the gate CPICollector, or on a machine without performance counters, as most virtual ones'),
    Panel('Memory bandwidth by class', 'Bps',
          (f'sum by (node, qos) (rate(koordlet_resctrl_memory_bandwidth{{{NODE}}}[{RATE}]))', '{{node}} {{qos}}'),
          empty='without resctrl: a machine without RDT, or its gate'),
    Panel('Last-level cache by class', 'bytes',
          (f'sum by (node, qos) (koordlet_resctrl_llc_occupancy{{{NODE}}})', '{{node}} {{qos}}'),
          empty='without resctrl: a machine without RDT, or its gate'),
    Panel('Kernel files written', 'ops',
          (rate('koordlet_resource_update_duration_milliseconds_count', 'type, status', f'job=~"{KOORDLET}"'), '{{type}} {{status}}'),
          empty='while nothing is to be changed'),
    Panel('Kernel files that somebody else changed', 'ops',
          (rate('koordlet_kernel_file_overwritten_total', 'instance, type'), '{{instance}} {{type}}'),
          empty='while nobody does, which is how it should be'),
    Panel('Runtime hooks', 'ops',
          (rate('koordlet_runtime_hook_invoked_duration_milliseconds_count', 'hook, stage, status', NODE), '{{hook}} {{stage}} {{status}}'),
          empty='without a runtime proxy and without NRI: the reconciler does the work'),
    Panel('Runtime hooks by reconciling', 'ops',
          (rate('koordlet_runtime_hook_reconciler_invoked_duration_milliseconds_count', 'resource_type, status', NODE),
           '{{resource_type}} {{status}}')),
    Panel('Features that cannot work', 'short',
          ('sum by (feature, capability) (koordlet_node_feature_blocked)', '{{feature}} needs {{capability}}'),
          empty='where everything that is on can work'),
    Panel('Collectors that fail', 'ops', (rate('koordlet_collect_failures_total', 'collector'), '{{collector}}')),
    Panel('The kubelet asked', 's', (quantile(0.99, 'koordlet_kubelet_request_duration_seconds'), '99 %')),
    *client_panels(KOORDLET),
]

# File: title, panels, whether it has a choice of nodes.
DASHBOARDS = {
    'koord-colocation': ('koord: co-location', COLOCATION, False),
    'koord-scheduling': ('koord: scheduling', SCHEDULING, False),
    'koord-descheduling': ('koord: descheduling', DESCHEDULING, False),
    'koord-node': ('koord: nodes', NODES, True),
}
WIDE, HIGH = 12, 8  # of a panel, in Grafana's grid of 24 columns


def panel_json(n, panel):
    source = {'type': 'prometheus', 'uid': '${datasource}'}
    about = ' '.join(part for part in (panel.about, panel.empty and f'Empty {panel.empty}.') if part)
    return {
        'id': n + 1, 'type': 'timeseries', 'title': panel.title, 'description': about, 'datasource': source,
        'gridPos': {'x': n % 2 * WIDE, 'y': n // 2 * HIGH, 'w': WIDE, 'h': HIGH},
        'fieldConfig': {'defaults': {'unit': panel.unit, 'custom': {'fillOpacity': 10}}, 'overrides': []},
        'options': {'legend': {'displayMode': 'list', 'placement': 'bottom'}, 'tooltip': {'mode': 'multi', 'sort': 'desc'}},
        'targets': [{'refId': chr(ord('A') + i), 'expr': expr, 'legendFormat': legend, 'datasource': source}
                    for i, (expr, legend) in enumerate(panel.queries)],
    }


def dashboard(name):
    title, panels, by_node = DASHBOARDS[name]
    variables = [{'name': 'datasource', 'type': 'datasource', 'query': 'prometheus', 'label': 'Prometheus'}]
    if by_node:
        variables.append({'name': 'node', 'type': 'query', 'label': 'Node', 'datasource': {'type': 'prometheus', 'uid': '${datasource}'},
                          'query': 'label_values(koordlet_start_time, node)', 'refresh': 2, 'sort': 1, 'multi': True,
                          'includeAll': True, 'allValue': '.*', 'current': {'text': 'All', 'value': '$__all'}})
    return json.dumps({
        'uid': name, 'title': title, 'tags': ['koord'], 'schemaVersion': 39, 'editable': True, 'refresh': '30s',
        'time': {'from': 'now-1h', 'to': 'now'}, 'templating': {'list': variables},
        'panels': [panel_json(i, p) for i, p in enumerate(panels)],
    }, indent=1, ensure_ascii=False) + '\n'
