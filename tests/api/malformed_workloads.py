"""malformed_workloads.py - workloads that a server refuses, field by field; see malformed.py for how to read a row."""
from client import check, deployment, job, template
from malformed import APPS, JOBS, refuse_new

# ---- workloads ----

BROKEN = {'matchExpressions': [{'key': 'app', 'operator': 'X'}]}

refuse_new('deployment', f'{APPS}/deployments', deployment('x'), 'spec', [
    ('is_empty', {'selector': None, 'template': None},
     '422 Invalid: Invalid spec.template.metadata.labels, Required spec.selector, '
     'Required spec.template.spec.containers'),
    ('selector_is_empty', {'selector': {}}, '422 Invalid: Invalid spec.selector'),
    ('selector_operator_is_unknown', {'selector': BROKEN},
     '422 Invalid: Invalid spec.selector, Invalid spec.selector.matchExpressions[0].operator'),
    ('selector_in_without_values', {'selector': {'matchExpressions': [{'key': 'app', 'operator': 'In'}]}},
     '422 Invalid: Invalid spec.selector, Required spec.selector.matchExpressions[0].values'),
    ('selector_value_is_bad', {'selector': {'matchLabels': {'app': 'b c'}}},
     '422 Invalid: Invalid spec.selector, Invalid spec.selector.matchLabels'),
    ('selector_does_not_match', {'selector': {'matchLabels': {'app': 'y'}}},
     '422 Invalid: Invalid spec.template.metadata.labels'),
    ('template_is_empty', {'template': {}},
     '422 Invalid: Invalid spec.template.metadata.labels, Required spec.template.spec.containers'),
    ('replicas_are_a_word', {'replicas': 'x'}, '400 BadRequest'),
    ('replicas_are_negative', {'replicas': -1}, '422 Invalid: Invalid spec.replicas'),
    ('replicas_are_too_many', {'replicas': 1 << 40}, '400 BadRequest'),
    ('min_ready_is_negative', {'minReadySeconds': -1}, '422 Invalid: Invalid spec.minReadySeconds'),
    ('history_is_negative', {'revisionHistoryLimit': -1}, '422 Invalid: Invalid spec.revisionHistoryLimit'),
    ('deadline_is_below_min_ready', {'progressDeadlineSeconds': 5, 'minReadySeconds': 10},
     '422 Invalid: Invalid spec.progressDeadlineSeconds'),
    ('strategy_is_unknown', {'strategy': {'type': 'X'}}, '422 Invalid: NotSupported spec.strategy'),
    ('strategy_recreate_with_rolling', {'strategy': {'type': 'Recreate', 'rollingUpdate': {'maxSurge': 1}}},
     '422 Invalid: Forbidden spec.strategy.rollingUpdate'),
    ('unavailable_is_above_all', {'strategy': {'rollingUpdate': {'maxUnavailable': '200%'}}},
     '422 Invalid: Invalid spec.strategy.rollingUpdate.maxUnavailable'),
    ('unavailable_is_a_word', {'strategy': {'rollingUpdate': {'maxUnavailable': 'x'}}},
     '422 Invalid: Invalid spec.strategy.rollingUpdate.maxUnavailable'),
    ('surge_is_a_negative_string', {'strategy': {'rollingUpdate': {'maxSurge': '-1'}}},
     '422 Invalid: Invalid spec.strategy.rollingUpdate.maxSurge'),
    ('surge_and_unavailable_are_zero', {'strategy': {'rollingUpdate': {'maxSurge': 0, 'maxUnavailable': 0}}},
     '422 Invalid: Invalid spec.strategy.rollingUpdate.maxUnavailable'),
    ('paused_is_a_string', {'paused': 'x'}, '400 BadRequest'),
    ('template_restarts_on_failure', {'template.spec.restartPolicy': 'OnFailure'},
     '422 Invalid: NotSupported spec.template.spec.restartPolicy'),
    ('template_has_a_deadline', {'template.spec.activeDeadlineSeconds': 5},
     '422 Invalid: Forbidden spec.template.spec.activeDeadlineSeconds'),
    ('template_label_is_bad', {'template.metadata.labels': {'app': 'x', 'a b': 'c'}},
     '422 Invalid: Invalid spec.template.labels'),
    ('template_container_without_an_image', {'template.spec.containers': [{'name': 'c'}]},
     '422 Invalid: Required spec.template.spec.containers[0].image'),
])

refuse_new('replica_set', f'{APPS}/replicasets', deployment('x') | {'kind': 'ReplicaSet'}, 'spec', [
    ('is_empty', {'selector': None, 'template': None},
     '422 Invalid: Invalid spec.template.metadata.labels, Required spec.selector, '
     'Required spec.template.spec.containers'),
    ('selector_is_empty', {'selector': {}}, '422 Invalid: Invalid spec.selector'),
    ('selector_operator_is_unknown', {'selector': BROKEN},
     '422 Invalid: Invalid spec.selector, Invalid spec.selector.matchExpressions[0].operator'),
    ('selector_in_without_values', {'selector': {'matchExpressions': [{'key': 'app', 'operator': 'In'}]}},
     '422 Invalid: Invalid spec.selector, Required spec.selector.matchExpressions[0].values'),
    ('selector_value_is_bad', {'selector': {'matchLabels': {'app': 'b c'}}},
     '422 Invalid: Invalid spec.selector, Invalid spec.selector.matchLabels'),
    ('replicas_are_negative', {'replicas': -1}, '422 Invalid: Invalid spec.replicas'),
    ('template_is_empty', {'template': {}},
     '422 Invalid: Invalid spec.template.metadata.labels, Required spec.template.spec.containers'),
])

# Its pods have its name, and so have their host names.
refuse_new('stateful_set_name', f'{APPS}/statefulsets', deployment('x') | {'kind': 'StatefulSet'}, 'metadata', [
    ('has_a_dot', {'name': 'a.b'}, '422 Invalid: Invalid metadata.name'),
    ('is_too_long', {'name': 'a' * 64}, '422 Invalid: Invalid metadata.name'),
])

refuse_new('stateful_set', f'{APPS}/statefulsets', deployment('x') | {'kind': 'StatefulSet'}, 'spec', [
    ('is_empty', {'selector': None, 'template': None},
     '422 Invalid: Invalid spec.template.metadata.labels, Required spec.selector, '
     'Required spec.template.spec.containers'),
    ('selector_is_empty', {'selector': {}}, '422 Invalid: Invalid spec.selector'),
    ('selector_operator_is_unknown', {'selector': BROKEN},
     '422 Invalid: Invalid spec.selector, Invalid spec.selector.matchExpressions[0].operator'),
    ('selector_in_without_values', {'selector': {'matchExpressions': [{'key': 'app', 'operator': 'In'}]}},
     '422 Invalid: Invalid spec.selector, Required spec.selector.matchExpressions[0].values'),
    ('selector_value_is_bad', {'selector': {'matchLabels': {'app': 'b c'}}},
     '422 Invalid: Invalid spec.selector, Invalid spec.selector.matchLabels'),
    ('replicas_are_negative', {'replicas': -1}, '422 Invalid: Invalid spec.replicas'),
    ('template_is_empty', {'template': {}},
     '422 Invalid: Invalid spec.template.metadata.labels, Required spec.template.spec.containers'),
    ('management_policy_is_unknown', {'podManagementPolicy': 'X'}, '422 Invalid: Invalid spec.podManagementPolicy'),
    ('strategy_is_unknown', {'updateStrategy': {'type': 'X'}}, '422 Invalid: Invalid spec.updateStrategy'),
    ('partition_is_negative', {'updateStrategy': {'type': 'RollingUpdate', 'rollingUpdate': {'partition': -1}}},
     '422 Invalid: Invalid spec.updateStrategy.rollingUpdate.partition'),
    ('rolling_with_on_delete', {'updateStrategy': {'type': 'OnDelete', 'rollingUpdate': {'partition': 1}}},
     '422 Invalid: Invalid spec.updateStrategy.rollingUpdate'),
    ('claim_template_is_empty', {'volumeClaimTemplates': [{}]},
     '422 Invalid: Required spec.template.spec.volumes[0].name, '
     'Required spec.template.spec.volumes[0].persistentVolumeClaim.claimName, '
     'Required spec.volumeClaimTemplates[0].spec.accessModes, '
     'Required spec.volumeClaimTemplates[0].spec.resources[storage]'),
    ('claim_template_without_a_size', {'volumeClaimTemplates': [
        {'metadata': {'name': 'v'}, 'spec': {'accessModes': ['ReadWriteOnce']}}]},
     '422 Invalid: Required spec.volumeClaimTemplates[0].spec.resources[storage]'),
    ('claim_template_mode_is_unknown', {'volumeClaimTemplates': [
        {'metadata': {'name': 'v'}, 'spec': {'accessModes': ['X'], 'resources': {'requests': {'storage': '1Gi'}}}}]},
     '422 Invalid: NotSupported spec.volumeClaimTemplates[0].spec.accessModes'),
    ('claim_template_name_is_bad', {'volumeClaimTemplates': [
        {'metadata': {'name': 'Bad_'},
         'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}}]},
     '422 Invalid: Invalid spec.template.spec.volumes[0].name'),
    ('retention_is_unknown', {'persistentVolumeClaimRetentionPolicy': {'whenDeleted': 'X'}},
     '422 Invalid: NotSupported spec.persistentVolumeClaimRetentionPolicy.whenDeleted'),
    ('service_name_is_bad', {'serviceName': 'Bad_'}, '422 Invalid: Invalid spec.serviceName'),
    ('ordinals_start_is_negative', {'ordinals': {'start': -1}}, '422 Invalid: Invalid spec.ordinals.start'),
])

refuse_new('daemon_set', f'{APPS}/daemonsets', deployment('x') | {'kind': 'DaemonSet'}, 'spec', [
    ('is_empty', {'selector': None, 'template': None},
     '422 Invalid: Invalid spec.template.metadata.labels, Required spec.template.spec.containers'),
    ('selector_is_empty', {'selector': {}}, '422 Invalid: Invalid spec.selector'),
    ('selector_operator_is_unknown', {'selector': BROKEN},
     '422 Invalid: Invalid spec.selector.matchExpressions[0].operator'),
    ('selector_in_without_values', {'selector': {'matchExpressions': [{'key': 'app', 'operator': 'In'}]}},
     '422 Invalid: Required spec.selector.matchExpressions[0].values'),
    ('selector_value_is_bad', {'selector': {'matchLabels': {'app': 'b c'}}},
     '422 Invalid: Invalid spec.selector.matchLabels'),
    ('strategy_is_unknown', {'updateStrategy': {'type': 'X'}}, '422 Invalid: NotSupported spec.updateStrategy'),
    ('unavailable_is_a_word', {'updateStrategy': {'type': 'RollingUpdate', 'rollingUpdate': {'maxUnavailable': 'x'}}},
     '422 Invalid: Invalid spec.updateStrategy.rollingUpdate.maxUnavailable, '
     'Required spec.updateStrategy.rollingUpdate.maxUnavailable'),
    ('unavailable_is_zero', {'updateStrategy': {'type': 'RollingUpdate', 'rollingUpdate': {'maxUnavailable': 0}}},
     '422 Invalid: Required spec.updateStrategy.rollingUpdate.maxUnavailable'),
    ('surge_and_unavailable', {'updateStrategy': {'rollingUpdate': {'maxUnavailable': 1, 'maxSurge': 1}}},
     '422 Invalid: Invalid spec.updateStrategy.rollingUpdate.maxSurge'),
    ('unavailable_is_above_all', {'updateStrategy': {'rollingUpdate': {'maxUnavailable': '200%'}}},
     '422 Invalid: Invalid spec.updateStrategy.rollingUpdate.maxUnavailable'),
    ('selector_does_not_match', {'selector': {'matchLabels': {'app': 'y'}}},
     '422 Invalid: Invalid spec.template.metadata.labels'),
    ('min_ready_is_negative', {'minReadySeconds': -1}, '422 Invalid: Invalid spec.minReadySeconds'),
    ('template_is_empty', {'template': {}},
     '422 Invalid: Invalid spec.template.metadata.labels, Required spec.template.spec.containers'),
])

refuse_new('job', JOBS, job('x'), 'spec', [
    ('restart_policy_is_unknown', {'template.spec.restartPolicy': 'x'},
     '422 Invalid: NotSupported spec.template.spec.restartPolicy'),
    ('is_empty', {'template': None},
     '422 Invalid: Required spec.template.spec.containers, Required spec.template.spec.restartPolicy'),
    ('template_is_empty', {'template': {}},
     '422 Invalid: Required spec.template.spec.containers, Required spec.template.spec.restartPolicy'),
    ('restarts_always', {'template': template()}, '422 Invalid: Required spec.template.spec.restartPolicy'),
    ('parallelism_is_negative', {'parallelism': -1}, '422 Invalid: Invalid spec.parallelism'),
    ('completions_are_negative', {'completions': -1}, '422 Invalid: Invalid spec.completions'),
    ('backoff_is_negative', {'backoffLimit': -1}, '422 Invalid: Invalid spec.backoffLimit'),
    ('deadline_is_negative', {'activeDeadlineSeconds': -1}, '422 Invalid: Invalid spec.activeDeadlineSeconds'),
    ('ttl_is_negative', {'ttlSecondsAfterFinished': -1}, '422 Invalid: Invalid spec.ttlSecondsAfterFinished'),
    ('mode_is_unknown', {'completionMode': 'X'}, '422 Invalid: NotSupported spec.completionMode'),
    ('indexed_without_completions', {'completionMode': 'Indexed', 'parallelism': 1},
     '422 Invalid: Required spec.completions'),
    ('indexed_with_too_much_parallelism', {'completionMode': 'Indexed', 'completions': 200000, 'parallelism': 200000},
     '422 Invalid: Invalid spec.parallelism'),
    ('manual_selector_is_missing', {'manualSelector': True},
     '422 Invalid: Invalid spec.template.metadata.labels, Required spec.selector'),
    ('selector_is_not_its_own', {'selector': {'matchLabels': {'app': 'x'}}}, '422 Invalid: Invalid spec.selector'),
    ('suspend_is_a_string', {'suspend': 'x'}, '400 BadRequest'),
    ('replacement_policy_is_unknown', {'podReplacementPolicy': 'X'},
     '422 Invalid: NotSupported spec.podReplacementPolicy'),
    ('per_index_backoff_without_index', {'backoffLimitPerIndex': 1},
     '422 Invalid: Invalid spec.backoffLimitPerIndex'),
    ('failed_indexes_without_per_index_backoff',
     {'completionMode': 'Indexed', 'completions': 2, 'maxFailedIndexes': 1},
     '422 Invalid: Required spec.backoffLimitPerIndex'),
    ('failed_indexes_above_completions',
     {'completionMode': 'Indexed', 'completions': 2, 'backoffLimitPerIndex': 1, 'maxFailedIndexes': 3},
     '422 Invalid: Invalid spec.maxFailedIndexes'),
    ('failure_rule_is_empty', {'podFailurePolicy': {'rules': [{}]}},
     '422 Invalid: Invalid spec.podFailurePolicy.rules[0], Required spec.podFailurePolicy.rules[0].action'),
    ('failure_rule_action_is_unknown', {'podFailurePolicy': {'rules': [
        {'action': 'X', 'onExitCodes': {'operator': 'In', 'values': [1]}}]}},
     '422 Invalid: NotSupported spec.podFailurePolicy.rules[0].action'),
    ('failure_rule_has_two_requirements', {'podFailurePolicy': {'rules': [
        {'action': 'FailJob', 'onExitCodes': {'operator': 'In', 'values': [1]},
         'onPodConditions': [{'type': 'Ready', 'status': 'True'}]}]}},
     '422 Invalid: Invalid spec.podFailurePolicy.rules[0]'),
    ('failure_rule_operator_is_unknown', {'podFailurePolicy': {'rules': [
        {'action': 'FailJob', 'onExitCodes': {'operator': 'X', 'values': [1]}}]}},
     '422 Invalid: NotSupported spec.podFailurePolicy.rules[0].onExitCodes.operator'),
    ('failure_rule_without_codes', {'podFailurePolicy': {'rules': [
        {'action': 'FailJob', 'onExitCodes': {'operator': 'In', 'values': []}}]}},
     '422 Invalid: Invalid spec.podFailurePolicy.rules[0].onExitCodes.values'),
    ('failure_rule_with_code_zero', {'podFailurePolicy': {'rules': [
        {'action': 'FailJob', 'onExitCodes': {'operator': 'In', 'values': [0]}}]}},
     '422 Invalid: Invalid spec.podFailurePolicy.rules[0].onExitCodes.values[0]'),
    ('failure_rule_codes_are_not_sorted', {'podFailurePolicy': {'rules': [
        {'action': 'FailJob', 'onExitCodes': {'operator': 'In', 'values': [2, 1]}}]}},
     '422 Invalid: Invalid spec.podFailurePolicy.rules[0].onExitCodes.values'),
    ('failure_rule_codes_are_there_twice', {'podFailurePolicy': {'rules': [
        {'action': 'FailJob', 'onExitCodes': {'operator': 'In', 'values': [1, 1]}}]}},
     '422 Invalid: Duplicate spec.podFailurePolicy.rules[0].onExitCodes.values[1]'),
    ('failure_rule_names_an_unknown_container', {'podFailurePolicy': {'rules': [
        {'action': 'FailJob', 'onExitCodes': {'containerName': 'z', 'operator': 'In', 'values': [1]}}]}},
     '422 Invalid: Invalid spec.podFailurePolicy.rules[0].onExitCodes.containerName'),
    ('failure_rule_condition_is_bad', {'podFailurePolicy': {'rules': [
        {'action': 'FailJob', 'onPodConditions': [{'type': 'a b', 'status': 'X'}]}]}},
     '422 Invalid: Invalid spec.podFailurePolicy.rules[0].onPodConditions[0].type, '
     'NotSupported spec.podFailurePolicy.rules[0].onPodConditions[0].status'),
    ('failure_rule_index_without_index', {'podFailurePolicy': {'rules': [
        {'action': 'FailIndex', 'onExitCodes': {'operator': 'In', 'values': [1]}}]}},
     '422 Invalid: Invalid spec.podFailurePolicy.rules[0].action'),
    ('failure_policy_with_restarts', {'template.spec.restartPolicy': 'OnFailure', 'podFailurePolicy': {'rules': [
        {'action': 'FailJob', 'onExitCodes': {'operator': 'In', 'values': [1]}}]}},
     '422 Invalid: Invalid spec.template.spec.restartPolicy'),
    ('success_policy_without_index', {'successPolicy': {'rules': [{'succeededCount': 1}]}},
     '422 Invalid: Invalid spec.successPolicy'),
    ('success_policy_without_rules', {'completionMode': 'Indexed', 'completions': 2, 'successPolicy': {}},
     '422 Invalid: Required spec.successPolicy.rules'),
    ('managed_by_is_bad', {'managedBy': 'x'}, '422 Invalid: Invalid spec.managedBy'),
    ('managed_by_is_empty', {'managedBy': ''}, '422 Invalid: Required spec.managedBy'),
    ('managed_by_is_too_long', {'managedBy': 'a.b/' + 'c' * 64}, '422 Invalid: TooLong spec.managedBy'),
    ('more_failed_indexes_than_are_kept',
     {'completionMode': 'Indexed', 'completions': 100000, 'parallelism': 100000, 'backoffLimitPerIndex': 1, 'maxFailedIndexes': 100001},
     '422 Invalid: Invalid spec.maxFailedIndexes'),
    ('many_indexes_that_may_fail_at_once',
     {'completionMode': 'Indexed', 'completions': 100001, 'parallelism': 10001, 'backoffLimitPerIndex': 1, 'maxFailedIndexes': 10001},
     '422 Invalid: Invalid spec.maxFailedIndexes, Invalid spec.parallelism'),
    ('many_indexes_that_may_fail',
     {'completionMode': 'Indexed', 'completions': 100001, 'parallelism': 10000, 'backoffLimitPerIndex': 1, 'maxFailedIndexes': 10000},
     '201 page'),
    ('indexes_of_an_unknown_mode', {'completionMode': 'Sorted', 'backoffLimitPerIndex': 1},
     '422 Invalid: NotSupported spec.completionMode'),
    ('failed_indexes_without_anything', {'maxFailedIndexes': 1},
     '422 Invalid: Invalid spec.maxFailedIndexes, Required spec.backoffLimitPerIndex'),
    ('many_indexes_without_a_bound',
     {'completionMode': 'Indexed', 'completions': 200000, 'parallelism': 1, 'backoffLimitPerIndex': 1},
     '422 Invalid: Required spec.maxFailedIndexes'),
    ('failure_rules_are_too_many', {'podFailurePolicy': {'rules': [
        {'action': 'FailJob', 'onExitCodes': {'operator': 'In', 'values': [1]}}] * 21}},
     '422 Invalid: TooMany spec.podFailurePolicy.rules'),
    ('failure_rule_codes_are_empty', {'podFailurePolicy': {'rules': [{'action': 'FailJob', 'onExitCodes': {}}]}},
     '422 Invalid: Invalid spec.podFailurePolicy.rules[0].onExitCodes.values, '
     'Required spec.podFailurePolicy.rules[0].onExitCodes.operator'),
    ('failure_rule_condition_is_empty', {'podFailurePolicy': {'rules': [
        {'action': 'FailJob', 'onPodConditions': [{}]}]}},
     '422 Invalid: Invalid spec.podFailurePolicy.rules[0].onPodConditions[0].type'),
    ('failure_policy_replaces_the_terminating', {'podReplacementPolicy': 'TerminatingOrFailed', 'podFailurePolicy': {
        'rules': [{'action': 'FailJob', 'onExitCodes': {'operator': 'In', 'values': [1]}}]}},
     '422 Invalid: NotSupported spec.podReplacementPolicy'),
    ('success_rule_is_empty', {'completionMode': 'Indexed', 'completions': 2, 'successPolicy': {'rules': [{}]}},
     '422 Invalid: Required spec.successPolicy.rules[0]'),
    ('success_rule_counts_too_many',
     {'completionMode': 'Indexed', 'completions': 2, 'successPolicy': {'rules': [{'succeededCount': 3}]}},
     '422 Invalid: Invalid spec.successPolicy.rules[0].succeededCount'),
    *[(f'success_rule_{name}', {'completionMode': 'Indexed', 'completions': 5, 'successPolicy': {'rules': [rule]}},
       f'422 Invalid: Invalid spec.successPolicy.rules[0].{field}') for name, rule, field in (
           ('index_is_a_word', {'succeededIndexes': 'a'}, 'succeededIndexes'),
           ('index_is_negative', {'succeededIndexes': '-1'}, 'succeededIndexes'),
           ('index_is_too_large', {'succeededIndexes': '5'}, 'succeededIndexes'),
           ('range_is_too_large', {'succeededIndexes': '0-5'}, 'succeededIndexes'),
           ('range_has_three_ends', {'succeededIndexes': '0-1-2'}, 'succeededIndexes'),
           ('range_goes_down', {'succeededIndexes': '3-1'}, 'succeededIndexes'),
           ('range_is_one', {'succeededIndexes': '1-1'}, 'succeededIndexes'),
           ('indexes_go_down', {'succeededIndexes': '3,1'}, 'succeededIndexes'),
           ('indexes_overlap', {'succeededIndexes': '0-2,2'}, 'succeededIndexes'),
           ('index_is_empty', {'succeededIndexes': '1,,2'}, 'succeededIndexes'),
           ('index_has_a_blank', {'succeededIndexes': '1, 2'}, 'succeededIndexes'),
           ('count_is_negative', {'succeededCount': -1}, 'succeededCount'),
           ('counts_more_than_its_indexes', {'succeededIndexes': '0-1', 'succeededCount': 3}, 'succeededCount'))],
    ('success_rules_are_too_many',
     {'completionMode': 'Indexed', 'completions': 5, 'successPolicy': {'rules': [{'succeededCount': 1}] * 21}},
     '422 Invalid: TooMany spec.successPolicy.rules'),
    ('success_rule_indexes_are_too_long',
     {'completionMode': 'Indexed', 'completions': 100000, 'parallelism': 1,
      'successPolicy': {'rules': [{'succeededIndexes': ','.join(str(i) for i in range(20000))}]}},
     '422 Invalid: TooLong spec.successPolicy.rules[0].succeededIndexes'),
])

CRON = {'metadata': {'name': 'x'}, 'spec': {'schedule': '* * * * *', 'jobTemplate': {'spec': job('x')['spec']}}}
refuse_new('cron_job', '/apis/batch/v1/namespaces/{ns}/cronjobs', CRON, 'spec', [
    ('schedule_is_missing', {'schedule': ''}, '422 Invalid: Required spec.schedule'),
    ('schedule_is_bad', {'schedule': 'bad'}, '422 Invalid: Invalid spec.schedule'),
    *[(f'schedule_{name}', {'schedule': text}, '422 Invalid: Invalid spec.schedule') for name, text in (
        ('has_four_fields', '* * * *'), ('has_six_fields', '* * * * * *'), ('is_blank', '   '),
        ('minute_is_too_large', '60 * * * *'), ('hour_is_too_large', '* 24 * * *'), ('day_is_zero', '* * 0 * *'),
        ('month_is_too_large', '* * * 13 *'), ('weekday_is_too_large', '* * * * 8'), ('minute_is_negative', '-1 * * * *'),
        ('minute_is_a_word', 'x * * * *'), ('month_is_a_word', '* * * foo *'), ('range_goes_down', '5-1 * * * *'),
        ('range_has_three_ends', '1-2-3 * * * *'), ('step_is_zero', '*/0 * * * *'), ('step_is_a_word', '*/x * * * *'),
        ('has_two_steps', '*/1/2 * * * *'), ('word_is_unknown', '@never'),
        ('word_has_no_duration', '@every'), ('duration_is_a_word', '@every x'), ('has_a_cron_zone', 'CRON_TZ=UTC * * * * *'))],
    ('zone_is_empty', {'timeZone': ''}, '422 Invalid: Invalid spec.timeZone'),
    ('zone_is_unknown', {'timeZone': 'Moon/Base'}, '422 Invalid: Invalid spec.timeZone'),
    ('zone_is_local', {'timeZone': 'Local'}, '422 Invalid: Invalid spec.timeZone'),
    ('zone_is_local_in_capitals', {'timeZone': 'LOCAL'}, '422 Invalid: Invalid spec.timeZone'),
    ('zone_leads_out', {'timeZone': '../../etc/passwd'}, '422 Invalid: Invalid spec.timeZone'),
    ('zone_is_a_path', {'timeZone': '/etc/localtime'}, '422 Invalid: Invalid spec.timeZone'),
    ('zone_has_a_blank', {'timeZone': 'Europe/Ber lin'}, '422 Invalid: Invalid spec.timeZone'),
    ('zone_and_schedule_have_one', {'schedule': 'TZ=UTC * * * * *', 'timeZone': 'Etc/UTC'},
     '422 Invalid: Invalid spec.schedule'),
    ('template_has_a_selector', {'jobTemplate.spec.selector': {'matchLabels': {'a': 'b'}}},
     '422 Invalid: Invalid spec.jobTemplate.spec.selector'),
    ('template_selects_by_hand', {'jobTemplate.spec.manualSelector': True},
     '422 Invalid: NotSupported spec.jobTemplate.spec.manualSelector'),
    ('schedule_has_a_zone', {'schedule': 'TZ=UTC * * * * *'}, '422 Invalid: Invalid spec.schedule'),
    ('policy_is_unknown', {'concurrencyPolicy': 'X'}, '422 Invalid: NotSupported spec.concurrencyPolicy'),
    ('history_is_negative', {'successfulJobsHistoryLimit': -1},
     '422 Invalid: Invalid spec.successfulJobsHistoryLimit'),
    ('deadline_is_negative', {'startingDeadlineSeconds': -1}, '422 Invalid: Invalid spec.startingDeadlineSeconds'),
    ('template_is_empty', {'jobTemplate': {}},
     '422 Invalid: Required spec.jobTemplate.spec.template.spec.containers, '
     'Required spec.jobTemplate.spec.template.spec.restartPolicy'),
])

refuse_new('cron_job', '/apis/batch/v1/namespaces/{ns}/cronjobs', CRON, '', [
    ('name_is_too_long', {'metadata.name': 'x' * 53}, '422 Invalid: Invalid metadata.name'),
])


@check
def good_schedules_are_taken(t):
    path = f'/apis/batch/v1/namespaces/{t.ns}/cronjobs'
    for i, (schedule, zone) in enumerate((
            ('*/15 0-6,12 1,15 jan-mar,Dec mon-fri', None), ('@daily', 'Europe/Berlin'), ('@every 1h30m', 'Etc/UTC'),
            ('? ? ? ? ?', 'UTC'), ('5/15 * * * SUN', 'America/Argentina/Ushuaia'), ('0 0 31 2 *', 'Etc/GMT+8'))):
        t.make(path, {'metadata': {'name': f'c{i}'}, 'spec': {**CRON['spec'], 'schedule': schedule,
                                                              **({'timeZone': zone} if zone else {})}})


PDBS = '/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets'
refuse_new('disruption_budget', PDBS, {'metadata': {'name': 'x'}, 'spec': {'selector': {}}}, 'spec', [
    ('available_is_negative', {'minAvailable': -1}, '422 Invalid: Invalid spec.minAvailable'),
    ('available_is_a_word', {'minAvailable': 'x'}, '422 Invalid: Invalid spec.minAvailable'),
    ('available_is_above_all', {'minAvailable': '101%'}, '422 Invalid: Invalid spec.minAvailable'),
    ('both_are_set', {'minAvailable': 1, 'maxUnavailable': 1}, '422 Invalid: Invalid spec'),
    ('eviction_policy_is_unknown', {'minAvailable': 1, 'unhealthyPodEvictionPolicy': 'X'},
     '422 Invalid: NotSupported spec.unhealthyPodEvictionPolicy'),
    ('selector_is_bad', {'minAvailable': 1, 'selector': BROKEN},
     '422 Invalid: Invalid spec.selector.matchExpressions[0].operator'),
    ('selector_is_a_list', {'selector': []}, '400 BadRequest'),
])
