/* terms.c - whom the terms of a pod's affinity mean. */
#include "api/core.h"
#include "api/pod.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/interpodaffinity/affinity.h"

bool podterms_any(const struct pod *p)
{
    const struct affinity *a = p->spec->affinity;
    return a && (a->pod || a->pod_anti);
}

static int compile(const struct pod_affinity_term *spec, int32_t weight, struct arena *a,
                   struct term *ret, struct kerr *err)
{
    struct labelsel *pods = NULL, *namespaces = NULL;

    int code = labelsel_from(spec->label_selector, a, &pods, err);
    if (code == 0 && spec->namespace_selector)
        code = labelsel_from(spec->namespace_selector, a, &namespaces, err);
    *ret = (struct term){ spec, pods, namespaces, weight, NULL };
    return code;
}

static int compile_required(const struct pod_affinity *from, const char *what, struct arena *a,
                            struct termlist *ret, struct kerr *err)
{
    struct term *items = arena_newn0(a, from->required.n, struct term);

    for (uint32_t i = 0; i < from->required.n; i++)
        if (compile(&from->required.items[i], 0, a, &items[i], err) < 0)
            return kerr_wrap(err, "%s.required[%u]", what, i);
    *ret = (struct termlist){ items, from->required.n };
    return 0;
}

static int compile_preferred(const struct pod_affinity *from, const char *what, struct arena *a,
                             struct termlist *ret, struct kerr *err)
{
    struct term *items = arena_newn0(a, from->preferred.n, struct term);

    for (uint32_t i = 0; i < from->preferred.n; i++) {
        const struct weighted_pod_affinity_term *w = &from->preferred.items[i];
        if (compile(&w->term, w->weight, a, &items[i], err) < 0)
            return kerr_wrap(err, "%s.preferred[%u]", what, i);
    }
    *ret = (struct termlist){ items, from->preferred.n };
    return 0;
}

static bool select_namespaces(const struct termlist *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->items[i].namespaces)
            return true;
    return false;
}

int podterms_compile(const struct pod *p, struct arena *a, struct podterms *ret, struct kerr *err)
{
    static const struct pod_affinity none;
    const struct affinity *f = p->spec->affinity;
    const struct pod_affinity *pod = f && f->pod ? f->pod : &none;
    const struct pod_affinity *anti = f && f->pod_anti ? f->pod_anti : &none;
    struct kerr errs[4] = { 0 };

    *ret = (struct podterms){ 0 };
    compile_required(pod, "podAffinity", a, &ret->affinity, &errs[0]);
    compile_required(anti, "podAntiAffinity", a, &ret->anti, &errs[1]);
    compile_preferred(pod, "podAffinity", a, &ret->prefer, &errs[2]);
    compile_preferred(anti, "podAntiAffinity", a, &ret->avoid, &errs[3]);
    ret->select_namespaces = select_namespaces(&ret->affinity) || select_namespaces(&ret->anti) ||
                             select_namespaces(&ret->prefer) || select_namespaces(&ret->avoid);
    for (size_t i = 0; i < ARRAY_LEN(errs); i++) {
        if (errs[i].code < 0) {
            *err = errs[i];
            return err->code;
        }
    }
    return 0;
}

static bool same(const char *a, const char *b)
{
    return a == b || streq(a, b);
}

static bool in_namespaces(const struct term *t, const char *own_ns, const struct seen_pod *other)
{
    const kstrlist *names = &t->spec->namespaces;

    if (names->n == 0 && !t->namespaces)
        return same(own_ns, other->ns);
    for (uint32_t i = 0; i < names->n; i++)
        if (same(names->items[i], other->ns))
            return true;
    if (!t->namespaces)
        return false;
    return labelsel_is_everything(t->namespaces) ||
           (other->ns_labels && labelsel_matches(t->namespaces, other->ns_labels));
}

bool term_matches(const struct term *t, const char *own_ns, const struct seen_pod *other)
{
    return in_namespaces(t, own_ns, other) && labelsel_matches(t->pods, other->labels);
}

bool termlist_match_all(const struct termlist *l, const char *own_ns, const struct seen_pod *other)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (!term_matches(&l->items[i], own_ns, other))
            return false;
    return l->n > 0;
}

bool termlist_match_any(const struct termlist *l, const char *own_ns, const struct seen_pod *other)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (term_matches(&l->items[i], own_ns, other))
            return true;
    return false;
}

const kstrmap *namespace_labels(const struct objects *w, const char *ns)
{
    const struct kobj *o = w ? objects_get(w, &kind_namespace, NULL, ns) : NULL;
    return o ? &o->meta.labels : NULL;
}
