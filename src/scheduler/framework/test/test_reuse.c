/* test_reuse.c - what is looked at again for a pod like one before, after which change. */
#include "base/test/asserts.h"
#include "scheduler/test/plugin_fixture.h"

#include "api/koord/nodemetric.h"
#include "api/policy.h"
#include "api/storage.h"
#include "loop/loop.h"
#include "scheduler/plugins/registry.h"

#define TEXT(buf, ...) ((void)snprintf(buf, sizeof(buf), __VA_ARGS__), (buf))

/* ---- plugins that say how often they are asked ----------------------------------------------- */

static struct seen {
    uint32_t rows;               /* that the LOCAL one filtered */
    uint32_t dirty, dirty_nodes; /* that the DOMAIN one was told of */
    bool stays;                  /* what the DOMAIN one answers */
    uint32_t made;               /* states of the DOMAIN one */
} seen;

static const struct ks_reason reasons[] = { { KS_SUCCESS, "" }, { KS_UNSCHEDULABLE, "no" } };

static void count_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                         struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    (void)self, (void)c, (void)p, (void)skip;
    seen.rows += s.end - s.begin;
    memset(why + s.begin, 0, s.end - s.begin);
}

static enum ks_code domain_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                      void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    (void)self, (void)c, (void)p, (void)only, (void)why;
    seen.made++;
    *ret_state = &seen;
    return KS_SUCCESS;
}

static bool domain_refresh(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                           const struct ks_dirty *d, bool *skip)
{
    (void)self, (void)c, (void)p, (void)skip;
    seen.dirty = d->n;
    seen.dirty_nodes = d->nnodes;
    return seen.stays;
}

static const struct kind *const count_kinds[] = {
    &kind_nodemetric, &kind_csi_node, &kind_volume_attachment, &kind_pdb, &kind_pvc, NULL
};
static const struct kind *const count_statuses[] = { &kind_pvc, NULL };
static const char *const node_keys[] = { "read/me", NULL }, *const pod_keys[] = { "mood", NULL };
static const char *const label_keys[] = { "tier", NULL };
static const struct ks_plugin count_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Count",
    .reasons = reasons,
    .reuse = KS_REUSE_LOCAL,
    .kinds = count_kinds,
    .statuses = count_statuses,
    .node_annotations = node_keys,
    .pod_annotations = pod_keys,
    .pod_labels = label_keys,
    .filter = count_filter,
};
static const struct ks_plugin domain_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Domain",
    .reuse = KS_REUSE_DOMAIN,
    .pre_filter = domain_pre_filter,
    .refresh = domain_refresh,
};
static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },  { &count_plugin, 0, true }, { &domain_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

static void node(struct plugin_fixture *f, const char *name, const char *labels,
                 const char *annotations, const char *more)
{
    char text[1024];

    fixture_node(f, TEXT(text,
                         "{'metadata':{'name':'%s','labels':{%s},'annotations':{%s}},'status':{"
                         "'allocatable':{'cpu':'4','pods':'9'}%s}}",
                         name, labels, annotations, more));
}

static void start(struct plugin_fixture *f, void **state)
{
    seen = (struct seen){ .stays = true };
    fixture_init_with(f, state, table, NULL);
    for (int i = 0; i < 4; i++) {
        char name[16];
        node(f, TEXT(name, "n%d", i), "", "", "");
    }
}

/* How many rows the plugin looks at for the pod. */
static uint32_t rows_with(struct plugin_fixture *f, const char *meta)
{
    char text[512];
    struct attempt a;

    kobj_unref(f->obj);
    f->obj =
        fixture_object(f->base, &kind_pod,
                       TEXT(text, "{'metadata':{'name':'p','namespace':'ns','uid':'p',%s}}", meta));
    arena_reset(f->arena);
    seen.rows = 0;
    fixture_attempt(f, &a, false);
    return seen.rows;
}

static uint32_t rows_for(struct plugin_fixture *f, const char *annotations)
{
    char text[256];

    return rows_with(f, TEXT(text, "'annotations':{%s}", annotations));
}

static uint32_t rows(struct plugin_fixture *f)
{
    return rows_for(f, "");
}

static void test_a_node_that_says_nothing_new(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    assert_int_equal(rows(&f), 4);
    assert_int_equal(rows(&f), 0);
    node(&f, "n1", "", "", "");
    node(&f, "n2", "", "'nobody/reads':'this'",
         ",'capacity':{'cpu':'5'},'conditions':[{'type':'Ready','status':'True'}]");
    assert_int_equal(rows(&f), 0);
    /* but it is the latest state that plugins see */
    const struct ks_nodes *n = nodecache_nodes(f.cache);
    assert_int_equal(n->node[ks_row_of(n, "n2")]->status.conditions.n, 1);
}

static void test_a_node_that_changed(void **state)
{
    static const char *const changes[][3] = {
        { "'a':'b'", "", "" },
        { "", "", "" }, /* the label goes again */
        { "", "'read/me':'1'", "" },
        { "", "'read/me':'2'", "" },
        { "", "'read/me':'2','nobody/reads':'this'",
          ",'images':[{'names':['a:1'],'sizeBytes':1}]" },
        { "", "'read/me':'2'", ",'images':[{'names':['a:1'],'sizeBytes':2}]" },
    };
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    assert_int_equal(rows(&f), 4);
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        node(&f, "n2", changes[i][0], changes[i][1], changes[i][2]);
        assert_int_equal(rows(&f), 1);
        assert_int_equal(rows(&f), 0);
    }
    fixture_node(&f, "{'metadata':{'name':'n0'},'spec':{'unschedulable':true}}");
    fixture_node(&f, "{'metadata':{'name':'n1'},'spec':{'taints':[{'key':'a','effect':"
                     "'NoSchedule'}]}}");
    assert_int_equal(rows(&f), 2);
    fixture_pod(&f, "{'metadata':{'name':'q','namespace':'ns','uid':'q'},'spec':{'nodeName':"
                    "'n3'}}");
    assert_int_equal(rows(&f), 1);
}

static void attachment(struct plugin_fixture *f, const char *node)
{
    char text[256];

    fixture_put(f, &kind_volume_attachment,
                TEXT(text, "{'metadata':{'name':'x'},'spec':{'nodeName':'%s'}}", node));
}

static void test_objects_of_a_node(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *metric =
        "{'metadata':{'name':'n1'},'status':{'updateTime':'2026-01-01T00:00:00Z'}}";

    start(&f, state);
    assert_int_equal(rows(&f), 4);
    fixture_put(&f, &kind_nodemetric, metric);
    assert_int_equal(rows(&f), 1);
    fixture_put(&f, &kind_nodemetric, metric); /* says the same */
    assert_int_equal(rows(&f), 0);
    fixture_put(&f, &kind_nodemetric,
                "{'metadata':{'name':'n1'},'status':{'updateTime':'2026-01-01T00:01:00Z'}}");
    assert_int_equal(rows(&f), 1);
    assert_true(objects_remove(f.objects, objects_get(f.objects, &kind_nodemetric, NULL, "n1")));
    assert_int_equal(rows(&f), 1);
    fixture_put(&f, &kind_csi_node, "{'metadata':{'name':'unknown'}}");
    assert_int_equal(rows(&f), 0);
    attachment(&f, "n0");
    assert_int_equal(rows(&f), 1);
    attachment(&f, "n2"); /* it leaves one and comes to the other */
    assert_int_equal(rows(&f), 2);
}

static void pvc(struct plugin_fixture *f, const char *spec, const char *phase)
{
    char text[256];

    fixture_put(f, &kind_pvc,
                TEXT(text,
                     "{'metadata':{'name':'c','namespace':'ns','uid':'c'},'spec':{%s},'status':{"
                     "'phase':'%s'}}",
                     spec, phase));
}

static void pdb(struct plugin_fixture *f, const char *spec, int allowed)
{
    char text[256];

    fixture_put(f, &kind_pdb,
                TEXT(text,
                     "{'metadata':{'name':'b','namespace':'ns','uid':'b'},'spec':{%s},'status':{"
                     "'disruptionsAllowed':%d}}",
                     spec, allowed));
}

static void test_other_kinds_count_by_what_is_read(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    assert_int_equal(rows(&f), 4);
    pdb(&f, "", 1);
    assert_int_equal(rows(&f), 4);
    pdb(&f, "", 0);
    assert_int_equal(rows(&f), 0); /* its status is not read */
    pdb(&f, "'minAvailable':1", 0);
    assert_int_equal(rows(&f), 4);
    pvc(&f, "", "Pending");
    assert_int_equal(rows(&f), 4);
    pvc(&f, "", "Bound");
    assert_int_equal(rows(&f), 4); /* this one is */
    assert_int_equal(rows(&f), 0);
}

static void test_annotations_belong_to_the_shape(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    assert_int_equal(rows_for(&f, "'mood':'good'"), 4);
    assert_int_equal(rows_for(&f, "'mood':'bad'"), 4);
    assert_int_equal(rows_for(&f, ""), 4);
    assert_int_equal(rows_for(&f, "'mood':'good','other':'1'"), 0);
    assert_int_equal(rows_for(&f, "'mood':'bad','other':'2'"), 0);
    assert_int_equal(rows_for(&f, "'other':'2'"), 0);
}

/* Jobs of one template, or members of a StatefulSet: what LOCAL plugins cannot see of them does not
 * tell them apart; a DOMAIN plugin may select pods by any label. */
static void test_pods_that_differ_in_what_nobody_reads(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    assert_int_equal(rows_with(&f, "'labels':{'job':'a','tier':'web'}"), 4);
    assert_int_equal(rows_with(&f, "'labels':{'job':'b','tier':'web'}"), 0);
    assert_int_equal(seen.made, 2);
    assert_int_equal(rows_with(&f, "'labels':{'job':'a','tier':'web'}"), 0);
    assert_int_equal(seen.made, 2);
    assert_int_equal(rows_with(&f, "'labels':{'job':'a','tier':'db'}"), 4);
    assert_int_equal(rows_with(&f, "'labels':{'job':'a'}"), 4);
    assert_int_equal(rows_with(&f, "'labels':{'job':'a'},'ownerReferences':[{'kind':'Job','name':"
                                   "'x','uid':'x'}]"),
                     4);
    assert_int_equal(rows_with(&f, "'labels':{'job':'b'},'ownerReferences':[{'kind':'Job','name':"
                                   "'y','uid':'y'}]"),
                     0);
    assert_int_equal(rows_with(&f, "'labels':{'job':'b'},'ownerReferences':[{'kind':'DaemonSet',"
                                   "'name':'y','uid':'y'}]"),
                     4);
}

/* Each keeps its own count of the changes that it has seen. */
static void test_changes_reach_both_parts(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    rows_with(&f, "'labels':{'job':'a'}");
    fixture_pod(&f, "{'metadata':{'name':'q','namespace':'ns','uid':'q'},'spec':{'nodeName':"
                    "'n3'}}");
    assert_int_equal(rows_with(&f, "'labels':{'job':'b'}"), 1);
    fixture_pod(&f, "{'metadata':{'name':'r','namespace':'ns','uid':'r'},'spec':{'nodeName':"
                    "'n0'}}");
    assert_int_equal(rows_with(&f, "'labels':{'job':'a'}"), 1);
    assert_int_equal(seen.dirty, 2);
    assert_int_equal(rows_with(&f, "'labels':{'job':'b'}"), 0);
    assert_int_equal(seen.dirty, 1);
    assert_int_equal(seen.made, 2);
}

static void test_refresh_is_told_which_nodes_changed(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    rows(&f);
    assert_int_equal(seen.made, 1);
    fixture_pod(&f, "{'metadata':{'name':'q','namespace':'ns','uid':'q'},'spec':{'nodeName':"
                    "'n3'}}");
    fixture_pod(&f, "{'metadata':{'name':'r','namespace':'ns','uid':'r'},'spec':{'nodeName':"
                    "'n0'}}");
    node(&f, "n0", "'a':'b'", "", "");
    fixture_put(&f, &kind_csi_node, "{'metadata':{'name':'n1'}}");
    rows(&f);
    assert_int_equal(seen.dirty, 3);
    assert_int_equal(seen.dirty_nodes, 2);
    assert_int_equal(seen.made, 1);
    seen.stays = false;
    node(&f, "n0", "'a':'c'", "", "");
    rows(&f);
    assert_int_equal(seen.dirty_nodes, 1);
    assert_int_equal(seen.made, 2);
    node(&f, "n9", "", "", ""); /* a new row: all is made anew */
    assert_int_equal(rows(&f), 5);
    assert_int_equal(seen.made, 3);
}

/* ---- all plugins, anything that can happen --------------------------------------------------- */

static const char *const pods[] = {
    "'labels':{'app':'a'}},'spec':{'containers':[{'name':'c','image':'a:1'}]",
    "'labels':{'app':'b'}},'spec':{'containers':[{'name':'c','image':'b'}],"
    "'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'zone','whenUnsatisfiable':"
    "'DoNotSchedule','nodeTaintsPolicy':'Honor','labelSelector':{'matchLabels':{'app':'b'}}}]",
    "'labels':{'app':'a'}},'spec':{'containers':[{'name':'c'}],'nodeSelector':{'disk':'ssd'},"
    "'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'zone','whenUnsatisfiable':"
    "'ScheduleAnyway','labelSelector':{'matchLabels':{'app':'a'}}},{'maxSkew':1,'topologyKey':"
    "'host','whenUnsatisfiable':'ScheduleAnyway','labelSelector':{'matchLabels':{'app':'a'}}}]",
    "'labels':{'app':'c'}},'spec':{'containers':[{'name':'c'}],'affinity':{'podAffinity':{"
    "'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'zone','labelSelector':{"
    "'matchLabels':{'app':'a'}}}]},'podAntiAffinity':{"
    "'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':5,'podAffinityTerm':{"
    "'topologyKey':'host','labelSelector':{'matchLabels':{'app':'b'}}}}]}}",
    "'labels':{'app':'d'}},'spec':{'containers':[{'name':'c'}],'affinity':{'podAntiAffinity':{"
    "'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'host','labelSelector':{"
    "'matchLabels':{'app':'d'}}}]},'nodeAffinity':{"
    "'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':3,'preference':{"
    "'matchExpressions':[{'key':'disk','operator':'In','values':['ssd']}]}}]}}",
};

static int below(struct loop *l, int n)
{
    return (int)loop_rand_below(l, (uint64_t)n);
}

static void random_node(struct plugin_fixture *f, struct loop *l)
{
    static const char *const taints[] = {
        "",
        "",
        "{'key':'t','effect':'NoSchedule'}",
        "{'key':'t','effect':'PreferNoSchedule'}",
    };
    static const char *const images[] = { "", "{'names':['a:1'],'sizeBytes':90000000}",
                                          ("{'names':['a:1'],'sizeBytes':90000000},"
                                           "{'names':['b:latest'],'sizeBytes':500000000}") };
    char text[1024], zone[32], name[8];

    TEXT(name, "n%d", below(l, 7));
    if (below(l, 30) == 0) {
        nodecache_remove_node(f->cache, name);
        return;
    }
    fixture_node(
        f, TEXT(text,
                "{'metadata':{'name':'%s','labels':{'host':'%s'%s%s},'annotations':{'a':'%d'}},"
                "'spec':{'taints':[%s]},'status':{'allocatable':{'cpu':'%d','memory':'8Gi',"
                "'pods':'40'},'images':[%s]}}",
                name, name, below(l, 6) ? TEXT(zone, ",'zone':'z%d'", below(l, 3)) : "",
                below(l, 2) ? ",'disk':'ssd'" : "", below(l, 9), taints[below(l, 4)],
                below(l, 4) ? 8 : 2, images[below(l, 3)]));
}

static void random_change(struct plugin_fixture *f, struct loop *l)
{
    char text[2048];
    int id = below(l, 30);

    switch (below(l, 6)) {
    case 0:
    case 1: random_node(f, l); break;
    case 2: nodecache_remove_pod(f->cache, kuid_parse(TEXT(text, "r%d", id), strlen(text))); break;
    case 3:
        fixture_put(f, &kind_csi_node,
                    TEXT(text, "{'metadata':{'name':'n%d','labels':{'x':'%d'}}}", below(l, 7),
                         below(l, 3)));
        break;
    default:
        fixture_pod(f, TEXT(text,
                            "{'metadata':{'name':'r%d','namespace':'ns','uid':'r%d',%s,'nodeName':"
                            "'n%d'}}",
                            id, id, pods[below(l, (int)ARRAY_LEN(pods))], below(l, 7)));
    }
}

/* The fixture compares each attempt with one that reuses nothing. */
static void test_random_changes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 31);
    char text[2048];

    fixture_init(&f, state, NULL, NULL);
    shapes_free(f.shapes);
    f.shapes = shapes_new(16);
    for (int i = 0; i < 12; i++)
        random_node(&f, l);
    for (int i = 0; i < 4000; i++) {
        for (int n = below(l, 4); n > 0; n--)
            random_change(&f, l);
        if (nodecache_stats(f.cache).nodes == 0)
            continue;
        fixture_try(&f, TEXT(text, "{'metadata':{'name':'p','namespace':'ns','uid':'p',%s}}",
                             pods[below(l, (int)ARRAY_LEN(pods))]));
    }
    struct shapes_stats s = shapes_stats(f.shapes);
    assert_that(s.hits, >, s.misses); /* otherwise nothing was compared */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_a_node_that_says_nothing_new),
        FIXTURE_TEST(test_a_node_that_changed),
        FIXTURE_TEST(test_objects_of_a_node),
        FIXTURE_TEST(test_other_kinds_count_by_what_is_read),
        FIXTURE_TEST(test_annotations_belong_to_the_shape),
        FIXTURE_TEST(test_pods_that_differ_in_what_nobody_reads),
        FIXTURE_TEST(test_changes_reach_both_parts),
        FIXTURE_TEST(test_refresh_is_told_which_nodes_changed),
        FIXTURE_TEST(test_random_changes),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
