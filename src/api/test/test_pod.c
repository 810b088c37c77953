/* test_pod.c - the two forms of a pod, and what cached pods share. */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include "api/pod.h"
#include "api/share.h"

#define META(name, hash)                                                                     \
    "'metadata':{'name':'" name "','namespace':'ns','uid':'" name "','labels':{'app':'web'," \
    "'pod-template-hash':'" hash "'},'ownerReferences':[{'apiVersion':'apps/v1','kind':"     \
    "'ReplicaSet','name':'rs','uid':'u','controller':true}]},"
#define SPEC(node, token)                                                                   \
    "'spec':{'nodeName':'" node "','schedulerName':'koord-scheduler','priority':9500,"      \
    "'restartPolicy':'Always','hostNetwork':true,'terminationGracePeriodSeconds':30,"       \
    "'nodeSelector':{'disk':'ssd'},'overhead':{'cpu':'10m'},"                               \
    "'containers':[{'name':'app','image':'img','env':[{'name':'X','value':'y'}],"           \
    "'ports':[{'containerPort':80,'hostPort':8080,'protocol':'UDP','hostIP':'127.0.0.1'}]," \
    "'resources':{'requests':{'memory':'1Gi','cpu':'500m'},'limits':{'cpu':'1'}},"          \
    "'volumeMounts':[{'name':'" token "','mountPath':'/x'}]}],"                             \
    "'initContainers':[{'name':'side','restartPolicy':'Always'}],"                          \
    "'tolerations':[{'key':'k','operator':'Exists','effect':'NoExecute',"                   \
    "'tolerationSeconds':300}],'schedulingGates':[{'name':'g'}],"                           \
    "'volumes':[{'name':'" token "','projected':{}},{'name':'tmp','emptyDir':{}},"          \
    "{'name':'data','persistentVolumeClaim':{'claimName':'pvc','readOnly':true}}]},"
#define STATUS(started)                                                                      \
    "'status':{'phase':'Running','qosClass':'Burstable','startTime':'2026-11-15T18:20:00Z'," \
    "'podIPs':[{'ip':'10.0.0.1'}],"                                                          \
    "'extendedResourceClaimStatus':{'resourceClaimName':'a-extended-resources-x',"           \
    "'requestMappings':[]},"                                                                 \
    "'conditions':[{'type':'Ready','status':'True','lastTransitionTime':'" started "'},"     \
    "{'type':'example.com/gate','status':'False','reason':'Waiting','message':'not yet'}],"  \
    "'containerStatuses':[{'name':'app','ready':true,'restartCount':2,"                      \
    "'containerID':'containerd://abc','state':{'running':{'startedAt':'" started "'}},"      \
    "'allocatedResources':{'cpu':'500m'},'resources':{'requests':{'cpu':'500m'}}}]}"

static const char pod_a[] =
    "{" META("a", "h1") SPEC("n1", "tok-a") STATUS("2026-11-15T18:20:01Z") "}";
static const char pod_b[] =
    "{" META("b", "h1") SPEC("n2", "tok-b") STATUS("2026-11-15T18:20:02Z") "}";
static const char pod_c[] =
    "{" META("c", "h2") SPEC("n1", "tok-c") STATUS("2026-11-15T18:20:03Z") "}";

static const struct pod *pod_from(void **state, const char *text)
{
    return pod_of(fixture_object(*state, &kind_pod, text));
}

static void drop(const struct pod *p)
{
    kobj_unref((struct kobj *)(uintptr_t)&p->obj);
}

static void check_spec(const struct pod *p)
{
    const struct pod_spec *s = p->spec;

    assert_string_equal(s->scheduler_name, "koord-scheduler");
    assert_int_equal(pod_priority(p), 9500);
    assert_int_equal(s->restart_policy, RESTART_ALWAYS);
    assert_true(s->host_network);
    assert_int_equal(s->termination_grace_period_seconds.v, 30);
    assert_string_equal(kstrmap_get(&s->node_selector, "disk"), "ssd");
    assert_int_equal(qty_milli(reslist_get(&s->overhead, "cpu")), 10);
    assert_int_equal(s->containers.n, 1);
    assert_string_equal(s->containers.items[0].image, "img");
    assert_int_equal(qty_milli(reslist_get(&s->containers.items[0].resources.requests, "cpu")),
                     500);
    assert_int_equal(s->containers.items[0].ports.items[0].host_port, 8080);
    assert_int_equal(s->containers.items[0].ports.items[0].protocol, PROTOCOL_UDP);
    assert_true(container_is_sidecar(&s->init_containers.items[0]));
    assert_int_equal(s->tolerations.items[0].op, TOL_OP_EXISTS);
    assert_int_equal(s->tolerations.items[0].effect, TAINT_NO_EXECUTE);
    assert_int_equal(s->tolerations.items[0].toleration_seconds.v, 300);
    assert_string_equal(s->scheduling_gates.items[0].name, "g");
    assert_null(s->affinity);
    assert_null(s->resources);
}

static void check_status(const struct pod *p)
{
    const struct container_status *cs = &p->status.container_statuses.items[0];

    assert_int_equal(p->status.phase, POD_RUNNING);
    assert_int_equal(p->status.qos_class, 2);
    assert_false(pod_is_terminal(p));
    assert_true(pod_is_ready(p));
    assert_string_equal(condition_find(&p->status.conditions, "example.com/gate")->reason,
                        "Waiting");
    assert_int_equal(cs->restart_count, 2);
    assert_true(cs->ready);
    assert_null(cs->state.waiting);
    assert_that(cs->state.running->started_at, >, p->status.start_time);
    assert_string_equal(pod_extended_claim(p), "a-extended-resources-x");
    assert_int_equal(qty_milli(reslist_get(&cs->allocated_resources, "cpu")), 500);
    assert_int_equal(qty_milli(reslist_get(&cs->resources->requests, "cpu")), 500);
}

static void test_cached_form_has_what_is_read(void **state)
{
    const struct pod *p = pod_from(state, pod_a);

    assert_string_equal(p->node_name, "n1");
    assert_string_equal(kstrmap_get(&p->obj.meta.labels, "app"), "web");
    assert_string_equal(kobj_controller(&p->obj)->name, "rs");
    check_spec(p);
    check_status(p);
    assert_int_equal(p->volumes.n, 2); /* without the token */
    assert_non_null(p->volumes.items[0].empty_dir);
    assert_string_equal(p->volumes.items[1].claim->claim_name, "pvc");
    assert_null(p->status.container_statuses.items[0].container_id);
    assert_int_equal(p->status.pod_ips.n, 0);
    drop(p);
}

static void test_whole_form_has_everything(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(pod_a);
    struct pod *p = NULL;
    struct kerr err = { 0 };

    assert_int_equal(pod_decode(kj_root(doc), b->arena, &p, &err), 0);
    assert_string_equal(p->node_name, "n1");
    assert_string_equal(kobj_controller(&p->obj)->name, "rs");
    check_spec(p);
    check_status(p);
    assert_int_equal(p->volumes.n, 3);
    assert_string_equal(p->status.container_statuses.items[0].container_id, "containerd://abc");
    assert_string_equal(p->status.pod_ips.items[0].ip, "10.0.0.1");
    assert_ptr_equal(p->obj.kind, &kind_pod);
}

static void test_pods_of_one_template_share_it(void **state)
{
    const struct pod *a = pod_from(state, pod_a), *b = pod_from(state, pod_b);

    assert_ptr_equal(a->spec, b->spec);
    assert_ptr_equal(a->obj.meta.labels.items, b->obj.meta.labels.items);
    assert_ptr_equal(a->obj.meta.owners.items, b->obj.meta.owners.items);
    assert_ptr_equal(a->volumes.items, b->volumes.items);
    assert_string_not_equal(a->node_name, b->node_name);
    assert_int_equal(share_count(), 2);
    drop(a);
    assert_string_equal(kstrmap_get(&b->obj.meta.labels, "app"), "web"); /* still there */
    check_spec(b);
    drop(b);
    assert_int_equal(share_count(), 0);
    assert_int_equal(share_bytes(), 0);
}

static void test_other_labels_share_only_the_shape(void **state)
{
    const struct pod *a = pod_from(state, pod_a), *c = pod_from(state, pod_c);

    assert_ptr_equal(a->spec, c->spec);
    assert_ptr_not_equal(a->obj.meta.labels.items, c->obj.meta.labels.items);
    assert_string_equal(kstrmap_get(&c->obj.meta.labels, "pod-template-hash"), "h2");
    assert_int_equal(share_count(), 3);
    drop(a);
    drop(c);
    assert_int_equal(share_count(), 0);
}

/* Each differs from pod_a's spec in one place that counts. */
static void test_any_difference_makes_another_shape(void **state)
{
    static const char *const specs[] = {
        "{'spec':{'containers':[{'name':'app','image':'img'}]}}",
        "{'spec':{'containers':[{'name':'app','image':'img2'}]}}",
        "{'spec':{'containers':[{'name':'app2','image':'img'}]}}",
        "{'spec':{'containers':[{'name':'app','image':'img'},{'name':'b'}]}}",
        "{'spec':{'containers':[{'name':'app','image':'img','resources':{'requests':"
        "{'cpu':'1'}}}]}}",
        "{'spec':{'containers':[{'name':'app','image':'img','resources':{'limits':"
        "{'cpu':'1'}}}]}}",
        "{'spec':{'containers':[{'name':'app','image':'img'}],'priority':0}}",
        "{'spec':{'containers':[{'name':'app','image':'img'}],'priority':1}}",
        "{'spec':{'containers':[{'name':'app','image':'img'}],'affinity':{}}}",
        "{'spec':{'containers':[{'name':'app','image':'img'}],'resources':{}}}",
        "{'spec':{'initContainers':[{'name':'app','image':'img'}]}}",
        "{'spec':{'containers':[{'name':'app','image':'img'}],'tolerations':[{'key':'k',"
        "'tolerationSeconds':1}]}}",
        "{'spec':{'containers':[{'name':'app','image':'img'}],'tolerations':[{'key':'k',"
        "'tolerationSeconds':2}]}}",
    };
    const struct pod *pods[ARRAY_LEN(specs)];

    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        pods[i] = pod_from(state, specs[i]);
        for (size_t j = 0; j < i; j++)
            assert_ptr_not_equal(pods[i]->spec, pods[j]->spec);
    }
    for (size_t i = 0; i < ARRAY_LEN(specs); i++)
        drop(pods[i]);
    assert_int_equal(share_count(), 0);
}

static void test_absent_parts_read_as_empty(void **state)
{
    const struct pod *p = pod_from(state, "{'metadata':{'name':'p'}}");

    assert_string_equal(p->node_name, "");
    assert_string_equal(p->spec->scheduler_name, "");
    assert_int_equal(pod_priority(p), 0);
    assert_int_equal(p->status.phase, POD_PHASE_NONE);
    assert_string_equal(p->status.nominated_node_name, "");
    assert_false(pod_is_ready(p));
    drop(p);
}

/* A list can hold nulls, and statuses can be fewer than containers. */
static void test_odd_lists_stay_in_step(void **state)
{
    const struct pod *p =
        pod_from(state, "{'status':{'containerStatuses':[null,{'name':'b','resources':{}}]}}");

    assert_int_equal(p->status.container_statuses.n, 2);
    assert_string_equal(p->status.container_statuses.items[0].name, "");
    assert_null(p->status.container_statuses.items[0].resources);
    assert_non_null(p->status.container_statuses.items[1].resources);
    drop(p);
}

static void test_volume_sources(void **state)
{
    const struct pod *p = pod_from(
        state, "{'spec':{'volumes':[{'name':'a','gcePersistentDisk':{'pdName':'d',"
               "'readOnly':true}},{'name':'b','awsElasticBlockStore':{'volumeID':'v'}},"
               "{'name':'c','iscsi':{'iqn':'q'}},{'name':'d','rbd':{'monitors':['m1','m2'],"
               "'image':'i','pool':'p'}},{'name':'e','csi':{'driver':'x'}},"
               "{'name':'f','ephemeral':{'volumeClaimTemplate':{}}},"
               "{'name':'g','hostPath':{'path':'/var'}},{'name':'h','configMap':{'name':'m'}},"
               "{'name':'i','azureDisk':{'diskName':'n','diskURI':'/s/n'}},"
               "{'name':'j','portworxVolume':{'volumeID':'w'}}]}}");
    const struct pod_volume *v = p->volumes.items;

    assert_int_equal(p->volumes.n, 9);
    assert_string_equal(v[0].gce->id, "d");
    assert_true(v[0].gce->read_only);
    assert_string_equal(v[1].ebs->id, "v");
    assert_string_equal(v[2].iscsi->iqn, "q");
    assert_int_equal(v[3].rbd->monitors.n, 2);
    assert_string_equal(v[4].csi->driver, "x");
    assert_non_null(v[5].ephemeral);
    assert_string_equal(v[6].host_path->path, "/var");
    assert_string_equal(v[7].azure_disk->id, "/s/n");
    assert_string_equal(v[8].portworx->id, "w");
    drop(p);
}

static void test_affinity_is_decoded(void **state)
{
    const struct pod *p = pod_from(
        state,
        "{'spec':{'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
        "{'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name','operator':'In',"
        "'values':['n1']}]}]},'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':7,"
        "'preference':{'matchExpressions':[{'key':'a','operator':'Gt','values':['3']}]}}]},"
        "'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'z',"
        "'namespaceSelector':{}}],'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':9,"
        "'podAffinityTerm':{'topologyKey':'h','labelSelector':{'matchLabels':{'a':'b'}}}}]}}}}");
    const struct affinity *a = p->spec->affinity;

    assert_string_equal(a->node->required->terms.items[0].match_fields.items[0].values.items[0],
                        "n1");
    assert_int_equal(a->node->preferred.items[0].weight, 7);
    assert_int_equal(a->node->preferred.items[0].preference.match_expressions.items[0].op,
                     SELOP_GT);
    assert_null(a->pod);
    assert_null(a->pod_anti->required.items[0].label_selector);
    assert_non_null(a->pod_anti->required.items[0].namespace_selector);
    assert_int_equal(a->pod_anti->preferred.items[0].weight, 9);
    assert_string_equal(a->pod_anti->preferred.items[0].term.topology_key, "h");
    drop(p);
}

static void test_templates_have_the_same_spec(void **state)
{
    struct object_fixture *b = *state;
    CLEANUP(kj_doc_free)
    struct kj_doc *doc = fixture_doc("{" META("t", "h") SPEC("n9", "tok") "'x':1}");
    struct pod_template t;
    struct kerr err = { 0 };

    assert_int_equal(kj_decode(&pod_template_schema, kj_root(doc), 0, b->arena, &t, &err), 0);
    assert_string_equal(t.spec.node_name, "n9");
    assert_int_equal(t.spec.volumes.n, 3);
    assert_string_equal(t.spec.spec.scheduler_name, "koord-scheduler");
    assert_int_equal(t.spec.spec.containers.n, 1);
    assert_string_equal(kstrmap_get(&t.meta.labels, "app"), "web");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_cached_form_has_what_is_read),
        FIXTURE_TEST(test_whole_form_has_everything),
        FIXTURE_TEST(test_pods_of_one_template_share_it),
        FIXTURE_TEST(test_other_labels_share_only_the_shape),
        FIXTURE_TEST(test_any_difference_makes_another_shape),
        FIXTURE_TEST(test_absent_parts_read_as_empty),
        FIXTURE_TEST(test_odd_lists_stay_in_step),
        FIXTURE_TEST(test_volume_sources),
        FIXTURE_TEST(test_affinity_is_decoded),
        FIXTURE_TEST(test_templates_have_the_same_spec),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
