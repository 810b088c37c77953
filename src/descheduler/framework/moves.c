/* moves.c - what follows from moves: who may be moved again, and when. */
#include "descheduler/framework/moves_int.h"

#include <stdio.h>

#include "api/pod.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "client/informer.h"
#include "client/kube.h"
#include "controllers/caches.h"
#include "descheduler/framework/plugin.h"
#include "loop/loop.h"

#define HOUR      (3600 * NSEC_PER_SEC)
#define DAY       (24 * HOUR)
#define SETTLE    HOUR
#define RETURN    (12 * HOUR)
#define LONGEST   (7 * DAY)
#define MAX_A_DAY 2 /* for each pod */
#define TEMPLATE  "pod-template-hash"

/* ---- workloads -------------------------------------------------------------------------------- */

enum { KEY_MAX = 600 };
/* Of a ReplicaSet that a Deployment made, the Deployment, so that a rollout changes nothing. */
static bool workload_key(const struct pod *p, char *key)
{
    const struct owner_ref *o = kobj_controller(&p->obj);
    const char *hash = kstrmap_get(&p->obj.meta.labels, TEMPLATE);
    size_t cut = 0;

    if (!o)
        return false;
    size_t n = strlen(o->name);
    if (streq(o->kind, "ReplicaSet") && hash && str_ends(o->name, hash) && n > strlen(hash) + 1)
        cut = strlen(hash) + 1;
    (void)snprintf(key, KEY_MAX, "%s/%s/%.*s", p->obj.meta.ns, cut ? "Deployment" : o->kind,
                   (int)(n - cut), o->name);
    return true;
}

static void text_free(const char *text) /* one that is ours */
{
    free((void *)(uintptr_t)text);
}

static struct moved *moved_free(struct moved *w)
{
    for (uint32_t i = 0; i < w->nnodes; i++)
        text_free(w->nodes[i].node);
    text_free(w->key);
    free(w);
    return NULL;
}

static struct moved *get(const struct moves *m, const char *key)
{
    return map_getz(&m->all, key);
}

static void forget_oldest(struct moves *m)
{
    struct moved *oldest = NULL;

    map_foreach(&m->all, e) {
        struct moved *w = e->value;
        if (!oldest || w->last < oldest->last ||
            (w->last == oldest->last && strcmp(w->key, oldest->key) < 0))
            oldest = w;
    }
    map_removez(&m->all, oldest->key);
    moved_free(oldest);
}

struct moved *moves_make(struct moves *m, const char *key)
{
    struct moved *w = get(m, key);

    if (w)
        return w;
    if (m->all.n >= MOVES_WORKLOADS)
        forget_oldest(m);
    w = xnew0(struct moved);
    w->key = xstrdup(key);
    map_putz(&m->all, w->key, w);
    return w;
}

static struct moved_node *node_of_workload(struct moved *w, const char *node)
{
    for (uint32_t i = 0; i < w->nnodes; i++)
        if (streq(w->nodes[i].node, node))
            return &w->nodes[i];
    return NULL;
}

/* To the front; the one behind falls out when there are too many. */
static void note_node(struct moved *w, const char *node, nsec_t now)
{
    struct moved_node *found = node_of_workload(w, node), x = { 0 };

    if (found)
        x = *found;
    else if (w->nnodes == MOVES_NODES)
        text_free(w->nodes[MOVES_NODES - 1].node);
    uint32_t behind = found ? (uint32_t)(found - w->nodes) : MIN(w->nnodes, MOVES_NODES - 1u);
    memmove(&w->nodes[1], &w->nodes[0], behind * sizeof w->nodes[0]);
    if (!found) {
        x.node = xstrdup(node);
        w->nnodes = MIN(w->nnodes + 1, (uint32_t)MOVES_NODES);
    }
    x.at = now;
    w->nodes[0] = x;
}

/* ---- rules ------------------------------------------------------------------------------------ */

static nsec_t doubled(nsec_t base, int32_t times)
{
    return times >= 10 ? LONGEST : MIN(base << times, LONGEST);
}

static uint32_t moves_in_a_day(const struct moved *w, nsec_t now)
{
    uint32_t n = 0;

    while (n < w->ntimes && now - w->times[n] < DAY)
        n++;
    return n;
}

static size_t pods_of(const struct moves *m, const struct pod *p)
{
    const struct owner_ref *o = kobj_controller(&p->obj);
    kobjvec pods = { 0 };

    objects_by_owner(m->o.pods, o->uid, &pods);
    size_t n = pods.n;
    vec_fini(&pods);
    return MAX(n, (size_t)1);
}

/* The replacement of a pod that was moved: younger than a move. */
static bool is_fresh(const struct moved *w, const struct pod *p, nsec_t now)
{
    nsec_t made = p->obj.meta.created;

    if (now - made >= SETTLE)
        return false;
    for (uint32_t i = 0; i < w->ntimes; i++)
        if (made >= w->times[i] / NSEC_PER_SEC * NSEC_PER_SEC)
            return true;
    return false;
}

static bool no_until(struct kd_why *why, const char *text, nsec_t until)
{
    char when[KTIME_TEXT_MAX];

    if (!why)
        return false;
    (void)ktime_format(until, when);
    return kd_no(why, "%s; it stays until %s", text, when);
}

bool moves_allow(const struct moves *m, const struct pod *p, nsec_t now, struct kd_why *why)
{
    char key[KEY_MAX];
    struct moved *w = m->all.n && workload_key(p, key) ? get(m, key) : NULL;

    if (!w)
        return true;
    if (w->until > now)
        return no_until(why, "its workload heats every node it lands on", w->until);
    const struct moved_node *n = node_of_workload(w, p->node_name);
    if (n && n->until > now)
        return no_until(why, "its workload came back to this node after a move", n->until);
    if (is_fresh(w, p, now))
        return no_until(why, "it replaces a pod that was moved", p->obj.meta.created + SETTLE);
    return true;
}

void moves_add(struct moves *m, const struct pod *p, nsec_t now)
{
    char key[KEY_MAX];

    if (!workload_key(p, key))
        return;
    struct moved *w = moves_make(m, key);
    note_node(w, p->node_name, now);
    w->ntimes = MIN(w->ntimes + 1, (uint32_t)MOVES_TIMES);
    memmove(&w->times[1], &w->times[0], (w->ntimes - 1) * sizeof w->times[0]);
    w->times[0] = w->last = now;
    if (moves_in_a_day(w, now) >= MAX_A_DAY * pods_of(m, p)) {
        w->until = now + doubled(DAY, w->strikes);
        w->strikes++;
    }
    moves_changed(m);
}

nsec_t moves_last(const struct moves *m, const struct pod *p)
{
    char key[KEY_MAX];
    const struct moved *w = m->all.n && workload_key(p, key) ? get(m, key) : NULL;

    return w ? w->last : 0;
}

/* ---- who came back ---------------------------------------------------------------------------- */

static void look(struct moves *m, const struct pod *p)
{
    char key[KEY_MAX];
    struct moved *w = m->all.n && *p->node_name && workload_key(p, key) ? get(m, key) : NULL;
    struct moved_node *n = w ? node_of_workload(w, p->node_name) : NULL;
    nsec_t made = p->obj.meta.created;

    if (!n || made < n->at / NSEC_PER_SEC * NSEC_PER_SEC || made <= n->seen)
        return;
    n->seen = made;
    n->until = loop_wall(m->o.loop) + doubled(RETURN, n->returns);
    n->returns++;
    moves_changed(m);
}

static void on_add(void *arg, struct kobj *o)
{
    look(arg, pod_of(o));
}

static void on_update(void *arg, struct kobj *before, struct kobj *o)
{
    if (!streq(pod_of(before)->node_name, pod_of(o)->node_name))
        look(arg, pod_of(o));
}

static const struct informer_handler news = { .on_add = on_add, .on_update = on_update };

/* ---- life ------------------------------------------------------------------------------------- */

struct moves *moves_new(const struct moves_opts *o)
{
    struct moves *m = xnew0(struct moves);

    m->o = *o;
    m->ns = xstrdup(o->ns);
    m->name = xstrdup(o->name);
    return m;
}

struct moves *moves_free(struct moves *m)
{
    if (!m)
        return NULL;
    informer_remove_handler(m->news);
    kube_cancel(m->call);
    timer_cancel(m->timer);
    map_foreach(&m->all, e)
        moved_free(e->value);
    map_fini(&m->all);
    free(m->ns);
    free(m->name);
    free(m);
    return NULL;
}

void moves_start(struct moves *m)
{
    if (m->started)
        return;
    m->started = true;
    moves_read(m);
    /* What was moved is known before who came back is asked: handlers come in a later turn, and
     * a pod that the store knows as seen counts once. */
    m->news = informer_add_handler(m->o.pods, &news, m);
}

bool moves_ready(const struct moves *m)
{
    return m->ready;
}
