/* sim_device.c - pods that want GPUs, RDMA devices and virtual functions in every way, and
 * Reservations that keep some, on one scheduler after the other, with faults, sick cards and
 * Devices that go and return: judged by what the server holds, at every write.
 *
 * usage: sim_device [FIRST [COUNT]]; a run is its seed.
 */
#include "client/test/client_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/protocol/device.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "sim_seeds.h"
#include "json/kj.h"

#define NODES_PATH   "/api/v1/nodes"
#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define DEVICES      "/apis/scheduling.koordinator.sh/v1alpha1/devices"
#define SEC          NSEC_PER_SEC
enum { NODES = 4, GPUS = 8, RDMAS = 4, VFS = 3, APPS = 2, STEPS = 70, SEEDS = 500, SHARED = 50 };
enum { PARTITIONED = 0 }; /* the number of the node whose GPUs go by partition only */

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_device_share, 1, true },
    { &ks_plugin_reservation, 5000, true },
    { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

struct sim {
    struct client_fixture client;
    struct scheduler *s;
    uint64_t seed;
    int npods, nreservations;
    unsigned judged, binds, owners, given, vfs;
};

static void die(const struct sim *s, const char *what, const char *name)
{
    fprintf(stderr, "seed %llu: %s: %s\n", (unsigned long long)s->seed, what, name);
    abort();
}

static unsigned below(struct sim *s, unsigned n)
{
    return (unsigned)loop_rand_below(s->client.loop, n);
}

/* ---- what the server holds -------------------------------------------------------------------- */

struct card_held {
    int64_t core, ratio, memory;
};
struct node_held {
    struct card_held gpu[GPUS];
    int64_t rdma[RDMAS];
    int vf[RDMAS][VFS];
};
struct owner_of { /* a reservation, and who has taken room of it */
    char name[16], uid[64];
    int node;
    bool available, once;
    int owners;
    struct node_held held, taken;
};
struct picture {
    struct sim *s;
    struct arena *arena;
    struct node_held nodes[NODES];
    struct vec_of(struct owner_of) reservations;
};

static struct kj_doc *document(const struct sim *s, const char *collection, const char *name)
{
    struct kj_doc *doc = NULL;
    const char *text = fake_find(s->client.fake, collection, name);

    return text && kj_parse(text, strlen(text), 0, &doc, NULL) == 0 ? doc : NULL;
}

static int node_number(const char *name)
{
    return *name ? atoi(name + 1) : -1;
}

static int64_t amount(const struct device_allocation *d, const char *name)
{
    return qty_value(reslist_get(&d->resources, name));
}

static void add_vf(struct node_held *to, int card, const struct device_vf *vf, const struct sim *s)
{
    int number = vf->minor;

    if (number < 0 || number >= VFS)
        die(s, "a virtual function that is not there", vf->bus_id);
    to->vf[card][number]++;
}

static void add_devices(const struct picture *p, const struct device_allocations *d,
                        struct node_held *to, const char *name)
{
    const struct device_allocation_list *gpu = device_allocations_of(d, "gpu");
    const struct device_allocation_list *rdma = device_allocations_of(d, "rdma");

    for (uint32_t i = 0; gpu && i < gpu->v.n; i++) {
        const struct device_allocation *g = &gpu->v.items[i];
        if (g->minor < 0 || g->minor >= GPUS || !g->id)
            die(p->s, "a card that is not there", name);
        to->gpu[g->minor].core += amount(g, RES_GPU_CORE);
        to->gpu[g->minor].ratio += amount(g, RES_GPU_MEMORY_RATIO);
        to->gpu[g->minor].memory += amount(g, RES_GPU_MEMORY);
    }
    for (uint32_t i = 0; rdma && i < rdma->v.n; i++) {
        const struct device_allocation *r = &rdma->v.items[i];
        if (r->minor < 0 || r->minor >= RDMAS)
            die(p->s, "an RDMA device that is not there", name);
        to->rdma[r->minor] += amount(r, RES_RDMA);
        for (uint32_t v = 0; r->extension && v < r->extension->vfs.n; v++)
            add_vf(to, r->minor, &r->extension->vfs.items[v], p->s);
    }
}

/* 1: it has devices. */
static int allocations_of(const struct picture *p, const struct kj_val *v,
                          struct device_allocations *ret)
{
    const char *text =
        kj_str_or(kj_get(kj_path(v, "metadata.annotations"), ANNO_DEVICE_ALLOCATED), "");

    return *text && device_allocations_decode(text, p->arena, ret, NULL) == 0;
}

static struct owner_of *reservation_of(struct picture *p, const struct kj_val *v)
{
    CLEANUP(kj_doc_free) struct kj_doc *of = NULL;
    const char *text =
        kj_str_or(kj_get(kj_path(v, "metadata.annotations"), ANNO_RESERVATION_ALLOCATED), "");

    if (!*text || kj_parse(text, strlen(text), 0, &of, NULL) < 0)
        return NULL;
    const char *uid = kj_str_or(kj_get(kj_root(of), "uid"), "");
    vec_foreach(&p->reservations, i)
        if (streq(p->reservations.items[i].uid, uid))
            return &p->reservations.items[i];
    return NULL;
}

/* ---- rules of single pods --------------------------------------------------------------------- */

static unsigned pcies_of(const struct device_allocation_list *l, int per_pcie)
{
    unsigned set = 0;

    for (uint32_t i = 0; l && i < l->v.n; i++)
        set |= 1u << (l->v.items[i].minor / per_pcie);
    return set;
}

/* What the pod asked for is what it got: how many cards, and how much of each. */
static void judge_amounts(const struct picture *p, const struct kj_val *requests,
                          const struct device_allocation_list *gpu, const char *name)
{
    const char *whole = kj_str_or(kj_get(requests, RES_GPU), "0");
    const char *shared = kj_str_or(kj_get(requests, RES_GPU_SHARED), "0");
    int percent = atoi(whole), cards = atoi(shared);
    uint32_t n = gpu ? gpu->v.n : 0;

    if (cards)
        percent = atoi(kj_str_or(kj_get(requests, RES_GPU_CORE), "0")) / cards;
    else if (percent)
        cards = percent > 100 ? percent / 100 : 1, percent = MIN(percent, 100);
    if (n != (uint32_t)cards)
        die(p->s, "not as many cards as were asked for", name);
    for (uint32_t i = 0; i < n; i++)
        if (amount(&gpu->v.items[i], RES_GPU_CORE) != percent)
            die(p->s, "not so much of a card as was asked for", name);
}

static void judge_pod(const struct picture *p, const struct kj_val *v, int node,
                      const struct device_allocations *d, const char *name)
{
    const struct device_allocation_list *gpu = device_allocations_of(d, "gpu");
    const struct device_allocation_list *rdma = device_allocations_of(d, "rdma");
    const struct kj_val *annotations = kj_path(v, "metadata.annotations");
    const struct kj_val *requests =
        kj_path(kj_at(kj_path(v, "spec.containers"), 0), "resources.requests");
    const char *joint = kj_str_or(kj_get(annotations, ANNO_DEVICE_JOINT), "");
    uint32_t n = gpu ? gpu->v.n : 0;

    judge_amounts(p, requests, gpu, name);
    if (strstr(joint, "SamePCIe") && pcies_of(gpu, 2) != pcies_of(rdma, 1))
        die(p->s, "joint devices are on different PCIes", name);
    bool whole = n && amount(&gpu->v.items[0], RES_GPU_CORE) == 100 &&
                 amount(&gpu->v.items[0], RES_GPU_MEMORY_RATIO) == 100;
    if (node != PARTITIONED || !whole)
        return;
    if (n != 1 && n != 2 && n != 4 && n != 8)
        die(p->s, "no partition has so many cards", name);
    for (uint32_t i = 0; i < n; i++)
        if (gpu->v.items[i].minor != gpu->v.items[0].minor + (int)i ||
            gpu->v.items[0].minor % (int)n != 0)
            die(p->s, "cards that are no partition", name);
}

/* ---- all of them ------------------------------------------------------------------------------ */

static void see_pod(void *arg, const char *ns, const char *name, const char *version)
{
    struct picture *p = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = document(p->s, PODS, name);
    const struct kj_val *v = kj_root(doc);
    int node = node_number(kj_str_or(kj_path(v, "spec.nodeName"), ""));
    struct device_allocations d;

    (void)ns, (void)version;
    struct owner_of *r = reservation_of(p, v);
    if (node < 0)
        return;
    if (r)
        r->owners++;
    if (!allocations_of(p, v, &d))
        die(p->s, "a pod is bound without devices", name);
    judge_pod(p, v, node, &d, name);
    add_devices(p, &d, &p->nodes[node], name);
    if (r && r->node == node)
        add_devices(p, &d, &r->taken, name);
    else if (r)
        die(p->s, "a pod is not where its reservation is", name);
}

static void see_reservation(void *arg, const char *ns, const char *name, const char *version)
{
    struct picture *p = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = document(p->s, RESERVATIONS, name);
    const struct kj_val *v = kj_root(doc);
    struct owner_of x = { .once = kj_bool(kj_path(v, "spec.allocateOnce"), true) };
    struct device_allocations d;

    (void)ns, (void)version;
    (void)snprintf(x.name, sizeof x.name, "%s", name);
    (void)snprintf(x.uid, sizeof x.uid, "%s", kj_str_or(kj_path(v, "metadata.uid"), ""));
    x.node = node_number(kj_str_or(kj_path(v, "status.nodeName"), ""));
    x.available = streq(kj_str_or(kj_path(v, "status.phase"), ""), "Available");
    if (x.node >= 0 && !allocations_of(p, v, &d))
        die(p->s, "a reservation is placed without devices", name);
    if (x.node >= 0)
        add_devices(p, &d, &x.held, name);
    vec_push(&p->reservations, x);
}

/* What a reservation keeps beyond what its owners have. */
static void add_kept(struct node_held *to, const struct owner_of *r)
{
    for (int i = 0; i < GPUS; i++) {
        to->gpu[i].core += MAX(r->held.gpu[i].core - r->taken.gpu[i].core, 0);
        to->gpu[i].ratio += MAX(r->held.gpu[i].ratio - r->taken.gpu[i].ratio, 0);
        to->gpu[i].memory += MAX(r->held.gpu[i].memory - r->taken.gpu[i].memory, 0);
    }
    for (int i = 0; i < RDMAS; i++) {
        to->rdma[i] += MAX(r->held.rdma[i] - r->taken.rdma[i], 0);
        for (int k = 0; k < VFS; k++)
            to->vf[i][k] += MAX(r->held.vf[i][k] - r->taken.vf[i][k], 0);
    }
}

static void picture_take(struct sim *s, struct picture *p)
{
    *p = (struct picture){ .s = s, .arena = arena_new() };
    fake_each(s->client.fake, "reservations", see_reservation, p);
    fake_each(s->client.fake, "pods", see_pod, p);
}

static void picture_fini(struct picture *p)
{
    vec_fini(&p->reservations);
    arena_free(p->arena);
}

/* No card above its total, no virtual function twice; what is reserved is there. */
static void judge(struct sim *s)
{
    struct picture p;

    picture_take(s, &p);
    vec_foreach(&p.reservations, i) {
        const struct owner_of *r = &p.reservations.items[i];
        if (r->once && r->owners > 1)
            die(s, "a reservation for one pod has more", r->name);
        if (r->available && r->node >= 0 && !(r->once && r->owners))
            add_kept(&p.nodes[r->node], r);
    }
    for (int n = 0; n < NODES; n++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%d", n);
        for (int i = 0; i < GPUS; i++)
            if (p.nodes[n].gpu[i].core > 100 || p.nodes[n].gpu[i].ratio > 100 ||
                p.nodes[n].gpu[i].memory > INT64_C(16) << 30)
                die(s, "a card is given away beyond its size", name);
        for (int i = 0; i < RDMAS; i++) {
            if (p.nodes[n].rdma[i] > 100)
                die(s, "an RDMA device is given away beyond its size", name);
            for (int k = 0; k < VFS; k++)
                if (p.nodes[n].vf[i][k] > 1)
                    die(s, "a virtual function is given twice", name);
        }
    }
    s->judged++;
    picture_fini(&p);
}

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct sim *s = arg;

    (void)agent, (void)method, (void)body;
    if (strstr(target, "/events"))
        return;
    s->binds += strstr(target, "/binding") != NULL;
    judge(s);
}

/* ---- nodes and Devices ------------------------------------------------------------------------ */

static void put_node(struct sim *s, int n)
{
    char name[16];
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"metadata\":{\"labels\":{%s}},\"status\":{\"allocatable\":{\"cpu\":\"64\",\"memory\":"
        "\"64Gi\",\"pods\":\"60\",\"koordinator.sh/gpu\":\"800\",\"koordinator.sh/gpu-core\":"
        "\"800\",\"koordinator.sh/gpu-memory-ratio\":\"800\",\"koordinator.sh/gpu.shared\":\"800\","
        "\"koordinator.sh/rdma\":\"400\"}}}",
        n == PARTITIONED ? "\"node.koordinator.sh/gpu-model\":\"H800\",\"node.koordinator.sh/"
                           "gpu-partition-policy\":\"Honor\""
                         : "");

    (void)snprintf(name, sizeof name, "n%d", n);
    fake_put(s->client.fake, NODES_PATH, name, body);
}

/* sick: the minor of a card that is not healthy; -1: none. */
static void put_device(struct sim *s, int n, int sick)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    char name[16];

    strbuf_append(&b, "{\"spec\":{\"devices\":[");
    for (int i = 0; i < GPUS; i++)
        strbuf_appendf(&b,
                       "%s{\"type\":\"gpu\",\"minor\":%d,\"id\":\"G%d\",\"health\":%s,"
                       "\"resources\":{\"koordinator.sh/gpu-core\":\"100\",\"koordinator.sh/"
                       "gpu-memory-ratio\":\"100\",\"koordinator.sh/gpu-memory\":\"16Gi\"},"
                       "\"topology\":{\"socketID\":%d,\"nodeID\":%d,\"pcieID\":\"%d\",\"busID\":"
                       "\"g\"}}",
                       i ? "," : "", i, i, i == sick ? "false" : "true", i / 4, i / 4, i / 2);
    for (int i = 0; i < RDMAS; i++) {
        strbuf_appendf(&b,
                       ",{\"type\":\"rdma\",\"minor\":%d,\"id\":\"R%d\",\"health\":true,"
                       "\"resources\":{\"koordinator.sh/rdma\":\"100\"},\"topology\":{"
                       "\"socketID\":%d,\"nodeID\":%d,\"pcieID\":\"%d\",\"busID\":\"r\"},"
                       "\"vfGroups\":[{\"vfs\":[",
                       i, i, i / 2, i / 2, i);
        for (int k = 0; k < VFS; k++)
            strbuf_appendf(&b, "%s{\"minor\":%d,\"busID\":\"%d:%d\"}", k ? "," : "", k, i, k);
        strbuf_append(&b, "]}]}");
    }
    strbuf_append(&b, "]}}");
    (void)snprintf(name, sizeof name, "n%d", n);
    fake_put(s->client.fake, DEVICES, name, strbuf_str(&b));
}

/* ---- pods and reservations -------------------------------------------------------------------- */

struct wanted {
    char requests[256], annotations[512];
};

static struct wanted draw(struct sim *s)
{
    struct wanted w = { 0 };
    unsigned cards = 1u << below(s, 3), percent = 10 * (1 + below(s, 9));

    switch (below(s, 4)) {
    case 0:
        (void)snprintf(w.requests, sizeof w.requests, "\"koordinator.sh/gpu\":\"%u\"", 100 * cards);
        break;
    case 1:
        (void)snprintf(w.requests, sizeof w.requests, "\"koordinator.sh/gpu\":\"%u\"", percent);
        break;
    case 2:
        (void)snprintf(w.requests, sizeof w.requests,
                       "\"koordinator.sh/gpu.shared\":\"%u\",\"koordinator.sh/gpu-core\":\"%u\","
                       "\"koordinator.sh/gpu-memory-ratio\":\"%u\"",
                       cards, cards * percent, cards * percent);
        break;
    case 3:
        (void)snprintf(w.requests, sizeof w.requests,
                       "\"koordinator.sh/gpu\":\"%u\",\"koordinator.sh/rdma\":\"%u\"", 100 * cards,
                       1 + below(s, 40));
        (void)snprintf(
            w.annotations, sizeof w.annotations,
            "\"" ANNO_DEVICE_JOINT "\":\"{\\\"deviceTypes\\\":[\\\"gpu\\\",\\\"rdma\\\"]%s}\"%s",
            below(s, 2) ? ",\\\"requiredScope\\\":\\\"SamePCIe\\\"" : "",
            below(s, 2) ? ",\"" ANNO_DEVICE_HINT "\":\"{\\\"rdma\\\":{\\\"vfSelector\\\":{}}}\""
                        : "");
        break;
    }
    return w;
}

static void new_pod(struct sim *s)
{
    struct wanted w = draw(s);
    char name[16];

    (void)snprintf(name, sizeof name, "p%d", s->npods++);
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"metadata\":{\"labels\":{\"app\":\"a%u\"},\"annotations\":{%s}},\"spec\":{"
        "\"schedulerName\":\"koord-scheduler\",\"priority\":%u,\"containers\":[{\"name\":\"c\","
        "\"resources\":{\"requests\":{%s}}}]}}",
        below(s, APPS + 2), w.annotations, 10 * below(s, 3), w.requests);
    fake_put(s->client.fake, PODS, name, body);
}

static void new_reservation(struct sim *s)
{
    static const char *const policies[] = { "Aligned", "Restricted" };
    struct wanted w = draw(s);
    char name[16], when[KTIME_TEXT_MAX];

    (void)snprintf(name, sizeof name, "r%d", s->nreservations++);
    ktime_format(loop_wall(s->client.loop), when);
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"metadata\":{\"creationTimestamp\":\"%s\"},\"spec\":{\"ttl\":\"%ds\",\"allocateOnce\":%s"
        ",\"allocatePolicy\":\"%s\",\"owners\":[{\"labelSelector\":{\"matchLabels\":{\"app\":"
        "\"a%u\"}}}],\"template\":{\"metadata\":{\"annotations\":{%s}},\"spec\":{"
        "\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"requests\":{%s}}}]}}}}",
        when, below(s, 3) ? 3600 : (int)(5 + below(s, 60)), below(s, 2) ? "true" : "false",
        policies[below(s, 2)], below(s, APPS), w.annotations, w.requests);
    fake_put(s->client.fake, RESERVATIONS, name, body);
}

static void scheduler_born(struct sim *s)
{
    struct kerr err = { 0 };
    static const char *const names[] = { "koord-scheduler", NULL };

    s->s = scheduler_new(s->client.loop, s->client.kube,
                         &(struct scheduler_opts){
                             .plugins = plugins, .scheduler_names = names, .verify_reuse = true },
                         &err);
    if (!s->s)
        die(s, "no scheduler", err.text);
    scheduler_start(s->s);
}

static void change_something(struct sim *s)
{
    char name[16];
    int node = (int)below(s, NODES);

    switch (below(s, 14)) {
    case 0:
    case 1: new_reservation(s); break;
    case 2:
    case 3:
    case 4:
    case 5:
    case 6: new_pod(s); break;
    case 7:
    case 8:
        (void)snprintf(name, sizeof name, "p%u", below(s, (unsigned)s->npods + 1));
        fake_delete(s->client.fake, PODS, name);
        break;
    case 9:
        (void)snprintf(name, sizeof name, "r%u", below(s, (unsigned)s->nreservations + 1));
        fake_delete(s->client.fake, RESERVATIONS, name);
        break;
    case 10: put_device(s, node, (int)below(s, GPUS + 4) - 4); break;
    case 11: /* not before the scheduler knows it: of a node without a Device it expects nothing */
        if (!scheduler_synced(s->s))
            break;
        (void)snprintf(name, sizeof name, "n%d", node);
        fake_delete(s->client.fake, DEVICES, name);
        client_fixture_run(&s->client, (nsec_t)below(s, 2000) * NSEC_PER_MSEC);
        put_device(s, node, -1);
        break;
    case 12: fake_break_connections(s->client.fake); break;
    case 13: /* killed, and another one comes */
        if (below(s, 3))
            break;
        scheduler_free(s->s);
        scheduler_born(s);
        break;
    }
}

static void set_faults(struct sim *s, bool on)
{
    struct http_faults f = { 0 };

    if (on)
        f = (struct http_faults){ .refuse = 20,
                                  .lose_answer = 40,
                                  .reset = 20,
                                  .status_500 = 20,
                                  .status_429 = 10,
                                  .slow = 200,
                                  .slow_max = 3 * SEC };
    http_fault_set(s->client.faulty, &f);
}

/* ---- a run ------------------------------------------------------------------------------------ */

/* Nothing is held for pods that are gone: one that wants everything gets an empty node. */
static void judge_rest(struct sim *s)
{
    struct picture p;

    picture_take(s, &p);
    vec_foreach(&p.reservations, i)
        s->owners += (unsigned)p.reservations.items[i].owners;
    for (int n = 0; n < NODES; n++)
        for (int i = 0; i < GPUS; i++)
            s->given += p.nodes[n].gpu[i].core > 0;
    for (int n = 0; n < NODES; n++)
        for (int i = 0; i < RDMAS * VFS; i++)
            s->vfs += p.nodes[n].vf[i / VFS][i % VFS] > 0;
    picture_fini(&p);
    for (int i = 0; i < s->npods || i < s->nreservations; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "p%d", i);
        fake_delete(s->client.fake, PODS, name);
        (void)snprintf(name, sizeof name, "r%d", i);
        fake_delete(s->client.fake, RESERVATIONS, name);
    }
    for (int i = 0; i < NODES; i++)
        put_device(s, i, -1);
    client_fixture_run(&s->client, 10 * SEC);
    for (int i = 0; i < NODES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "last%d", i);
        fake_put(s->client.fake, PODS, name,
                 "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\","
                 "\"resources\":{\"requests\":{\"koordinator.sh/gpu\":\"800\"}}}]}}");
    }
    client_fixture_run(&s->client, 30 * SEC);
    for (int i = 0; i < NODES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "last%d", i);
        if (!strstr(fake_find(s->client.fake, PODS, name), "\"nodeName\""))
            die(s, "cards are held for pods that are gone", name);
    }
}

static void run(uint64_t seed, struct sim *sum)
{
    struct sim s = { .seed = seed };
    struct kerr err = { 0 };

    hash_set_key(seed, 1); /* it decides the order of maps */
    client_fixture_init(&s.client, seed);
    fake_on_write(s.client.fake, on_write, &s);
    for (int i = 0; i < NODES; i++) {
        put_node(&s, i);
        put_device(&s, i, -1);
    }
    scheduler_born(&s);
    set_faults(&s, seed % 4 != 0);
    for (int i = 0; i < STEPS; i++) {
        change_something(&s);
        client_fixture_run(&s.client, (nsec_t)below(&s, 4000) * NSEC_PER_MSEC);
    }
    set_faults(&s, false);
    client_fixture_run(&s.client, 900 * SEC);
    judge(&s);
    if (scheduler_verify(s.s, &err) < 0)
        die(&s, "the cache is wrong", err.text);
    judge_rest(&s);
    scheduler_free(s.s);
    client_fixture_fini(&s.client);
    sum->judged += s.judged;
    sum->binds += s.binds;
    sum->owners += s.owners;
    sum->given += s.given;
    sum->vfs += s.vfs;
}

/* Runs [first, first + n). Returns how many things are wrong with them. */
static int run_all(uint64_t first, uint64_t n)
{
    struct sim sum = { 0 };

    for (uint64_t i = 0; i < n; i++)
        run(first + i, &sum);
    printf("%llu runs: %u writes judged, %u bindings, %u cards and %u virtual functions given, "
           "%u owners\n",
           (unsigned long long)n, sum.judged, sum.binds, sum.given, sum.vfs, sum.owners);
    bool idle = n >= 10 && (!sum.owners || !sum.vfs); /* where nothing happens nothing is proved */
    printf("sim_device: %llu passed, %d failed\n", (unsigned long long)(idle ? 0 : n), idle);
    return idle;
}

int main(int argc, char **argv)
{
    static const struct sim_seeds seeds = { SEEDS, 10000, SHARED, run_all };

    return sim_seeds_main(&seeds, argc, argv);
}
