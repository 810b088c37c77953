/* podsecurity_existing.c - the pods that are there when a namespace begins to enforce more.
 *
 * Nothing happens to them; whoever changes the label is told. Pods of one controller are alike, so
 * in a large namespace the first of each comes before the others, as not all are looked at.
 */
#include "apiserver/admission/podsecurity.h"
#include "apiserver/server_int.h"
#include "apiserver/store/store.h"
#include "base/map.h"

enum {
    JUDGED_MAX = 3000,  /* pods, as upstream */
    PARSED_MAX = 10000, /* in search of those that come first: it is one turn of the loop */
};

struct group { /* pods that violate the same */
    const char *reasons, *first;
    size_t pods;
};
struct scan {
    struct podsec_standard enforce;
    struct arena *kept, *pod; /* pod: what one pod needs */
    struct map groups;        /* by reasons */
    struct map controllers;   /* uid to the name of the first pod */
    size_t total, parsed, judged;
    bool others; /* second pass: those that are not the first of their controller */
};

static const char *controller_of(const struct kj_val *pod)
{
    struct kj_iter it = kj_iter(kj_path(pod, "metadata.ownerReferences"));
    const struct kj_val *ref;

    while (kj_next(&it, NULL, &ref))
        if (kj_bool(kj_get(ref, "controller"), false))
            return kj_str(kj_get(ref, "uid"));
    return NULL;
}

static bool comes_first(struct scan *x, const struct kj_val *pod, const char *name)
{
    const char *uid = controller_of(pod);
    const char *first = uid ? map_getz(&x->controllers, uid) : NULL;

    if (!uid || first)
        return !uid || streq(first, name);
    map_putz(&x->controllers, arena_strdup(x->kept, uid), arena_strdup(x->kept, name));
    return true;
}

static void judge(struct scan *x, const struct kj_val *pod, const char *name)
{
    CLEANUP(podsec_violations_fini) struct podsec_violations v = { 0 };

    x->judged++;
    if (podsec_allows(x->enforce, pod, x->pod, &v))
        return;
    struct group *g = map_get(&x->groups, v.reasons.data, v.reasons.len);
    if (!g) {
        g = arena_new0(x->kept, struct group);
        g->reasons = arena_strdup(x->kept, v.reasons.data);
        g->first = arena_strdup(x->kept, name);
        map_put(&x->groups, g->reasons, v.reasons.len, g);
    } else if (strcmp(name, g->first) < 0) {
        g->first = arena_strdup(x->kept, name);
    }
    g->pods++;
}

static bool on_pod(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    struct scan *x = arg;

    (void)rev;
    if (x->judged == JUDGED_MAX || x->parsed == PARSED_MAX)
        return false;
    if (kj_parse(doc, n, 0, &parsed, NULL) < 0)
        return true;
    x->parsed++;
    if (x->total > JUDGED_MAX && comes_first(x, kj_root(parsed), k->name) == x->others)
        return true;
    arena_reset(x->pod);
    judge(x, kj_root(parsed), k->name);
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *group_text(const struct group *g, struct arena *a)
{
    if (g->pods == 1)
        return arena_printf(a, "%s: %s", g->first, g->reasons);
    if (g->pods == 2)
        return arena_printf(a, "%s (and 1 other pod): %s", g->first, g->reasons);
    return arena_printf(a, "%s (and %zu other pods): %s", g->first, g->pods - 1, g->reasons);
}

static void tell(const struct scan *x, const char *ns, podsec_warn_fn fn, void *arg)
{
    const char **texts = arena_newn0(x->kept, x->groups.n + 1, const char *);
    size_t n = 0;

    if (x->judged < x->total)
        fn(arg, arena_printf(x->kept,
                             "new PodSecurity enforce level only checked against the first %zu of "
                             "%zu existing pods",
                             x->judged, x->total));
    if (x->groups.n)
        fn(arg,
           arena_printf(x->kept,
                        "existing pods in namespace \"%s\" violate the new PodSecurity enforce "
                        "level \"%s\"",
                        ns, podsec_name(x->enforce, x->kept)));
    map_foreach(&x->groups, e)
        texts[n++] = group_text(e->value, x->kept);
    qsort(texts, n, sizeof *texts, by_text);
    for (size_t i = 0; i < n; i++)
        fn(arg, texts[i]);
}

void podsec_existing(struct apiserver *s, const char *ns, struct podsec_standard enforce,
                     podsec_warn_fn fn, void *arg)
{
    CLEANUP(arena_free) struct arena *kept = arena_new(), *pod = arena_new();
    struct scan x = {
        .enforce = enforce, .kept = kept, .pod = pod, .total = store_count(s->store, "pods", ns)
    };

    (void)store_list_latest(s->store, "pods", ns, on_pod, &x, NULL);
    if (x.total > JUDGED_MAX && x.judged < JUDGED_MAX) {
        x.others = true;
        x.parsed = 0;
        (void)store_list_latest(s->store, "pods", ns, on_pod, &x, NULL);
    }
    tell(&x, ns, fn, arg);
    map_fini(&x.groups);
    map_fini(&x.controllers);
}
