/* ledger.c - who got what how. */
#include "koordlet/runtime/ledger.h"

#include "base/map.h"
#include "base/vec.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "json/kj.h"

#define UNSEEN_MAX (60 * NSEC_PER_SEC)

enum { ENTRIES_MAX = 8192, EXPECTED_MAX = 4096, ROUNDS_MISSING = 2 };

struct entry {
    char *id, *ns, *pod, *container;
    enum delivery_path path;
    nsec_t after, since;
    bool seen;        /* in a round */
    unsigned missing; /* rounds */
};
struct ledger {
    struct loop *loop;
    struct map entries;
    struct map expected; /* "uid/name", keys and values are one */
    struct metrics *metrics;
    const char *node_name;
};

static const char *const paths[DELIVERY_PATHS] = {
    [DELIVERED_NRI] = "NRI",
    [DELIVERED_PROXY] = "proxy",
    [DELIVERED_SYNCHRONIZE] = "Synchronize",
    [DELIVERED_RECONCILE] = "reconcile",
    [DELIVERED_NOTHING] = "none",
};

static const double buckets[] = { 0, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600 };
static const struct metric_desc after_desc = {
    "koordlet_runtime_hook_delivery_seconds",
    "Time between a container's start and the moment at which it got what the runtime hooks gave "
    "it, by the path it took; 0 for what was there at the start.",
    METRIC_HISTOGRAM,
    .labels = { "node", "path" },
    .buckets = buckets,
    .nbuckets = ARRAY_LEN(buckets),
};

struct ledger *ledger_new(struct loop *loop, struct metrics *m, const char *node_name)
{
    struct ledger *l = xnew0(struct ledger);

    l->loop = loop;
    l->metrics = m;
    l->node_name = node_name;
    return l;
}

static void entry_free(struct entry *e)
{
    free(e->id);
    free(e->ns);
    free(e->pod);
    free(e->container);
    free(e);
}

static void forget_expected(struct ledger *l)
{
    map_foreach(&l->expected, e)
        free(e->value);
    map_fini(&l->expected);
}

struct ledger *ledger_free(struct ledger *l)
{
    if (!l)
        return NULL;
    forget_expected(l);
    map_foreach(&l->entries, e)
        entry_free(e->value);
    map_fini(&l->entries);
    free(l);
    return NULL;
}

bool ledger_has(const struct ledger *l, const char *id)
{
    return map_getz(&l->entries, id) != NULL;
}

void ledger_note(struct ledger *l, const struct delivered *d)
{
    if (str_empty(d->id) || ledger_has(l, d->id) || l->entries.n >= ENTRIES_MAX)
        return;
    struct entry *e = xnew0(struct entry);
    *e = (struct entry){ .id = xstrdup(d->id),
                         .ns = xstrdup(d->ns),
                         .pod = xstrdup(d->pod),
                         .container = xstrdup(d->container),
                         .path = d->path,
                         .after = d->after,
                         .since = loop_mono(l->loop) };
    map_putz(&l->entries, e->id, e);
    if (l->metrics && d->path != DELIVERED_NOTHING && d->after >= 0)
        histogram_observe(metric_histogram(metrics_add(l->metrics, &after_desc),
                                           METRIC_VALUES(str_or(l->node_name, ""), paths[d->path])),
                          (double)d->after / (double)NSEC_PER_SEC);
}

/* When there are too many, nobody takes them: then they are of no use. */
void ledger_expect(struct ledger *l, const char *uid, const char *container)
{
    char *key = xasprintf("%s/%s", uid, container);

    if (l->expected.n >= EXPECTED_MAX)
        forget_expected(l);
    free(map_putz(&l->expected, key, key));
}

bool ledger_take_expected(struct ledger *l, const char *uid, const char *container)
{
    CLEANUP(mem_free) char *key = xasprintf("%s/%s", uid, container);
    char *kept = map_removez(&l->expected, key);

    free(kept);
    return kept != NULL;
}

void ledger_round_begin(struct ledger *l)
{
    map_foreach(&l->entries, e)
        ((struct entry *)e->value)->missing++;
}

void ledger_keep(struct ledger *l, const char *id)
{
    struct entry *e = map_getz(&l->entries, id);

    if (!e)
        return;
    e->seen = true;
    e->missing = 0;
}

static bool is_gone(const struct ledger *l, const struct entry *e)
{
    return e->seen ? e->missing > ROUNDS_MISSING : loop_mono(l->loop) - e->since > UNSEEN_MAX;
}

void ledger_round_end(struct ledger *l)
{
    struct vec_of(struct entry *) gone = { 0 };

    map_foreach(&l->entries, e)
        if (is_gone(l, e->value))
            vec_push(&gone, e->value);
    vec_foreach(&gone, i) {
        map_removez(&l->entries, gone.items[i]->id);
        entry_free(gone.items[i]);
    }
    vec_fini(&gone);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a, *y = *(const struct entry *const *)b;
    int c = strcmp(x->ns, y->ns);

    if (c == 0)
        c = strcmp(x->pod, y->pod);
    if (c == 0)
        c = strcmp(x->container, y->container);
    return c ? c : strcmp(x->id, y->id);
}

void ledger_json(const struct ledger *l, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    struct vec_of(const struct entry *) all = { 0 };

    map_foreach(&l->entries, e)
        vec_push(&all, e->value);
    if (all.n > 1)
        qsort(all.items, all.n, sizeof *all.items, compare_entries);
    kjw_arr(&w, NULL);
    vec_foreach(&all, i) {
        const struct entry *e = all.items[i];
        kjw_obj(&w, NULL);
        kjw_str(&w, "namespace", e->ns);
        kjw_str(&w, "pod", e->pod);
        kjw_str(&w, "container", e->container);
        kjw_str(&w, "containerID", e->id);
        kjw_str(&w, "path", paths[e->path]);
        if (e->path != DELIVERED_NOTHING && e->after >= 0)
            kjw_f64(&w, "secondsAfterStart", (double)e->after / (double)NSEC_PER_SEC);
        kjw_end(&w);
    }
    kjw_end(&w);
    vec_fini(&all);
}
