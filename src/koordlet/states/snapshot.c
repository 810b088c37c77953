/* snapshot.c - snapshots share what did not change: a new one costs one small block. */
#include "koordlet/states/snapshot.h"

#include "base/arena.h"
#include "base/klog.h"
#include "base/vec.h"
#include "loop/loop.h"

const struct collect_policy collect_policy_default = {
    .aggregate = 300 * NSEC_PER_SEC,
    .report_interval = 60 * NSEC_PER_SEC,
    .durations = { 300 * NSEC_PER_SEC, 600 * NSEC_PER_SEC, 1800 * NSEC_PER_SEC },
    .ndurations = 3,
    .memory = MEMORY_WITHOUT_PAGE_CACHE,
};

/* ---- a snapshot ------------------------------------------------------------------------------ */

struct snapshot_block { /* decoded once, held by every snapshot that shows it */
    uint32_t refs;
    struct arena *arena;
    union {
        struct nodeslo_spec slo;
        struct kubelet_config kubelet;
    };
};

static struct snapshot_block *block_new(struct arena *a)
{
    struct snapshot_block *b = xnew0(struct snapshot_block);
    b->refs = 1;
    b->arena = a;
    return b;
}

static struct snapshot_block *block_ref(struct snapshot_block *b)
{
    if (b)
        b->refs++;
    return b;
}

static void block_unref(struct snapshot_block *b)
{
    if (!b || --b->refs > 0)
        return;
    arena_free(b->arena);
    free(b);
}

static struct kobj *object(const struct kobj *o)
{
    return (struct kobj *)(uintptr_t)o;
}

const struct snapshot *snapshot_ref(const struct snapshot *s)
{
    ((struct snapshot *)(uintptr_t)s)->refs++;
    return s;
}

const struct snapshot *snapshot_unref(const struct snapshot *cs)
{
    struct snapshot *s = (struct snapshot *)(uintptr_t)cs;

    if (!s || --s->refs > 0)
        return NULL;
    if (s->node)
        kobj_unref(object(&s->node->obj));
    if (s->nodemetric)
        kobj_unref(object(&s->nodemetric->obj));
    podset_unref(s->pods);
    block_unref(s->slo_block);
    block_unref(s->kubelet_block);
    free(s);
    return NULL;
}

/* A copy that somebody is about to change. */
static struct snapshot *snapshot_copy(const struct snapshot *s)
{
    struct snapshot *c = xmemdup(s, sizeof *s);

    c->refs = 1;
    if (c->node)
        kobj_ref(object(&c->node->obj));
    if (c->nodemetric)
        kobj_ref(object(&c->nodemetric->obj));
    if (c->pods)
        podset_ref(c->pods);
    block_ref(c->slo_block);
    block_ref(c->kubelet_block);
    return c;
}

/* ---- the publisher --------------------------------------------------------------------------- */

enum { TOPICS = STATES_POLICY + 1 };
struct listener {
    const char *name;
    states_fn fn;
    void *arg;
};
struct snapshots {
    struct loop *loop;
    const struct snapshot *now;
    struct topic {
        struct vec_of(struct listener) listeners;
        bool pending;
    } topics[TOPICS];
    struct timer *telling;
};

struct snapshots *snapshots_new(struct loop *l)
{
    struct snapshots *p = xnew0(struct snapshots);

    p->loop = l;
    struct snapshot *first = xnew0(struct snapshot);
    first->refs = 1;
    first->policy = collect_policy_default;
    p->now = first;
    return p;
}

struct snapshots *snapshots_free(struct snapshots *p)
{
    if (!p)
        return NULL;
    timer_cancel(p->telling);
    snapshot_unref(p->now);
    for (size_t t = 0; t < TOPICS; t++)
        vec_fini(&p->topics[t].listeners);
    free(p);
    return NULL;
}

const struct snapshot *snapshots_get(const struct snapshots *p)
{
    return p->now;
}

void snapshots_publish(struct snapshots *p, const struct snapshot *s)
{
    const struct snapshot *before = p->now;

    p->now = s;
    snapshot_unref(before);
}

void snapshots_set_node(struct snapshots *p, struct kobj *node)
{
    struct snapshot *s = snapshot_copy(p->now);

    if (s->node)
        kobj_unref(object(&s->node->obj));
    s->node = node_of(kobj_ref(node));
    snapshots_publish(p, s);
}

void snapshots_set_pods(struct snapshots *p, struct podset *pods)
{
    struct snapshot *s = snapshot_copy(p->now);

    podset_unref(s->pods);
    s->pods = pods;
    snapshots_publish(p, s);
    snapshots_tell(p, STATES_PODS);
}

void snapshots_set_nodeslo(struct snapshots *p, const struct nodeslo_spec *slo, struct arena *a)
{
    struct snapshot_block *b = block_new(a);
    struct snapshot *s = snapshot_copy(p->now);

    b->slo = *slo;
    block_unref(s->slo_block);
    s->slo_block = b;
    s->slo = &b->slo;
    snapshots_publish(p, s);
    snapshots_tell(p, STATES_NODESLO);
}

void snapshots_set_nodemetric(struct snapshots *p, struct kobj *nodemetric)
{
    struct snapshot *s = snapshot_copy(p->now);

    if (s->nodemetric)
        kobj_unref(object(&s->nodemetric->obj));
    s->nodemetric = nodemetric ? nodemetric_of(kobj_ref(nodemetric)) : NULL;
    snapshots_publish(p, s);
}

void snapshots_set_kubelet(struct snapshots *p, const struct kubelet_config *c, struct arena *a)
{
    struct snapshot_block *b = block_new(a);
    struct snapshot *s = snapshot_copy(p->now);

    b->kubelet = *c;
    block_unref(s->kubelet_block);
    s->kubelet_block = b;
    s->kubelet = &b->kubelet;
    snapshots_publish(p, s);
}

void snapshots_set_policy(struct snapshots *p, const struct collect_policy *policy)
{
    struct snapshot *s = snapshot_copy(p->now);

    s->policy = *policy;
    snapshots_publish(p, s);
    snapshots_tell(p, STATES_POLICY);
}

/* ---- listeners ------------------------------------------------------------------------------- */

void snapshots_on(struct snapshots *p, enum states_topic t, const char *name, states_fn fn,
                  void *arg)
{
    struct listener e = { name, fn, arg };
    struct topic *topic = &p->topics[t];

    vec_foreach(&topic->listeners, i)
        assert(!streq(topic->listeners.items[i].name, name));
    vec_push(&topic->listeners, e);
}

static void tell(struct loop *l, void *arg)
{
    struct snapshots *p = arg;

    (void)l;
    p->telling = NULL; /* a listener may cause news: they come in a turn of their own */
    for (size_t t = 0; t < TOPICS; t++) {
        struct topic *topic = &p->topics[t];
        if (!topic->pending)
            continue;
        topic->pending = false;
        vec_foreach(&topic->listeners, i) {
            KLOG_I(6, "Calling a listener", KV_S("listener", topic->listeners.items[i].name));
            topic->listeners.items[i].fn(topic->listeners.items[i].arg);
        }
    }
}

void snapshots_tell(struct snapshots *p, enum states_topic t)
{
    p->topics[t].pending = true;
    if (!p->telling)
        p->telling = loop_after(p->loop, 0, tell, p);
}
