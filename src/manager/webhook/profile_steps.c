/* profile_steps.c - the profiles that match a pod or a Reservation, applied in the order of their
 * names (manager 7.3, 8.1). */
#include "manager/webhook/profile_steps.h"

#include "loop/loop.h"
#include "manager/webhook/webhook_int.h"

struct matches {
    const struct profile **items; /* by name */
    size_t n;
};

static int find_matches(struct webhook_call *c, bool any_namespace, struct matches *ret)
{
    const struct webhook_source *s = c->w->src;
    const struct profile_set *set = s->profiles ? s->profiles(s->self) : NULL;
    struct kj_mval *meta = kj_mget(c->obj, "metadata");
    const char *ns = kj_mstr_get(kj_mget(meta, "namespace"));
    struct profile_subject subject = { .any_namespace = any_namespace };
    size_t n = set ? profile_set_count(set) : 0;
    kstrmap labels;

    *ret = (struct matches){ 0 };
    if (n == 0)
        return 0;
    if (tree_strmap(kj_mget(meta, "labels"), c->a, &labels) < 0)
        return webhook_refuse(c, 400, "metadata.labels: not a map of texts");
    subject.labels = &labels;
    if (!any_namespace && s->namespace_labels)
        subject.namespace_labels = s->namespace_labels(s->self, str_empty(ns) ? c->r->ns : ns);
    ret->items = arena_newn0(c->a, n, const struct profile *);
    for (size_t i = 0; i < n; i++) {
        const struct profile *p = profile_set_at(set, i);
        if (profile_match(p, &subject) == PROFILE_MATCHES)
            ret->items[ret->n++] = p;
    }
    return 0;
}

static void warn_overrides(struct webhook_call *c, const struct profile_target *t)
{
    for (const struct profile_change *x = t->first; x; x = x->next) {
        const struct profile_change *o = profile_change_overrides(t, x);
        if (o)
            webhook_warn(c,
                         "ClusterColocationProfile %s sets %s to \"%s\" and overrides \"%s\" of "
                         "ClusterColocationProfile %s",
                         profile_name(x->by), profile_change_field(x, c->a), str_or(x->to, ""),
                         str_or(o->to, ""), profile_name(o->by));
    }
}

static bool is_drawn(struct webhook_call *c, const struct profile *p)
{
    if (p->percent >= 100 || c->w->always_drawn)
        return p->percent > 0;
    return profile_drawn(p, loop_rand_below(c->w->loop, 100));
}

static int apply_all(struct webhook_call *c, const struct matches *m, struct profile_target *t,
                     struct profiles_done *done)
{
    struct kerr err = { 0 };

    for (size_t i = 0; i < m->n; i++) {
        const struct profile *p = m->items[i];
        done->skips_resources |= p->skips_resources;
        if (p->bad_percent)
            return webhook_refuse(c, 500, "%s", p->bad_percent);
        if (is_drawn(c, p) && profile_apply(p, t, &err) < 0)
            return webhook_refuse(c, 500, "%s", err.text);
    }
    return 0;
}

int profiles_run(struct webhook_call *c, bool is_reservation, struct profiles_done *ret)
{
    const struct webhook_source *s = c->w->src;
    struct profile_target t = {
        .d = c->d,
        .obj = c->obj,
        .is_reservation = is_reservation,
        .merge = is_reservation ? c->w->reservation_merge : c->w->pod_merge,
        .priority_class = s->priority_class,
        .self = s->self,
        .a = c->a,
    };
    struct matches m;

    *ret = (struct profiles_done){ 0 };
    if (find_matches(c, is_reservation, &m) < 0)
        return -1;
    int r = apply_all(c, &m, &t, ret);
    if (c->w->applied)
        c->w->applied(c->w->applied_arg, &t);
    if (r < 0)
        return r;
    warn_overrides(c, &t);
    ret->matched = m.n;
    c->answer->changed |= t.changed;
    return 0;
}
