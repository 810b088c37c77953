/* util.c - small things that several controllers need. */
#include <stdio.h>

#include "base/ktime.h"
#include "base/num.h"
#include "cluster/internal.h"

void name_suffix(struct loop *l, char out[6])
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    for (int i = 0; i < 5; i++)
        out[i] = letters[loop_rand_below(l, sizeof letters - 1)];
    out[5] = '\0';
}

void write_owner_ref(struct kjw *w, const char *key, const struct kind *k, const struct kobj *o)
{
    char version[128], uid[KUID_TEXT_MAX];
    kind_api_version(k, version, sizeof version);
    kuid_format(o->meta.uid, uid, sizeof uid);
    kjw_obj(w, key);
    kjw_str(w, "apiVersion", version);
    kjw_str(w, "kind", k->kind);
    kjw_str(w, "name", o->meta.name);
    kjw_str(w, "uid", uid);
    kjw_bool(w, "controller", true);
    kjw_bool(w, "blockOwnerDeletion", true);
    kjw_end(w);
}

int64_t int_or_percent(const struct int_or_str *v, int64_t n, bool up)
{
    int64_t percent;
    size_t len = v->s ? strlen(v->s) : 0;

    if (!v->s)
        return v->i;
    if (len < 2 || v->s[len - 1] != '%' || i64_parse(v->s, len - 1, &percent) < 0)
        return 0;
    percent = MIN(MAX(percent, (int64_t)0), (int64_t)1000000);
    return (i64_mul_sat(n, percent) + (up ? 99 : 0)) / 100;
}

void write_time(struct kjw *w, const char *key, nsec_t wall)
{
    char text[KTIME_TEXT_MAX];
    size_t n = ktime_format(wall, text);
    kjw_strn(w, key, text, n);
}

void write_version(struct kjw *w, const struct kobj *o)
{
    kjw_obj(w, "metadata");
    kjw_str(w, "resourceVersion", o->meta.resource_version);
    kjw_end(w);
}

bool pod_is_active(const struct pod *p)
{
    return !pod_is_terminal(p) && p->obj.meta.deleted == 0;
}

bool pod_is_refused(const struct pod *p)
{
    bool removed = p->status.phase == POD_PENDING && p->obj.meta.deleted != 0;

    if (str_empty(p->node_name) || (p->status.phase != POD_FAILED && !removed))
        return false;
    for (uint32_t i = 0; i < p->status.container_statuses.n; i++) {
        const struct container_status *c = &p->status.container_statuses.items[i];
        if (c->state.running || c->state.terminated || c->restart_count > 0)
            return false;
    }
    return true;
}

bool pod_is_available(const struct pod *p, nsec_t min_ready, nsec_t now, nsec_t *ret_wait)
{
    const struct condition *ready = condition_find(&p->status.conditions, "Ready");

    *ret_wait = 0;
    if (!ready || ready->status != COND_TRUE)
        return false;
    if (min_ready == 0 || ready->last_transition_time + min_ready <= now)
        return true;
    *ret_wait = ready->last_transition_time + min_ready - now;
    return false;
}

const char *meta_annotation(const struct kobj *o, const char *key)
{
    return str_or(kstrmap_get(&o->meta.annotations, key), "");
}

bool meta_has_finalizer(const struct kobj *o, const char *name)
{
    for (uint32_t i = 0; i < o->meta.finalizers.n; i++)
        if (streq(o->meta.finalizers.items[i], name))
            return true;
    return false;
}

/* ---- conditions ---------------------------------------------------------------------------- */

const struct wcond *wcond_find(const wcondlist *l, const char *type)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].type, type))
            return &l->items[i];
    return NULL;
}

wcondlist wcond_remove(const wcondlist *l, const char *type, struct arena *a)
{
    wcondlist out = { arena_newn0(a, l->n + 1, struct wcond), 0 };
    for (uint32_t i = 0; i < l->n; i++)
        if (!streq(l->items[i].type, type))
            out.items[out.n++] = l->items[i];
    return out;
}

wcondlist wcond_set(const wcondlist *l, const struct wcond *c, nsec_t now, struct arena *a)
{
    const struct wcond *old = wcond_find(l, c->type);
    wcondlist out = { arena_newn0(a, l->n + 1, struct wcond), l->n };
    struct wcond *slot = &out.items[l->n];

    if (l->n)
        memcpy(out.items, l->items, l->n * sizeof *l->items);
    if (old && streq(old->status, c->status) && streq(old->reason, c->reason) &&
        streq(old->message, c->message))
        return out;
    if (old)
        slot = &out.items[old - l->items];
    else
        out.n++;
    bool same_status = old && streq(old->status, c->status);
    nsec_t transition = same_status ? old->last_transition : now;
    *slot = *c;
    slot->type = arena_strdup(a, c->type);
    slot->message = arena_strdup(a, c->message);
    slot->last_transition = transition;
    return out;
}

/* Members whose time is 0 are not written: kinds differ in which times they have. */
void wcond_write(struct kjw *w, const wcondlist *l)
{
    kjw_arr(w, "conditions");
    for (uint32_t i = 0; i < l->n; i++) {
        const struct wcond *c = &l->items[i];
        kjw_obj(w, NULL);
        kjw_str(w, "type", c->type);
        kjw_str(w, "status", c->status);
        kjw_str(w, "reason", c->reason);
        kjw_str(w, "message", c->message);
        if (c->last_probe)
            write_time(w, "lastProbeTime", c->last_probe);
        if (c->last_update > 0)
            write_time(w, "lastUpdateTime", c->last_update);
        if (c->last_transition)
            write_time(w, "lastTransitionTime", c->last_transition);
        kjw_end(w);
    }
    kjw_end(w);
}

bool wcond_equal(const wcondlist *a, const wcondlist *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct wcond *x = &a->items[i], *y = wcond_find(b, x->type);
        if (!y || !streq(x->status, y->status) || !streq(x->reason, y->reason) ||
            !streq(x->message, y->message) ||
            x->last_update / NSEC_PER_SEC != y->last_update / NSEC_PER_SEC)
            return false;
    }
    return true;
}
