/* use.c - what nodes and pods use just now: of hollow ones as their kubelets have read it, of
 * others as their NodeMetric says.
 */
#include <stdio.h>

#include "api/koord/nodemetric.h"

#include "api/protocol/keys.h"
#include "base/num.h"
#include "base/qty.h"
#include "cluster/hollow.h"

#define REPORT_EVERY (60 * NSEC_PER_SEC)

static const struct hnode *hollow_node(const struct cluster *c, const char *name)
{
    const struct hnode *n = c->hollow ? map_getz(&c->hollow->by_name, name) : NULL;
    return n && !n->shape->name ? n : NULL;
}

static void set_use(struct cluster_use *u, nsec_t at, const struct load_usage *l)
{
    *u = (struct cluster_use){
        .at = at, .window = READING_EVERY, .mcpu = l->mcpu, .bytes = l->bytes
    };
}

/* ---- as reported --------------------------------------------------------------------------------- */

static const struct nodemetric *report_of(const struct cluster *c, const char *node)
{
    const struct kobj *o = c->reports ? informer_get(c->reports, node) : NULL;
    return o && nodemetric_of(o)->status.update_time ? nodemetric_of(o) : NULL;
}

static void set_reported(struct cluster_use *u, const struct nodemetric *m, const reslist *l)
{
    *u = (struct cluster_use){ .at = m->status.update_time,
                               .window = REPORT_EVERY,
                               .mcpu = qty_milli(reslist_get(l, RES_CPU)),
                               .bytes = qty_value(reslist_get(l, RES_MEMORY)) };
    if (m->collect_policy && m->collect_policy->report_interval_seconds.set)
        u->window = i64_mul_sat(m->collect_policy->report_interval_seconds.v, NSEC_PER_SEC);
}

static bool reported_pod(const struct cluster *c, const struct cluster_pod *pod,
                         struct cluster_use *ret)
{
    const struct nodemetric *m = *pod->node ? report_of(c, pod->node) : NULL;

    for (uint32_t i = 0; m && i < m->status.pods_metric.n; i++) {
        const struct pod_metric_info *p = &m->status.pods_metric.items[i];
        if (streq(p->name, pod->name) && streq(p->ns, pod->ns)) {
            set_reported(ret, m, &p->usage.resources);
            return true;
        }
    }
    return false;
}

/* ---- what others ask ------------------------------------------------------------------------------ */

bool cluster_node_use(const struct cluster *c, const char *name, struct cluster_use *ret)
{
    const struct hnode *n = hollow_node(c, name);
    const struct nodemetric *m = n ? NULL : report_of(c, name);

    if (n && !n->gone && n->used_until)
        set_use(ret, n->used_until, &n->use);
    else if (m && m->status.node_metric)
        set_reported(ret, m, &m->status.node_metric->node_usage.resources);
    else
        return false;
    return true;
}

bool cluster_pod_use(const struct cluster *c, const struct cluster_pod *pod,
                     struct cluster_use *ret)
{
    char key[512];

    (void)snprintf(key, sizeof key, "%s/%s", pod->ns, pod->name);
    const struct hpod *hp = c->hollow ? map_getz(&c->hollow->pods, key) : NULL;
    if (hp && hollow_node(c, hp->node->name)) {
        /* Between its start and the next reading nothing is known of it. */
        if (!streq(hp->uid_text, pod->uid) || !husage_runs(hp) ||
            hp->started_at > hp->node->used_until)
            return false;
        set_use(ret, hp->node->used_until, &hp->usage.now);
        return true;
    }
    return reported_pod(c, pod, ret);
}
