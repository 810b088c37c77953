/* profiles.c - profiles are compiled when they change, and matched for each pod. */
#include "manager/profile/profiles.h"

#include "api/protocol/keys.h"
#include "api/selector/selector.h"
#include "base/vec.h"
#include "json/kj.h"

struct entry { /* one profile; its own memory, so that it can go alone */
    struct profile p;
    struct kobj *obj;
    struct kj_doc *patch;
    struct arena *arena;
};
struct profile_set {
    struct vec_of(struct entry *) items; /* sorted by name */
};

/* ---- compiling ------------------------------------------------------------------------------- */

static void add_problem(struct entry *e, const char *field, const char *why)
{
    e->p.problem = e->p.problem ? arena_printf(e->arena, "%s; %s: %s", e->p.problem, field, why)
                                : arena_printf(e->arena, "%s: %s", field, why);
}

static const struct labelsel *compile_selector(struct entry *e, const char *field,
                                               const struct label_selector *s)
{
    struct labelsel *out = NULL;
    struct kerr err = { 0 };

    if (!s)
        return NULL;
    if (labelsel_from(s, e->arena, &out, &err) < 0) {
        e->p.unreadable = true;
        add_problem(e, field, err.text);
    }
    return out;
}

static void compile_percent(struct entry *e)
{
    struct kerr err = { 0 };

    if (colocation_profile_percent(e->p.obj, &e->p.percent, &err) == 0)
        return;
    e->p.bad_percent = arena_printf(e->arena, "invalid value for IntOrString: %s", err.text);
    add_problem(e, "spec.probability", err.text);
}

static void compile_patch(struct entry *e)
{
    const char *text = e->p.obj->spec.patch;
    struct kerr err = { 0 };

    if (!text)
        return;
    if (kj_parse(text, strlen(text), 0, &e->patch, &err) < 0)
        e->p.bad_patch = arena_strdup(e->arena, err.text);
    else if (kj_type(kj_root(e->patch)) != KJ_OBJ)
        e->p.bad_patch = "the patch is no JSON object";
    else
        e->p.patch = e->patch;
    if (e->p.bad_patch)
        add_problem(e, "spec.patch", e->p.bad_patch);
}

static struct entry *entry_new(struct kobj *obj)
{
    struct entry *e = xnew0(struct entry);
    const struct colocation_profile_spec *s;

    e->obj = kobj_ref(obj);
    e->arena = arena_new_sized(256);
    e->p.obj = colocation_profile_of(obj);
    s = &e->p.obj->spec;
    e->p.namespaces = compile_selector(e, "spec.namespaceSelector", s->namespace_selector);
    e->p.labels = compile_selector(e, "spec.selector", s->selector);
    e->p.skips_resources = kstrmap_get(&obj->meta.annotations, ANNO_SKIP_UPDATE_RESOURCES) != NULL;
    compile_percent(e);
    compile_patch(e);
    return e;
}

static struct entry *entry_free(struct entry *e)
{
    kj_doc_free(e->patch);
    arena_free(e->arena);
    kobj_unref(e->obj);
    free(e);
    return NULL;
}

/* ---- the set --------------------------------------------------------------------------------- */

struct profile_set *profile_set_new(void)
{
    return xnew0(struct profile_set);
}

struct profile_set *profile_set_free(struct profile_set *s)
{
    if (!s)
        return NULL;
    vec_foreach(&s->items, i)
        entry_free(s->items.items[i]);
    vec_fini(&s->items);
    free(s);
    return NULL;
}

/* Where the name stands, or would stand. */
static bool find(const struct profile_set *s, const char *name, size_t *ret)
{
    size_t lo = 0, hi = s->items.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int c = strcmp(profile_name(&s->items.items[mid]->p), name);
        if (c == 0) {
            *ret = mid;
            return true;
        }
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *ret = lo;
    return false;
}

const struct profile *profile_set_put(struct profile_set *s, struct kobj *profile)
{
    struct entry *e = entry_new(profile);
    size_t at;

    if (find(s, profile->meta.name, &at)) {
        entry_free(s->items.items[at]);
        s->items.items[at] = e;
    } else {
        vec_insert(&s->items, at, e);
    }
    return &e->p;
}

void profile_set_remove(struct profile_set *s, const char *name)
{
    size_t at;

    if (!find(s, name, &at))
        return;
    entry_free(s->items.items[at]);
    vec_remove(&s->items, at);
}

const struct profile *profile_set_find(const struct profile_set *s, const char *name)
{
    size_t at;
    return find(s, name, &at) ? &s->items.items[at]->p : NULL;
}

size_t profile_set_count(const struct profile_set *s)
{
    return s->items.n;
}

const struct profile *profile_set_at(const struct profile_set *s, size_t i)
{
    return &s->items.items[i]->p;
}

/* ---- matching -------------------------------------------------------------------------------- */

enum profile_match profile_match(const struct profile *p, const struct profile_subject *s)
{
    if (p->unreadable)
        return PROFILE_UNREADABLE;
    if (p->namespaces && !s->any_namespace && s->namespace_labels &&
        !labelsel_matches(p->namespaces, s->namespace_labels))
        return PROFILE_OTHER_NAMESPACE;
    if (p->labels && !labelsel_matches(p->labels, s->labels))
        return PROFILE_OTHER_LABELS;
    return PROFILE_MATCHES;
}
