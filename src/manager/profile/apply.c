/* apply.c - one profile after the other on a tree. */
#include "manager/profile/apply.h"

#include <stdio.h>

#include "api/pod.h"
#include "api/policy.h"
#include "api/protocol/keys.h"
#include "manager/webhook/tree.h"
#include "json/patch.h"

/* ---- what was changed ------------------------------------------------------------------------ */

const char *profile_change_field(const struct profile_change *c, struct arena *a)
{
    switch (c->field) {
    case PROFILE_LABEL: return arena_printf(a, "label %s", c->key);
    case PROFILE_ANNOTATION: return arena_printf(a, "annotation %s", c->key);
    case PROFILE_SCHEDULER: return "schedulerName";
    case PROFILE_PRIORITY_CLASS: return "priorityClassName";
    }
    return "";
}

static bool same_field(const struct profile_change *x, const struct profile_change *y)
{
    return x->field == y->field && streq(x->key, y->key);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? streq(a, b) : a == b;
}

const struct profile_change *profile_change_overrides(const struct profile_target *t,
                                                      const struct profile_change *c)
{
    const struct profile_change *found = NULL;

    for (const struct profile_change *x = t->first; x && x != c; x = x->next)
        if (same_field(x, c))
            found = x;
    if (!found || found->by == c->by || same_text(found->to, c->to))
        return NULL;
    /* A suffix adds to what is there. */
    return found->to && c->to && str_starts(c->to, found->to) ? NULL : found;
}

static const char *dup_or_null(struct arena *a, const char *s)
{
    return s ? arena_strdup(a, s) : NULL;
}

static void record(struct profile_target *t, const struct profile *by, enum profile_field field,
                   const char *key, const char *from, const char *to)
{
    struct profile_change *c = arena_new0(t->a, struct profile_change);

    *c = (struct profile_change){ .by = by,
                                  .field = field,
                                  .key = arena_strdup(t->a, key),
                                  .from = dup_or_null(t->a, from),
                                  .to = dup_or_null(t->a, to) };
    *(t->last ? &t->last->next : &t->first) = c;
    t->last = c;
    t->changed |= !same_text(from, to);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static void set_meta(struct profile_target *t, const struct profile *p, enum profile_field field,
                     const char *key, const char *value)
{
    const char *name = field == PROFILE_LABEL ? "labels" : "annotations";

    record(t, p, field, key, tree_meta_get(t->obj, name, key), value);
    tree_meta_set(t->d, t->obj, name, key, value);
}

static void set_all(struct profile_target *t, const struct profile *p, enum profile_field field,
                    const kstrmap *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        set_meta(t, p, field, m->items[i].key, m->items[i].value);
}

/* A key that is missing gives an empty value, as upstream. */
static void map_all(struct profile_target *t, const struct profile *p, enum profile_field field,
                    const kstrmap *m)
{
    const char *name = field == PROFILE_LABEL ? "labels" : "annotations";

    for (uint32_t i = 0; i < m->n; i++) {
        const char *value = tree_meta_get(t->obj, name, m->items[i].key);
        set_meta(t, p, field, m->items[i].value, str_or(value, ""));
    }
}

static bool ends_with(const char *value, size_t n, const char *suffix)
{
    size_t len = strlen(suffix);
    return len <= n && memcmp(value + n - len, suffix, len) == 0;
}

/* Is this suffix among those at the end of the value? Profiles append theirs one behind the other:
 * the others are passed over. */
static bool has_suffix(const struct profile_set *set, const char *key, const char *value,
                       const char *suffix)
{
    size_t n = strlen(value), before;

    do {
        if (ends_with(value, n, suffix))
            return true;
        before = n;
        for (size_t i = 0; i < profile_set_count(set) && n == before; i++) {
            const kstrmap *m = &profile_set_at(set, i)->obj->spec.label_suffixes;
            const char *other = kstrmap_get(m, key);
            if (!str_empty(other) && ends_with(value, n, other))
                n -= strlen(other);
        }
    } while (n < before);
    return false;
}

static void append_suffixes(struct profile_target *t, const struct profile *p)
{
    const kstrmap *m = &p->obj->spec.label_suffixes;

    for (uint32_t i = 0; i < m->n; i++) {
        const char *value = tree_meta_get(t->obj, "labels", m->items[i].key);
        if (value &&
            !(t->suffixed && has_suffix(t->suffixed, m->items[i].key, value, m->items[i].value)))
            set_meta(t, p, PROFILE_LABEL, m->items[i].key,
                     arena_printf(t->a, "%s%s", value, m->items[i].value));
    }
}

/* ---- the pod's spec -------------------------------------------------------------------------- */

/* NULL: it has none, or it is to be left alone. Not to be kept over a patch. */
static struct kj_mval *pod_spec_of(const struct profile_target *t)
{
    struct kj_mval *owner = t->obj;

    if (t->metadata_only)
        return NULL;
    if (t->is_reservation)
        owner = kj_mget(kj_mget(t->obj, "spec"), "template");
    return kj_mtype(owner) == KJ_OBJ ? tree_object(t->d, owner, "spec") : NULL;
}

static void set_scheduler(struct profile_target *t, const struct profile *p)
{
    const char *name = p->obj->spec.scheduler_name;
    struct kj_mval *spec = *name ? pod_spec_of(t) : NULL;

    if (!spec)
        return;
    record(t, p, PROFILE_SCHEDULER, "", kj_mstr_get(kj_mget(spec, "schedulerName")), name);
    tree_set_str(t->d, spec, "schedulerName", name);
}

static int set_priority(struct profile_target *t, const struct profile *p, struct kerr *err)
{
    const char *name = p->obj->spec.priority_class_name;
    struct kj_mval *spec = *name ? pod_spec_of(t) : NULL;
    const struct priority_class_obj *c;
    int64_t was;

    if (!spec)
        return 0;
    c = t->priority_class ? t->priority_class(t->self, name) : NULL;
    if (!c)
        return kerr_set(err, -EINVAL, "priorityclasses.scheduling.k8s.io \"%s\" not found", name);
    record(t, p, PROFILE_PRIORITY_CLASS, "", kj_mstr_get(kj_mget(spec, "priorityClassName")), name);
    tree_set_str(t->d, spec, "priorityClassName", name);
    if (kj_mi64_get(kj_mget(spec, "priority"), &was) < 0 || was != c->value) {
        kj_mset(t->d, spec, "priority", kj_mi64(t->d, c->value));
        t->changed = true;
    }
    if (c->preemption_policy)
        t->changed |= tree_set_str(t->d, spec, "preemptionPolicy",
                                   preemption_policy_names[c->preemption_policy]);
    else
        t->changed |= kj_mdel(spec, "preemptionPolicy", strlen("preemptionPolicy"));
    return 0;
}

/* ---- the patch ------------------------------------------------------------------------------- */

static const char *value_of(const struct profile_target *t, const struct profile_change *c)
{
    switch (c->field) {
    case PROFILE_LABEL: return tree_meta_get(t->obj, "labels", c->key);
    case PROFILE_ANNOTATION: return tree_meta_get(t->obj, "annotations", c->key);
    case PROFILE_SCHEDULER: return kj_mstr_get(kj_mget(pod_spec_of(t), "schedulerName"));
    case PROFILE_PRIORITY_CLASS: return kj_mstr_get(kj_mget(pod_spec_of(t), "priorityClassName"));
    }
    return NULL;
}

/* What was set before, and is different now, was changed by the patch. */
static void record_patched(struct profile_target *t, const struct profile *p)
{
    struct profile_change *end = t->last;

    for (struct profile_change *c = t->first; c; c = c->next) {
        const struct profile_change *later = c->next;
        while (later && !same_field(later, c))
            later = later->next;
        if (!later && !same_text(value_of(t, c), c->to))
            record(t, p, c->field, c->key, c->to, value_of(t, c));
        if (c == end)
            break;
    }
}

static int apply_patch(struct profile_target *t, const struct profile *p, struct kerr *err)
{
    static const struct kmerge none[] = { { .field = NULL } };
    CLEANUP(kj_doc_free) struct kj_doc *before = NULL;
    struct kj_mval *merged;

    if (p->bad_patch)
        return kerr_set(err, -EINVAL, "patch of profile %s: %s", profile_name(p), p->bad_patch);
    if (!p->patch)
        return 0;
    before = kj_freeze(t->obj);
    if (kj_patch_strategic(t->d, kj_root(before), kj_root(p->patch), t->merge ? t->merge : none,
                           &merged, err) < 0)
        return kerr_wrap(err, "patch of profile %s", profile_name(p));
    t->changed |= !kj_mequal(t->obj, merged);
    kj_massign(t->obj, merged);
    record_patched(t, p);
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int profile_apply(const struct profile *p, struct profile_target *t, struct kerr *err)
{
    const struct colocation_profile_spec *s = &p->obj->spec;
    char number[16];

    set_all(t, p, PROFILE_LABEL, &s->labels);
    set_all(t, p, PROFILE_ANNOTATION, &s->annotations);
    map_all(t, p, PROFILE_LABEL, &s->label_keys_mapping);
    map_all(t, p, PROFILE_ANNOTATION, &s->annotation_keys_mapping);
    append_suffixes(t, p);
    set_scheduler(t, p);
    if (*s->qos_class)
        set_meta(t, p, PROFILE_LABEL, LABEL_QOS_CLASS, s->qos_class);
    int r = set_priority(t, p, err);
    if (r < 0)
        return r;
    if (s->koordinator_priority.set) {
        (void)snprintf(number, sizeof number, "%d", s->koordinator_priority.v);
        set_meta(t, p, PROFILE_LABEL, LABEL_PRIORITY, number);
    }
    return apply_patch(t, p, err);
}
