/* hollow_usage.c - what the pods of hollow nodes want, what they get, and what comes of it.
 *
 * Every node is read each 15 s, and before it reports: what its pods want at that moment by their
 * profiles, and how the node's CPU is shared among them (contention.h). What a pod gets then counts
 * for the time since the reading before. Memory is not contended: pods get what they want.
 */
#include "api/koord/nodeslo.h"
#include "api/podresources.h"
#include "api/protocol/pod_protocol.h"
#include "base/num.h"
#include "base/qty.h"
#include "cluster/hollow.h"

#define NSEC_PER_MIN (60 * NSEC_PER_SEC)
#define QUARTER      (15 * NSEC_PER_MIN)
/* Nodes take turns, so that none of them waits for all the others. */
#define SLOT_EVERY NSEC_PER_SEC
enum { SLOTS = READING_EVERY / SLOT_EVERY };

/* ---- what a pod wants -------------------------------------------------------------------------- */

/* cpu or memory, by whichever name the pod's class has for it; 0: it has none. */
static int64_t count(const reslist *l, const char *name)
{
    for (unsigned c = PRIO_PROD; c <= PRIO_BATCH; c++) {
        const char *of_class = resource_of_class((enum priority_class)c, name);
        if (reslist_has(l, of_class))
            return resource_count(of_class, reslist_get(l, of_class));
    }
    return 0;
}

/* Without a profile: a third of the cpu and half of the memory that was asked for. Work takes all
 * the cpu that it may have. */
static struct load default_load(const struct hdemand *d)
{
    int64_t all = d->limit_mcpu ? d->limit_mcpu : d->request_mcpu ? d->request_mcpu : 1000;

    return (struct load){
        .kind = LOAD_CONSTANT,
        .low_mcpu = d->work           ? all
                    : d->request_mcpu ? d->request_mcpu * 3 / 10
                                      : 50,
        .low_bytes = d->request_bytes ? d->request_bytes / 2 : 64 << 20,
        .noise = d->work ? 0 : 0.1,
    };
}

static int parse_work(const char *text, int64_t *ret, struct kerr *err)
{
    struct qty q;

    if (qty_parse(text, strlen(text), &q, err) < 0)
        return err->code;
    /* A thousandth of a CPU-second is a core-millisecond. */
    int64_t work = qty_milli(q);
    if (work <= 0 || work > INT64_C(1) << 50)
        return kerr_set(err, -ERANGE, "must be a number of CPU-seconds above 0");
    *ret = work;
    return 0;
}

static void complain(const struct hpod *hp, const struct pod *p, const char *reason,
                     const char *annotation, const struct kerr *err)
{
    recorder_event_on(hp->node->h->c->events, &p->obj, true, reason, NULL, "annotation %s: %s",
                      annotation, err->text);
}

static void read_demand(struct hpod *hp, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const char *load = meta_annotation(&p->obj, ANNO_LOAD);
    const char *work = meta_annotation(&p->obj, ANNO_WORK);
    reslist limits = pod_limits(p, NULL, a), requests = pod_requests(p, NULL, a);
    struct hdemand d = { .limit_mcpu = count(&limits, RES_CPU),
                         .limit_bytes = count(&limits, RES_MEMORY),
                         .request_mcpu = count(&requests, RES_CPU),
                         .request_bytes = count(&requests, RES_MEMORY) };
    struct kerr err = { 0 };

    if (*work && parse_work(work, &d.work, &err) < 0)
        complain(hp, p, "InvalidWork", ANNO_WORK, &err);
    d.load = default_load(&d);
    if (*load && load_parse(load, &d.load, &err) < 0)
        complain(hp, p, "InvalidLoadProfile", ANNO_LOAD, &err);
    d.be = pod_qos_class(p) == QOS_BE;
    d.prod = pod_priority_class(p) == PRIO_PROD;
    d.service = !d.be && !d.work && p->spec->restart_policy != RESTART_NEVER &&
                p->spec->restart_policy != RESTART_ON_FAILURE;
    hp->demand = d;
    hp->demand_known = true;
}

const struct hdemand *husage_demand(struct hpod *hp, const struct pod *p)
{
    if (!hp->demand_known)
        read_demand(hp, p);
    return &hp->demand;
}

static struct load_usage wanted(const struct hpod *hp, nsec_t now)
{
    const struct hdemand *d = &hp->demand;
    struct load_usage u = load_at(&d->load, hp->seed, now);

    if (d->limit_mcpu)
        u.mcpu = MIN(u.mcpu, d->limit_mcpu);
    if (d->limit_bytes)
        u.bytes = MIN(u.bytes, d->limit_bytes);
    return u;
}

/* Kernel, runtime, agents: two percent and half a gigabyte, about. */
static struct load_usage system_at(const struct hnode *n, nsec_t wall)
{
    struct load l = { .kind = LOAD_CONSTANT,
                      .low_mcpu = n->shape->mcpu / 50,
                      .low_bytes = MIN(n->shape->memory_bytes / 20, INT64_C(1) << 29),
                      .noise = 0.2 };
    return load_at(&l, n->h->o.seed + n->index, wall);
}

/* ---- life of a pod ----------------------------------------------------------------------------- */

bool husage_runs(const struct hpod *hp)
{
    return hp->demand_known && (hp->stage == H_STARTED || hp->stage == H_READY);
}

void husage_pod_changed(struct hpod *hp)
{
    hp->demand_known = false;
}

void husage_pod_lost(struct hpod *hp)
{
    hp->node->h->sum.work_lost += hp->usage.done;
    hp->usage = (struct husage){ 0 };
}

void husage_pod_ended(struct hpod *hp)
{
    hp->node->h->sum.work_done += hp->usage.done;
    hp->usage = (struct husage){ 0 };
}

/* ---- a reading --------------------------------------------------------------------------------- */

static void note_peak(struct husage *u, nsec_t now)
{
    nsec_t quarter = now / QUARTER;

    if (quarter != u->quarter) {
        bool next = quarter == u->quarter + 1;
        u->peak_mcpu[1] = next ? u->peak_mcpu[0] : 0;
        u->peak_bytes[1] = next ? u->peak_bytes[0] : 0;
        u->peak_mcpu[0] = u->peak_bytes[0] = 0;
        u->quarter = quarter;
    }
    u->peak_mcpu[0] = MAX(u->peak_mcpu[0], u->now.mcpu);
    u->peak_bytes[0] = MAX(u->peak_bytes[0], u->now.bytes);
}

static void note_slow(struct hpod *hp, nsec_t now)
{
    nsec_t minute = now / NSEC_PER_MIN;

    if (hp->usage.slow_minute == minute)
        return;
    hp->usage.slow_minute = minute;
    hp->node->h->sum.slow_minutes++;
}

static void note_work(struct hpod *hp, nsec_t since, nsec_t now)
{
    int64_t ms = (now - MAX(since, hp->started_at)) / NSEC_PER_MSEC;

    hp->usage.done += i64_muldiv(hp->usage.now.mcpu, MAX(ms, INT64_C(0)), 1000);
    if (hp->usage.done < hp->demand.work)
        return;
    hp->usage.done = hp->demand.work;
    controller_add(hp->node->h->pod_controller, hp->key);
}

/* Wishes become claims, in the order of the pods. Returns what others than best effort want. */
static int64_t claim(struct hnode *n, nsec_t now)
{
    struct hollow *h = n->h;
    int64_t others = 0;

    vec_clear(&h->others);
    vec_clear(&h->be);
    vec_foreach(&n->pods, i) {
        struct hpod *hp = n->pods.items[i];
        struct kobj *o = hp->demand_known ? NULL : informer_get(h->pod_cache, hp->key);
        if (o)
            read_demand(hp, pod_of(o));
        if (!husage_runs(hp))
            continue;
        hp->usage.now = wanted(hp, now);
        struct cpu_claim c = { hp->usage.now.mcpu, cpu_weight(hp->demand.request_mcpu), 0 };
        if (hp->demand.be)
            vec_push(&h->be, c);
        else
            vec_push(&h->others, c);
        others += hp->demand.be ? 0 : c.want_mcpu;
    }
    return others;
}

static void share(struct hnode *n, int64_t others)
{
    struct kobj *slo = informer_get(n->h->slo_cache, n->name);
    const struct threshold_strategy *t = slo ? nodeslo_of(slo)->spec.threshold : NULL;
    int64_t room = MAX(n->shape->mcpu - n->system.mcpu, INT64_C(0));

    cpu_share(&n->h->others, &n->h->be, room,
              cpu_suppressed(t, n->shape->mcpu, MIN(others, room), n->system.mcpu));
}

static void settle(struct hnode *n, nsec_t now)
{
    struct hollow *h = n->h;
    size_t be = 0, other = 0;

    n->use = n->system;
    n->be_mcpu = 0;
    n->services_short = 0;
    vec_foreach(&n->pods, i) {
        struct hpod *hp = n->pods.items[i];
        if (!husage_runs(hp))
            continue;
        const struct cpu_claim *c = hp->demand.be ? &h->be.items[be++] : &h->others.items[other++];
        hp->usage.now.mcpu = c->got_mcpu;
        n->use.mcpu += c->got_mcpu;
        n->use.bytes = i64_add_sat(n->use.bytes, hp->usage.now.bytes);
        n->be_mcpu += hp->demand.be ? c->got_mcpu : 0;
        note_peak(&hp->usage, now);
        if (hp->demand.service && c->got_mcpu < c->want_mcpu) {
            n->services_short++;
            note_slow(hp, now);
        }
    }
    n->use.mcpu = MIN(n->use.mcpu, n->shape->mcpu);
    n->use.bytes = MIN(n->use.bytes, n->shape->memory_bytes);
}

/* What was shared out holds for the time since the last reading. */
static void count_time(struct hnode *n, nsec_t since, nsec_t now)
{
    struct cluster_usage *sum = &n->h->sum;
    int64_t ms = (now - since) / NSEC_PER_MSEC;

    sum->capacity += i64_muldiv(n->shape->mcpu, ms, 1000);
    sum->used += i64_muldiv(n->use.mcpu, ms, 1000);
    sum->best_effort += i64_muldiv(n->be_mcpu, ms, 1000);
    vec_foreach(&n->pods, i) {
        struct hpod *hp = n->pods.items[i];
        if (husage_runs(hp) && hp->demand.work)
            note_work(hp, since, now);
    }
}

static void keep_reading(struct hnode *n, nsec_t now)
{
    struct hreadings *r = &n->readings;

    if (r->n && now - n->reading_at < READING_EVERY)
        return;
    n->reading_at = now;
    r->mcpu[r->next] = (uint32_t)MIN(n->use.mcpu, (int64_t)UINT32_MAX);
    r->kib[r->next] = (uint32_t)MIN(n->use.bytes >> 10, (int64_t)UINT32_MAX);
    r->next = (r->next + 1) % READINGS_MAX;
    r->n = MIN(r->n + 1, (uint32_t)READINGS_MAX);
}

void husage_read(struct hnode *n)
{
    nsec_t now = loop_wall(n->h->c->loop), since = n->used_until;

    if (now <= since && since - now < NSEC_PER_MIN)
        return; /* a moment ago; a clock set back by more begins anew */
    n->system = system_at(n, now);
    share(n, claim(n, now));
    settle(n, now);
    if (since && since < now)
        count_time(n, since, now);
    keep_reading(n, now);
    n->used_until = now;
}

/* ---- every node in its turn -------------------------------------------------------------------- */

static void on_slot(struct loop *l, void *arg)
{
    struct hollow *h = arg;

    h->usage_timer = loop_after(l, SLOT_EVERY, on_slot, h);
    for (size_t i = h->usage_slot; i < h->n; i += SLOTS)
        if (h->nodes[i].registered && !h->nodes[i].gone)
            husage_read(&h->nodes[i]);
    h->usage_slot = (h->usage_slot + 1) % SLOTS;
}

void husage_start(struct hollow *h)
{
    h->usage_timer = loop_after(h->c->loop, SLOT_EVERY, on_slot, h);
}

void husage_stop(struct hollow *h)
{
    h->usage_timer = timer_cancel(h->usage_timer);
    vec_fini(&h->others);
    vec_fini(&h->be);
}

/* ---- what others may know ---------------------------------------------------------------------- */

struct cluster_usage cluster_usage(const struct cluster *c)
{
    return c->hollow ? c->hollow->sum : (struct cluster_usage){ 0 };
}

bool cluster_node_usage(const struct cluster *c, size_t i, struct cluster_node_usage *ret)
{
    if (!c->hollow || i >= c->hollow->n)
        return false;
    const struct hnode *n = &c->hollow->nodes[i];
    *ret = (struct cluster_node_usage){ n->name, n->shape->mcpu, n->use.mcpu, n->be_mcpu,
                                        n->services_short };
    return true;
}
