/* test_volumestock.c - volumes come, change, are taken and go: at every moment a claim finds what a
 * look at all of them would find.
 */
#include "scheduler/test/volume_objects.h"

#include "loop/loop.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/volumebinding/internal.h"

enum { NODES = 6, VOLUMES = 24, ROUNDS = 1500 };

static void put_nodes(struct plugin_fixture *f)
{
    char name[8], labels[64];

    for (int i = 0; i < NODES; i++)
        vol_node(f, TEXT(name, "n%d", i), TEXT(labels, "'host':'n%d','zone':'z%d'", i, i % 2));
}

/* ---- what there is, as numbers --------------------------------------------------------------- */

struct model {
    struct {
        bool there, bound;
        int gib, kind, place; /* place: 0..5 a node, 6 and 7 a zone, 8 anywhere, 9 two nodes */
        int more;             /* and a second requirement: zone 0, 1; 2: none */
    } v[VOLUMES];
};

static bool reaches(const struct model *m, int i, int node)
{
    int place = m->v[i].place;
    bool here = place < NODES ? place == node : place < 8 ? place - 6 == node % 2 : true;

    if (place == 9)
        here = node == 1 || node == 4;
    return here && (m->v[i].more == 2 || place == 8 || m->v[i].more == node % 2);
}

/* The smallest, then the first by name; -1: none. */
static int expected(const struct model *m, int node, int kind, int gib)
{
    int best = -1;

    for (int i = 0; i < VOLUMES; i++) {
        if (!m->v[i].there || m->v[i].bound || m->v[i].kind != kind || m->v[i].gib < gib ||
            !reaches(m, i, node))
            continue;
        if (best < 0 || m->v[i].gib < m->v[best].gib)
            best = i;
    }
    return best;
}

static void put_volume(struct plugin_fixture *f, const struct model *m, int i)
{
    static const char *const modes[] = { "Filesystem", "Block" };
    char name[8], spec[512], where[192], more[96];
    int place = m->v[i].place;

    if (place < NODES)
        TEXT(where, "{'key':'host','operator':'In','values':['n%d']}", place);
    else if (place < 8)
        TEXT(where, "{'key':'zone','operator':'In','values':['z%d']}", place - 6);
    else
        TEXT(where, "{'key':'host','operator':'In','values':['n1','n4','n1']}");
    TEXT(more, ",{'key':'zone','operator':'NotIn','values':['z%d']}", 1 - m->v[i].more);
    TEXT(
        spec, "'storageClassName':'wait','capacity':{'storage':'%dGi'},'volumeMode':'%s'%s%s%s%s%s",
        m->v[i].gib, modes[m->v[i].kind],
        m->v[i].bound ? ",'claimRef':{'namespace':'ns','name':'other'}" : "",
        place == 8 ? "" : ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[",
        place == 8 ? "" : where, place == 8 || m->v[i].more == 2 ? "" : more,
        place == 8 ? "" : "]}]}}");
    vol_pv(f, TEXT(name, "v%02d", i), "", spec, "Available");
}

static void change(struct plugin_fixture *f, struct model *m, struct loop *l)
{
    int i = (int)loop_rand_below(l, VOLUMES);
    char name[8];

    if (m->v[i].there && loop_rand_below(l, 3) == 0) {
        m->v[i].there = false;
        objects_remove(f->objects, objects_get(f->objects, &kind_pv, NULL, TEXT(name, "v%02d", i)));
        return;
    }
    m->v[i].there = true;
    m->v[i].bound = loop_rand_below(l, 4) == 0;
    m->v[i].gib = 1 + (int)loop_rand_below(l, 4);
    m->v[i].kind = (int)loop_rand_below(l, 2);
    m->v[i].place = (int)loop_rand_below(l, 10);
    m->v[i].more = (int)loop_rand_below(l, 3);
    put_volume(f, m, i);
}

/* ---- what the plugin takes ------------------------------------------------------------------- */

struct taker {
    const struct profile_slot *slot;
    struct plugin_fixture *f;
};

/* Which volume a pod with one claim would get there; -1: none. */
static int taken(const struct taker *t, int node)
{
    struct plugin_fixture *f = t->f;
    struct ks_texts why = { .arena = f->arena };
    char name[8];
    int found = -1, n = 0;

    if (!fixture_fits(f, TEXT(name, "n%d", node)))
        return -1;
    f->a.cycle.state = f->a.state[t->slot - f->profile->slots];
    assert_int_equal(
        t->slot->plugin->reserve(t->slot->self, &f->a.cycle, &f->a.pod, fixture_row(f, name), &why),
        KS_SUCCESS);
    for (int i = 0; i < VOLUMES; i++) {
        const struct kobj *o = objects_get(f->objects, &kind_pv, NULL, TEXT(name, "v%02d", i));
        if (o && holds_volume(((struct binder *)t->slot->self)->holds, pv_of(o))) {
            found = i;
            n++;
        }
    }
    assert_int_equal(n, 1);
    t->slot->plugin->unreserve(t->slot->self, f->a.pod.pod, "");
    return found;
}

static void test_a_claim_finds_what_is_there(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 11);
    struct model m = { 0 };
    char text[512];

    fixture_init(&f, state, "VolumeBinding", NULL);
    struct taker t = { &f.profile->slots[profile_slot(f.profile, "VolumeBinding")], &f };
    put_nodes(&f);
    vol_class(&f, "wait", "kubernetes.io/no-provisioner", "WaitForFirstConsumer", "");
    for (int round = 0; round < ROUNDS; round++) {
        int kind = round % 2, gib = 1 + (int)loop_rand_below(l, 4);
        change(&f, &m, l);
        if (round % 100 == 99)
            nodecache_remove_node(f.cache, "n0"); /* rows move */
        if (round % 100 == 0)
            put_nodes(&f);
        vol_pvc(&f, "c", "",
                TEXT(text,
                     "'storageClassName':'wait','volumeMode':'%s','resources':{'requests':{"
                     "'storage':'%dGi'}}",
                     kind ? "Block" : "Filesystem", gib),
                "Pending");
        vol_try(&f, CLAIM("c"));
        for (int node = round % 100 == 99; node < NODES; node++)
            assert_int_equal(taken(&t, node), expected(&m, node, kind, gib));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { FIXTURE_TEST(test_a_claim_finds_what_is_there) };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
