/* test_devicerandom.c - random nodes, pods, NUMA masks and reservations: what the filter accepts
 * reserve() allocates, nothing is above its total, and without rules beyond amounts the filter
 * denies nothing that a search finds (sched-device 5 to 8).
 */
#include "scheduler/plugins/deviceshare/test/device_cluster.h"

#include <stdlib.h>

#include "api/koord/reservation.h"

#define NAME "DeviceShare"

static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_device_share, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

enum { CARDS = 8, RESERVATIONS = 2 };

struct dice {
    uint64_t s;
};
static uint32_t roll(struct dice *d, uint32_t n) /* [0, n) */
{
    d->s = d->s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(d->s >> 33) % n;
}

struct kept_room { /* a reservation of parts of cards; owners have some of it */
    bool there, matched;
    uint8_t policy;
    int has[CARDS], owned[CARDS]; /* percent */
};
struct chance { /* one node and one pod */
    struct device_text device;
    struct pod_text pod;
    bool ruled; /* rules beyond amounts: a search does not find all that there is */
    bool required, ignores;
    uint64_t mask; /* NUMA nodes that are decided; 0: any */
    int used[CARDS], count, percent;
    struct kept_room room[RESERVATIONS];
};

/* ---- drawing --------------------------------------------------------------------------------- */

static void draw_requests(struct object_fixture *f, struct dice *d, struct chance *c)
{
    uint32_t kind = roll(d, 4);

    c->count = kind <= 1 ? 1 + (int)roll(d, 4) : 1;
    c->percent = kind == 0 ? 100 : 10 * (1 + (int)roll(d, 9));
    int all = c->count * c->percent;
    if (kind == 0)
        c->pod.requests = arena_printf(f->arena, "'nvidia.com/gpu':'%d'", c->count);
    else if (kind == 1)
        c->pod.requests =
            arena_printf(f->arena,
                         "'koordinator.sh/gpu.shared':'%d','koordinator.sh/gpu-core':'%d',"
                         "'koordinator.sh/gpu-memory-ratio':'%d'",
                         c->count, all, all);
    else
        c->pod.requests = arena_printf(f->arena, "'koordinator.sh/gpu':'%d'", c->percent);
}

static void add_annotation(struct object_fixture *f, struct chance *c, const char *key,
                           const char *json)
{
    const char *so_far = str_or(c->pod.annotations, "");

    c->pod.annotations =
        arena_printf(f->arena, "%s%s%s", so_far, *so_far ? "," : "", annotation(f, key, json));
}

static void draw_rules(struct object_fixture *f, struct dice *d, struct chance *c)
{
    if (c->device.per_pcie && roll(d, 4) == 0) {
        static const char *const scopes[] = { "Node", "NUMANode", "PCIe" };
        add_annotation(
            f, c, "device-allocate-hint",
            arena_printf(f->arena, "{'gpu':{'requiredTopologyScope':'%s'}}", scopes[roll(d, 3)]));
        c->ruled = true;
    }
    if (c->device.rdmas && roll(d, 3) == 0) {
        c->pod.requests = arena_printf(f->arena, "%s,'koordinator.sh/rdma':'%d'", c->pod.requests,
                                       1 + (int)roll(d, 100));
        add_annotation(f, c, "device-joint-allocate",
                       roll(d, 2) ? "{'deviceTypes':['gpu','rdma'],'requiredScope':'SamePCIe'}"
                                  : "{'deviceTypes':['gpu','rdma']}");
        c->ruled = true;
    }
    if (roll(d, 6) == 0) {
        c->device.labels = "'node.koordinator.sh/gpu-model':'H100'";
        c->ruled = true;
    }
    c->required = roll(d, 4) == 0;
    if (c->required)
        add_annotation(f, c, "reservation-affinity", "{}");
    c->ignores = !c->required && roll(d, 6) == 0;
    if (c->ignores)
        c->pod.labels = "'scheduling.koordinator.sh/reservation-ignored':'true'";
}

/* Parts of cards beside what others have; owners may have more of a card than was reserved. */
static void draw_room(struct dice *d, struct chance *c, struct kept_room *r)
{
    r->there = roll(d, 2);
    r->matched = roll(d, 4) != 0;
    r->policy = (uint8_t)(roll(d, 2) ? ALLOCATE_RESTRICTED : ALLOCATE_DEFAULT);
    for (int i = 0; r->there && i < c->device.gpus; i++) {
        int left = 100 - c->used[i];
        for (const struct kept_room *o = c->room; o < r; o++)
            left -= o->there ? MAX(o->has[i], o->owned[i]) : 0;
        if (roll(d, 2) || left < 10)
            continue;
        r->has[i] = 10 * (1 + (int)roll(d, (uint32_t)left / 10));
        r->owned[i] = roll(d, 3) ? 0 : 10 * (int)roll(d, (uint32_t)left / 10 + 1);
    }
}

static int numa_of(const struct chance *c, int card)
{
    return card / c->device.per_pcie / c->device.pcies_per_numa;
}

static struct chance draw(struct object_fixture *f, struct dice *d)
{
    struct chance c = { .device = { .gpus = 1 + (int)roll(d, CARDS) } };

    if (roll(d, 3)) {
        c.device.per_pcie = 1 + (int)roll(d, 3);
        c.device.pcies_per_numa = 1 + (int)roll(d, 2);
        if (roll(d, 2))
            c.mask = 1 + roll(d, (1u << (numa_of(&c, c.device.gpus - 1) + 1)) - 1);
    }
    if (roll(d, 2))
        c.device.rdmas = (c.device.gpus + 1) / 2;
    if (roll(d, 8) == 0) {
        c.device.has_unhealthy = true;
        c.device.unhealthy = (int)roll(d, (uint32_t)c.device.gpus);
    }
    for (int i = 0; i < c.device.gpus; i++)
        c.used[i] = roll(d, 2) ? 0 : 10 * (int)roll(d, 11);
    for (int r = 0; r < RESERVATIONS; r++)
        draw_room(d, &c, &c.room[r]);
    draw_requests(f, d, &c);
    draw_rules(f, d, &c);
    return c;
}

/* ---- a search -------------------------------------------------------------------------------- */

/* What may be taken of a card, by somebody who takes room of reservation `of` (-1: of none). */
static int free_of(const struct chance *c, int card, int of)
{
    int left = 100 - c->used[card];

    if (c->device.has_unhealthy && c->device.unhealthy == card)
        return -1;
    if (c->mask && !(c->mask >> numa_of(c, card) & 1))
        return -1;
    for (int r = 0; r < RESERVATIONS; r++) {
        const struct kept_room *x = &c->room[r];
        bool open = x->matched && (c->ignores || r == of); /* what owners do not have is free */
        if (x->there)
            left -= open ? x->owned[card] : MAX(x->has[card], x->owned[card]);
    }
    if (of >= 0 && c->room[of].policy == ALLOCATE_RESTRICTED)
        left =
            MIN(left, c->room[of].has[card] ? c->room[of].has[card] - c->room[of].owned[card] : -1);
    return left;
}

static bool found_of(const struct chance *c, int of)
{
    int found = 0;

    for (int i = 0; i < c->device.gpus; i++)
        found += free_of(c, i, of) >= c->percent;
    return found >= c->count;
}

static bool has_devices(const struct kept_room *r)
{
    int any = 0;

    for (int i = 0; i < CARDS; i++)
        any |= r->has[i];
    return r->there && any;
}

/* Cards that have enough, one by one: nothing cleverer is needed without rules. */
static bool brute_force(const struct chance *c)
{
    bool tried = false, found = false;

    for (int r = 0; r < RESERVATIONS && !c->ignores; r++)
        if (c->room[r].matched && has_devices(&c->room[r])) {
            tried = true;
            found |= found_of(c, r);
        }
    return found || (!(tried && c->required) && found_of(c, -1));
}

/* ---- the plugin ------------------------------------------------------------------------------ */

struct trial {
    struct plugin_fixture f;
    struct row_try t;
    struct ks_reservation r[RESERVATIONS];
    struct ks_owner owner[RESERVATIONS], *owners[RESERVATIONS];
    const struct ks_reservation *matched[RESERVATIONS];
    uint32_t nmatched;
};

static const char *uid_of(struct arena *a, const char *what, int i)
{
    return arena_printf(a, "00000000-0000-4000-%s-%012d", what, i);
}
#define UID_HOLDER  "8001"
#define UID_RESERVE "8002"
#define UID_OWNER   "8003"

static void holder(struct trial *x, const char *uid, const int *percent, const char *reservation)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct object_fixture *base = x->f.base;

    for (int i = 0; i < CARDS; i++)
        if (percent[i])
            strbuf_appendf(&b,
                           "%s{'minor':%d,'resources':{'koordinator.sh/gpu-core':'%d',"
                           "'koordinator.sh/gpu-memory-ratio':'%d'}}",
                           b.len ? "," : "", i, percent[i], percent[i]);
    if (b.len == 0)
        return;
    const char *held = arena_printf(base->arena, "{'gpu':[%s]}", strbuf_str(&b));
    const char *of =
        reservation ? arena_printf(base->arena, "{'name':'r','uid':'%s'}", reservation) : NULL;
    fixture_pod(&x->f,
                arena_printf(base->arena,
                             "{'metadata':{'name':'%s','namespace':'default','uid':'%s',"
                             "'annotations':{%s%s%s}},'spec':{'nodeName':'n1','containers':[{'name'"
                             ":'c'}]}}",
                             uid, uid, annotation(base, "device-allocated", held), of ? "," : "",
                             of ? annotation(base, "reservation-allocated", of) : ""));
}

static void make_cluster(struct trial *x, void **state, const struct chance *c)
{
    struct arena *a = ((struct object_fixture *)*state)->arena;

    fixture_init_with(&x->f, state, table, NULL);
    fixture_node(&x->f, "{'metadata':{'name':'n1'},'status':{'allocatable':{'cpu':'64','memory':"
                        "'64Gi','pods':'110'}}}");
    fixture_put(&x->f, &kind_device, device_text(x->f.base, &c->device));
    holder(x, uid_of(a, UID_HOLDER, 0), c->used, NULL);
    for (int r = 0; r < RESERVATIONS; r++) {
        if (!has_devices(&c->room[r]))
            continue;
        holder(x, uid_of(a, UID_RESERVE, r), c->room[r].has, NULL);
        holder(x, uid_of(a, UID_OWNER, r), c->room[r].owned, uid_of(a, UID_RESERVE, r));
    }
}

static struct kuid kuid_at(struct arena *a, const char *what, int i)
{
    const char *text = uid_of(a, what, i);

    return kuid_parse(text, strlen(text));
}

/* The reserve pod goes from the row, as when its reservation is restored. */
static void put_away(struct trial *x, uint32_t row, struct kuid uid)
{
    const struct ks_podlist *pods = &nodecache_nodes(x->f.cache)->pods[row];

    for (uint32_t i = 0; i < pods->n; i++)
        if (kuid_equal(pods->items[i]->obj.meta.uid, uid)) {
            ks_overlay_remove_pod(x->f.a.overlay, row, pods->items[i]);
            return;
        }
}

/* The pod is about to be tried on the node, with what it may use of reservations given back. */
static void prepare(struct trial *x, void **state, const struct chance *c)
{
    struct arena *a = ((struct object_fixture *)*state)->arena;

    make_cluster(x, state, c);
    fixture_try(&x->f, wanting(x->f.base, &c->pod));
    uint32_t row = fixture_row(&x->f, "n1");
    for (int r = 0; r < RESERVATIONS; r++) {
        const struct kept_room *room = &c->room[r];
        if (!room->matched || !has_devices(room))
            continue;
        x->owner[r] = (struct ks_owner){ .uid = kuid_at(a, UID_OWNER, r) };
        x->owners[r] = &x->owner[r];
        x->r[r] = (struct ks_reservation){ .uid = kuid_at(a, UID_RESERVE, r),
                                           .name = "r",
                                           .node = "n1",
                                           .policy = room->policy,
                                           .owners = &x->owners[r],
                                           .nowners = 1 };
        put_away(x, row, x->r[r].uid);
        x->matched[x->nmatched++] = &x->r[r];
    }
    (void)attempt_fits(&x->f.a, row, NULL); /* row data is as the row is now */
    int slot = profile_slot(x->f.profile, NAME);
    attempt_enter(&x->f.a, (uint32_t)slot, x->f.a.state[slot]);
    x->t = (struct row_try){ .d = x->f.profile->slots[slot].self,
                             .c = &x->f.a.cycle,
                             .p = &x->f.a.pod,
                             .row = row,
                             .numa = c->mask };
    if (x->nmatched)
        device_reservations.restore(x->t.d, x->t.c, x->t.p, x->f.a.overlay,
                                    &(struct ks_restored){ row, x->matched, x->nmatched, NULL, 0 });
}

/* As filters are asked; once the NUMA nodes are decided, as hint providers are. */
static bool filter(const struct trial *x, const struct chance *c)
{
    uint8_t skip[1] = { 0 }, why[1] = { 0 };

    assert_int_equal(x->t.row, 0);
    if (c->mask)
        return device_numa.allocate(x->t.d, x->t.c, x->t.p, x->t.row, c->mask, NULL) == KS_SUCCESS;
    ks_plugin_device_share.filter(x->t.d, x->t.c, x->t.p, (struct ks_span){ 0, 1 }, skip, why);
    return why[0] == 0;
}

/* With the first reservation that is good enough to be nominated, else with none. */
static enum ks_code reserve(struct trial *x, struct device_result *got, struct ks_texts *why)
{
    const struct ks_reservation *nominated = NULL;

    for (uint32_t i = 0; i < x->nmatched && !nominated; i++)
        if (devices_try_of(&x->t, x->matched[i], NULL, NULL) == KS_SUCCESS)
            nominated = x->matched[i];
    x->t.reserving = true;
    enum ks_code code = devices_try_of(&x->t, nominated, got, why);
    if (code == KS_SUCCESS)
        holdings_reserve(x->t.d->holdings, x->t.p->pod, "n1", nominated, got->items, got->n);
    return code;
}

/* With what was given, and with the reservations back in their place, no card has too much. */
static void check_sums(struct trial *x)
{
    const struct ks_nodes *n = nodecache_nodes(x->f.cache);
    struct kerr err = { 0 };
    struct devrow row;

    attempt_end(&x->f.a);
    assert_int_equal(nodecache_assume(x->f.cache, x->f.obj, "n1", NULL, &err), 0);
    devrow_init(&row, x->t.d->holdings, n->node[0], &n->pods[0]);
    for (uint32_t i = 0; i < inventory_cards(row.inv); i++)
        if (row.inv->card[i].total.has)
            assert_true(amounts_fit(&row.used[i], &row.inv->card[i].total));
    devrow_fini(&row);
}

static void fail_about(const struct trial *x, const struct chance *c, const char *what)
{
    fail_msg("%s on %s, mask %d, required %d, ignores %d: %s", wanting(x->f.base, &c->pod),
             device_text(x->f.base, &c->device), (int)c->mask, c->required, c->ignores, what);
}

static void fini(struct trial *x)
{
    fixture_fini_p(&x->f);
}

static void check_one(void **state, struct dice *d)
{
    struct chance c = draw(*state, d);
    __attribute__((cleanup(fini))) struct trial x = { 0 };
    struct device_result got = { 0 };

    prepare(&x, state, &c);
    struct ks_texts why = { .arena = x.f.arena };
    bool fits = filter(&x, &c);
    if (!c.ruled && fits != brute_force(&c))
        fail_about(&x, &c, fits ? "no search finds that" : "a search finds more");
    if (!fits)
        return;
    if (reserve(&x, &got, &why) != KS_SUCCESS || got.n < (uint32_t)c.count)
        fail_about(&x, &c, arena_printf(x.f.arena, "passes, and then: %s", ks_texts_join(&why)));
    if (!c.ignores) /* who ignores reservations takes what they keep */
        check_sums(&x);
}

/* KOORD_DEVICE_ROUNDS: how many. */
static void test_filter_and_reserve_agree(void **state)
{
    const char *text = getenv("KOORD_DEVICE_ROUNDS");
    int rounds = text ? atoi(text) : getenv("KOORD_TEST_FULL") ? 100000 : 3000;
    struct dice d = { 1 };

    for (int i = 0; i < rounds; i++) {
        check_one(state, &d);
        arena_reset(((struct object_fixture *)*state)->arena);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_filter_and_reserve_agree),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
