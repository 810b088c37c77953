/* arbitrate.c - sorting and judging the jobs that wait. */
#include "descheduler/migration/arbitrate.h"

#include "base/arena.h"
#include "base/map.h"
#include "descheduler/framework/podsort.h"

/* ---- order ----------------------------------------------------------------------------------- */

struct ranked {
    struct candidate c;
    struct podrank rank; /* of a pod that is there */
    nsec_t created;      /* whole seconds */
    int64_t moving;      /* jobs under way of the same Job */
    const char *group;   /* UID of the Job that controls the pod; NULL: none */
    size_t first;        /* place of the first of its group */
    size_t place;        /* in the order of by_rank() */
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = *(struct ranked *const *)a, *y = *(struct ranked *const *)b;

    /* Without a pod first; then by the pods; then the newest; then by name. */
    if (!x->c.pod != !y->c.pod)
        return !x->c.pod ? -1 : 1;
    int r = x->c.pod ? podrank_compare(&x->rank, &y->rank) : 0;
    if (r)
        return r;
    if (x->created != y->created)
        return x->created > y->created ? -1 : 1;
    return strcmp(x->c.job->obj.meta.name, y->c.job->obj.meta.name);
}

/* Those of a Job stand together, where its first stands; more of them under way: in front. */
static int by_group(const void *a, const void *b)
{
    const struct ranked *x = *(struct ranked *const *)a, *y = *(struct ranked *const *)b;

    if (x->moving != y->moving)
        return x->moving > y->moving ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static const char *group_of(const struct pod *p, struct arena *a)
{
    const struct owner_ref *o = p ? kobj_controller(&p->obj) : NULL;

    if (!o || !streq(o->kind, "Job"))
        return NULL;
    char *uid = arena_alloc(a, KUID_TEXT_MAX, 1);
    kuid_format(o->uid, uid, KUID_TEXT_MAX);
    return uid;
}

static void sort(struct ranked **items, size_t n, struct arena *a)
{
    CLEANUP(map_fini) struct map firsts = { 0 };

    qsort(items, n, sizeof *items, by_rank);
    for (size_t i = 0; i < n; i++) {
        struct ranked *x = items[i];
        x->place = x->first = i;
        x->group = group_of(x->c.pod, a);
        if (!x->group)
            continue;
        const size_t *first = map_getz(&firsts, x->group);
        if (first)
            x->first = *first;
        else
            map_putz(&firsts, x->group, &x->first);
    }
    qsort(items, n, sizeof *items, by_group);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static void judge(const struct checks *c, struct jobtally *t, struct candidate *x)
{
    enum check_answer answer = x->pod ? check_permanent(c, x->pod, NULL) : CHECK_YES;

    if (answer == CHECK_NO)
        x->verdict = VERDICT_FORBID;
    else if (answer == CHECK_LATER || (x->pod && !check_limits(c, TALLY_PASSED, x->pod, &x->hit)))
        x->verdict = VERDICT_WAIT;
    else
        x->verdict = VERDICT_PASS;
    if (x->verdict == VERDICT_PASS)
        jobtally_pass(t, x->job);
}

void arbitrate(const struct checks *c, struct jobtally *tally, struct candidate *items, size_t n)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct ranked *all = arena_newn0(a, n, struct ranked);
    struct ranked **order = arena_newn0(a, n, struct ranked *);

    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        struct ranked *x = order[i] = &all[i];
        x->c = items[i];
        x->c.hit = (struct limit_hit){ 0 };
        x->created = x->c.job->obj.meta.created / NSEC_PER_SEC;
        if (x->c.pod)
            x->rank = podrank_of(x->c.pod);
        x->moving = group_of(x->c.pod, a) ? jobtally_jobs_of(tally, x->c.pod) : 0;
    }
    sort(order, n, a);
    for (size_t i = 0; i < n; i++) {
        items[i] = order[i]->c;
        judge(c, tally, &items[i]);
    }
}
