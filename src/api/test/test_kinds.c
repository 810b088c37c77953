/* test_kinds.c - each Kubernetes kind, with the fields its readers use. Pods are in test_pod.c. */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include "api/core.h"
#include "api/dra.h"
#include "api/event.h"
#include "api/lease.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/policy.h"
#include "api/storage.h"
#include "api/workload.h"

/* const type *name = the object of a kind, until the end of the scope. */
#define OBJECT(type, name, kind, json)                                                     \
    CLEANUP(kobj_unref) struct kobj *name##_obj = fixture_object(*state, &(kind), (json)); \
    const struct type *name = (const struct type *)name##_obj

static void test_node(void **state)
{
    OBJECT(node, n, kind_node,
           "{'metadata':{'name':'n1','labels':{'zone':'z'}},'spec':{'unschedulable':true,"
           "'providerID':'x://1','taints':[{'key':'k','value':'v','effect':'NoSchedule',"
           "'timeAdded':'2026-11-15T18:20:00Z'},{'key':'p','effect':'PreferNoSchedule'}]},"
           "'status':{'capacity':{'cpu':'8','memory':'16Gi'},'allocatable':{'cpu':'7500m',"
           "'pods':'110','kubernetes.io/batch-cpu':'4k'},'conditions':[{'type':'Ready',"
           "'status':'True','lastHeartbeatTime':'2026-11-15T18:20:00Z'}],"
           "'addresses':[{'type':'Hostname','address':'h'},{'type':'InternalIP','address':"
           "'10.0.0.1'},{'type':'InternalIP','address':'fd::1'}],"
           "'daemonEndpoints':{'kubeletEndpoint':{'Port':10250}},"
           "'nodeInfo':{'kernelVersion':'6.1','architecture':'amd64','machineID':'m'},"
           "'images':[{'names':['a@sha256:1','a:latest'],'sizeBytes':1234}]}}");

    assert_true(n->spec.unschedulable);
    assert_int_equal(n->spec.taints.n, 2);
    assert_int_equal(n->spec.taints.items[0].effect, TAINT_NO_SCHEDULE);
    assert_int_equal(qty_milli(reslist_get(&n->status.allocatable, "cpu")), 7500);
    assert_int_equal(qty_value(reslist_get(&n->status.capacity, "memory")), INT64_C(16) << 30);
    assert_true(condition_is_true(&n->status.conditions, "Ready"));
    assert_false(condition_is_true(&n->status.conditions, "MemoryPressure"));
    assert_string_equal(node_address(n, "InternalIP"), "10.0.0.1");
    assert_null(node_address(n, "ExternalIP"));
    assert_int_equal(n->status.kubelet_port, 10250);
    assert_string_equal(n->status.node_info.kernel_version, "6.1");
    assert_string_equal(n->status.images.items[0].names.items[1], "a:latest");
    assert_int_equal(n->status.images.items[0].size_bytes, 1234);
}

static void test_small_core_kinds(void **state)
{
    OBJECT(namespace, ns, kind_namespace,
           "{'metadata':{'name':'x','labels':{'a':'b'}},'status':{'phase':'Active'}}");
    OBJECT(configmap, cm, kind_configmap,
           "{'metadata':{'name':'x'},'data':{'b':'2','a':'1'},'binaryData':{'z':'AAE='}}");
    OBJECT(secret, s, kind_secret,
           "{'metadata':{'name':'x'},'type':'kubernetes.io/tls','data':{'tls.crt':'QQ=='}}");
    OBJECT(service, svc, kind_service,
           "{'metadata':{'name':'x'},'spec':{'selector':{'app':'web'},'type':'ClusterIP'}}");

    assert_string_equal(ns->phase, "Active");
    assert_string_equal(cm->data.items[0].key, "a");
    assert_string_equal(kstrmap_get(&cm->binary_data, "z"), "AAE=");
    assert_string_equal(s->type, "kubernetes.io/tls");
    assert_string_equal(kstrmap_get(&s->data, "tls.crt"), "QQ==");
    assert_string_equal(kstrmap_get(&svc->selector, "app"), "web");
}

static void test_lease(void **state)
{
    OBJECT(lease, l, kind_lease,
           "{'metadata':{'name':'x'},'spec':{'holderIdentity':'me','leaseDurationSeconds':15,"
           "'acquireTime':'2026-11-15T18:20:00.000001Z','renewTime':"
           "'2026-11-15T18:20:01.500000Z','leaseTransitions':0}}");
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    assert_string_equal(l->spec.holder_identity, "me");
    assert_int_equal(l->spec.lease_duration_seconds.v, 15);
    assert_int_equal(l->spec.renew_time - l->spec.acquire_time, 1499999 * NSEC_PER_USEC);
    assert_true(l->spec.lease_transitions.set);
    kj_encode(&lease_spec_schema, &l->spec, &out);
    assert_contains(strbuf_str(&out), "\"renewTime\":\"2026-11-15T18:20:01.500000Z\"");
}

static void test_events_of_both_groups(void **state)
{
    OBJECT(event, e, kind_event,
           "{'metadata':{'name':'x'},'eventTime':'2026-11-15T18:20:00.000001Z','series':"
           "{'count':2,'lastObservedTime':'2026-11-15T18:20:00.000001Z'},'reportingController':"
           "'koord-scheduler','reportingInstance':'i','action':'Binding','reason':'Scheduled',"
           "'regarding':{'kind':'Pod','namespace':'ns','name':'p','uid':'u'},'note':'hello',"
           "'type':'Normal'}");
    OBJECT(event, c, kind_core_event,
           "{'metadata':{'name':'x'},'involvedObject':{'kind':'Pod','name':'p'},'reason':'R',"
           "'message':'hello','source':{'component':'kubelet','host':'n1'},'count':4,"
           "'firstTimestamp':'2026-11-15T18:20:00Z','lastTimestamp':'2026-11-15T18:21:00Z',"
           "'reportingComponent':'kubelet'}");

    assert_string_equal(e->regarding.name, "p");
    assert_int_equal(e->series->count, 2);
    assert_string_equal(e->note, "hello");
    assert_string_equal(e->reporting_controller, "koord-scheduler");
    assert_null(e->related);
    assert_string_equal(c->note, "hello");
    assert_string_equal(c->source.host, "n1");
    assert_int_equal(c->count, 4);
    assert_null(c->series);
    assert_string_equal(c->reporting_controller, "kubelet");
}

static void test_policy_kinds(void **state)
{
    OBJECT(pdb, p, kind_pdb,
           "{'metadata':{'name':'x'},'spec':{'selector':{'matchLabels':{'a':'b'}},"
           "'maxUnavailable':0,'minAvailable':'30%'},'status':{'disruptionsAllowed':1,"
           "'currentHealthy':3,'desiredHealthy':2,'expectedPods':3,'disruptedPods':"
           "{'p':'2026-11-15T18:20:00Z'}}}");
    OBJECT(pdb, none, kind_pdb, "{'metadata':{'name':'x'},'spec':{}}");
    OBJECT(priority_class_obj, pc, kind_priority_class,
           "{'metadata':{'name':'x'},'value':9500,'globalDefault':true,"
           "'preemptionPolicy':'Never'}");

    assert_string_equal(p->spec.max_unavailable, "0");
    assert_string_equal(p->spec.min_available, "\"30%\"");
    assert_null(none->spec.max_unavailable);
    assert_null(none->spec.selector);
    assert_int_equal(p->status.disruptions_allowed, 1);
    assert_string_equal(p->status.disrupted_pods.items[0].name, "p");
    assert_that(p->status.disrupted_pods.items[0].since, >, 0);
    assert_int_equal(pc->value, 9500);
    assert_true(pc->global_default);
    assert_int_equal(pc->preemption_policy, PREEMPT_NEVER);
}

static void test_workloads(void **state)
{
    OBJECT(workload, d, kind_deployment,
           "{'metadata':{'name':'x'},'spec':{'replicas':3,'selector':{'matchLabels':"
           "{'a':'b'}}},'status':{'replicas':4,'readyReplicas':2}}");
    OBJECT(workload, rs, kind_replicaset, "{'metadata':{'name':'x'},'spec':{}}");
    OBJECT(workload, rc, kind_replicationcontroller,
           "{'metadata':{'name':'x'},'spec':{'replicas':0,'selector':{'a':'b'}}}");
    OBJECT(workload, ds, kind_daemonset,
           "{'metadata':{'name':'x'},'status':{'desiredNumberScheduled':7,'numberReady':6}}");
    OBJECT(workload, j, kind_job,
           "{'metadata':{'name':'x'},'spec':{'parallelism':5,'completions':10,'suspend':true},"
           "'status':{'active':4,'succeeded':1}}");

    assert_int_equal(workload_replicas(d), 3);
    assert_int_equal(d->status.ready, 2);
    assert_string_equal(kstrmap_get(&d->spec.selector.match_labels, "a"), "b");
    assert_int_equal(workload_replicas(rs), 1);
    assert_int_equal(workload_replicas(rc), 0);
    assert_string_equal(kstrmap_get(&rc->spec.selector.match_labels, "a"), "b");
    assert_int_equal(workload_replicas(ds), 7);
    assert_int_equal(workload_replicas(j), 5);
    assert_int_equal(j->spec.completions.v, 10);
    assert_true(j->spec.paused);
}

static void test_volumes_and_claims(void **state)
{
    OBJECT(pv, v, kind_pv,
           "{'metadata':{'name':'x'},'spec':{'capacity':{'storage':'10Gi'},'accessModes':"
           "['ReadWriteOnce'],'claimRef':{'namespace':'ns','name':'c','uid':'u'},"
           "'storageClassName':'fast','csi':{'driver':'d','volumeHandle':'h'},"
           "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone',"
           "'operator':'In','values':['a']}]}]}}},'status':{'phase':'Bound'}}");
    OBJECT(pvc, c, kind_pvc,
           "{'metadata':{'name':'x'},'spec':{'accessModes':['ReadWriteOncePod'],'resources':"
           "{'requests':{'storage':'5Gi'}},'volumeName':'v','storageClassName':''},"
           "'status':{'phase':'Pending'}}");
    OBJECT(pvc, none, kind_pvc, "{'metadata':{'name':'x'},'spec':{}}");

    assert_string_equal(v->spec.claim_ref->name, "c");
    assert_string_equal(v->spec.csi->volume_handle, "h");
    assert_string_equal(v->spec.node_affinity->terms.items[0].match_expressions.items[0].key,
                        "zone");
    assert_string_equal(v->phase, "Bound");
    assert_int_equal(qty_value(reslist_get(&c->spec.requests, "storage")), INT64_C(5) << 30);
    assert_string_equal(c->spec.storage_class_name, "");
    assert_null(none->spec.storage_class_name);
    assert_null(none->spec.selector);
}

static void test_storage_kinds(void **state)
{
    OBJECT(storage_class, sc, kind_storage_class,
           "{'metadata':{'name':'x'},'provisioner':'p','volumeBindingMode':"
           "'WaitForFirstConsumer','allowedTopologies':[{'matchLabelExpressions':[{'key':'zone',"
           "'values':['a','b']}]}]}");
    OBJECT(csi_node, cn, kind_csi_node,
           "{'metadata':{'name':'x'},'spec':{'drivers':[{'name':'d','nodeID':'i','topologyKeys':"
           "['k'],'allocatable':{'count':39}},{'name':'e','nodeID':'j'}]}}");
    OBJECT(csi_driver, cd, kind_csi_driver,
           "{'metadata':{'name':'x'},'spec':{'storageCapacity':true}}");
    OBJECT(csi_storage_capacity, cap, kind_csi_storage_capacity,
           "{'metadata':{'name':'x'},'storageClassName':'s','capacity':'1Ti','nodeTopology':"
           "{'matchLabels':{'zone':'a'}}}");
    OBJECT(volume_attachment, va, kind_volume_attachment,
           "{'metadata':{'name':'x'},'spec':{'attacher':'d','nodeName':'n1','source':"
           "{'persistentVolumeName':'v'}},'status':{'attached':true}}");

    assert_int_equal(sc->volume_binding_mode, BINDING_WAIT_FOR_FIRST_CONSUMER);
    assert_int_equal(sc->allowed_topologies.items[0].expressions.items[0].values.n, 2);
    assert_int_equal(cn->drivers.items[0].count.v, 39);
    assert_false(cn->drivers.items[1].count.set);
    assert_true(cd->storage_capacity.set && cd->storage_capacity.v);
    assert_false(cd->attach_required.set);
    assert_int_equal(qty_value(*cap->capacity), INT64_C(1) << 40);
    assert_null(cap->maximum_volume_size);
    assert_string_equal(va->pv_name, "v");
    assert_string_equal(va->node_name, "n1");
    assert_null(va->inline_csi);
    assert_true(va->attached);
}

static void test_claims(void **state)
{
    OBJECT(resource_claim, rc, kind_resource_claim,
           "{'metadata':{'name':'x'},'spec':{'devices':{'requests':[{'name':'gpu','exactly':"
           "{'deviceClassName':'gpu.example.com','count':2,'allocationMode':'ExactCount',"
           "'selectors':[{'cel':{'expression':'true'}},{}],'capacity':{'requests':{'m':'1Gi'}}}},"
           "{'name':'any','firstAvailable':[{'name':'a','deviceClassName':'c',"
           "'allocationMode':'All'}]}],'constraints':[{'matchAttribute':'d/a'}],'config':"
           "[{'opaque':{'driver':'d','parameters':{'a':[1]}}}]}},'status':{'allocation':"
           "{'nodeSelector':{'nodeSelectorTerms':[]},'devices':{'results':[{'request':'any/a',"
           "'driver':'d','pool':'p','device':'g','adminAccess':true}]}},"
           "'reservedFor':[{'resource':'pods','name':'p','uid':'u'}]}}");
    OBJECT(resource_claim, idle, kind_resource_claim, "{'metadata':{'name':'x'},'status':{}}");
    const struct device_request *r = rc->spec.devices.requests.items;

    assert_string_equal(r[0].exactly->device_class_name, "gpu.example.com");
    assert_int_equal(r[0].exactly->count, 2);
    assert_string_equal(r[0].exactly->selectors.items[0].cel->expression, "true");
    assert_null(r[0].exactly->selectors.items[1].cel);
    assert_int_equal(qty_value(reslist_get(&r[0].exactly->capacity.requests, "m")), 1 << 30);
    assert_null(r[1].exactly);
    assert_string_equal(r[1].first_available.items[0].allocation_mode, "All");
    assert_string_equal(rc->spec.devices.constraints.items[0].match_attribute, "d/a");
    assert_null(rc->spec.devices.constraints.items[0].distinct_attribute);
    assert_string_equal(rc->spec.devices.config.items[0].opaque->parameters, "{\"a\":[1]}");
    assert_non_null(rc->status.allocation->node_selector);
    assert_true(rc->status.allocation->devices.results.items[0].admin_access.v);
    assert_string_equal(rc->status.reserved_for.items[0].name, "p");
    assert_true(claim_is_reserved_for(rc, kuid_parse("u", 1)));
    assert_false(claim_is_reserved_for(rc, kuid_parse("v", 1)));
    assert_null(idle->status.allocation);
}

/* What the allocator writes is what it would read. */
static void test_allocations_are_written_as_read(void **state)
{
    static const char text[] =
        "{\"devices\":{\"results\":[{\"request\":\"r\",\"driver\":\"d\",\"pool\":\"p\","
        "\"device\":\"g\",\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}],"
        "\"shareID\":\"s\",\"consumedCapacity\":{\"m\":\"1Gi\"}}],\"config\":[{\"source\":"
        "\"FromClass\",\"requests\":[\"r\"],\"opaque\":{\"driver\":\"d\",\"parameters\":{}}}]},"
        "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\","
        "\"operator\":\"In\",\"values\":[\"n\"]}]}]}}";
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct claim_allocation got;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(
        kj_decode_text(&claim_allocation_schema, text, sizeof text - 1, KJ_STRICT, a, &got, &err),
        0);
    kj_encode(&claim_allocation_schema, &got, &out);
    assert_string_equal(strbuf_str(&out), text);
}

static void test_claim_templates(void **state)
{
    OBJECT(resource_claim_template, t, kind_resource_claim_template,
           "{'metadata':{'name':'x'},'spec':{'metadata':{'labels':{'a':'b'}},'spec':{'devices':"
           "{'later':[]}}}}");

    assert_string_equal(kstrmap_get(&t->labels, "a"), "b");
    assert_string_equal(t->spec, "{\"devices\":{\"later\":[]}}");
}

static void test_devices(void **state)
{
    OBJECT(resource_slice, rs, kind_resource_slice,
           "{'metadata':{'name':'x'},'spec':{'driver':'d','pool':{'name':'p','generation':3,"
           "'resourceSliceCount':2},'allNodes':true,'sharedCounters':[{'name':'s','counters':"
           "{'m':{'value':'4'}}}],'devices':[{'name':'g','attributes':{'model':{'string':'a100'},"
           "'b':{'bool':false},'i':{'int':-1},'v':{'version':'1.0.0'}},'capacity':{'m':{'value':"
           "'80Gi','requestPolicy':{'default':'1Gi','validValues':['1Gi','2Gi'],'validRange':"
           "{'min':'1'}}}},'consumesCounters':[{'counterSet':'s','counters':{'m':{'value':'1'}}}],"
           "'taints':[{'key':'k','effect':'NoExecute'}],'bindingConditions':['up']}]}}");
    OBJECT(device_class, dc, kind_device_class,
           "{'metadata':{'name':'c'},'spec':{'selectors':[{'cel':{'expression':'true'}}],"
           "'config':[{'opaque':{'driver':'d','parameters':{}}}],'extendedResourceName':'e/r'}}");
    OBJECT(device_taint_rule, rule, kind_device_taint_rule,
           "{'metadata':{'name':'r'},'spec':{'deviceSelector':{'pool':'p'},'taint':{'key':'k',"
           "'effect':'NoSchedule'}}}");
    const struct slice_device *d = rs->spec.devices.items;

    assert_string_equal(rs->spec.pool.name, "p");
    assert_int_equal(rs->spec.pool.generation, 3);
    assert_int_equal(rs->spec.pool.slice_count, 2);
    assert_null(rs->spec.node_name);
    assert_true(rs->spec.all_nodes.v);
    assert_string_equal(rs->spec.shared_counters.items[0].counters.items[0].name, "m");
    assert_string_equal(d->attributes.items[2].name, "model"); /* sorted */
    assert_string_equal(d->attributes.items[2].value.string_value, "a100");
    assert_null(d->attributes.items[2].value.version_value);
    assert_int_equal(d->attributes.items[1].value.int_value.v, -1);
    assert_int_equal(d->capacity.items[0].value.policy->valid_values.n, 2);
    assert_null(d->capacity.items[0].value.policy->valid_range->max);
    assert_string_equal(d->consumes_counters.items[0].name, "s");
    assert_int_equal(d->taints.items[0].effect, DEVICE_TAINT_NO_EXECUTE);
    assert_string_equal(d->binding_conditions.items[0], "up");
    assert_string_equal(dc->spec.selectors.items[0].cel->expression, "true");
    assert_string_equal(dc->spec.extended_resource_name, "e/r");
    assert_null(rule->spec.selector->driver);
    assert_string_equal(rule->spec.selector->pool, "p");
    assert_int_equal(rule->spec.taint.effect, DEVICE_TAINT_NO_SCHEDULE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_node),
        FIXTURE_TEST(test_small_core_kinds),
        FIXTURE_TEST(test_lease),
        FIXTURE_TEST(test_events_of_both_groups),
        FIXTURE_TEST(test_policy_kinds),
        FIXTURE_TEST(test_workloads),
        FIXTURE_TEST(test_volumes_and_claims),
        FIXTURE_TEST(test_storage_kinds),
        FIXTURE_TEST(test_claims),
        cmocka_unit_test(test_allocations_are_written_as_read),
        FIXTURE_TEST(test_claim_templates),
        FIXTURE_TEST(test_devices),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
