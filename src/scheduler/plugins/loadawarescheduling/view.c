/* view.c - what is known of a node's load, for people (sched-loadaware 6.1). */
#include "api/pod.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "base/qty.h"
#include "base/strbuf.h"
#include "scheduler/plugins/loadawarescheduling/loads.h"
#include "json/kj.h"

/* ---- pods ------------------------------------------------------------------------------------ */

static const struct kschema *part_of(const struct kschema *s, const char *json)
{
    for (uint32_t i = 0; i < s->nfields; i++)
        if (streq(s->fields[i].json, json))
            return s->fields[i].sub;
    return NULL;
}

static void write_part(struct kjw *w, const char *key, const struct kschema *s, const void *part)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    kj_encode(s, part, &text);
    kjw_raw(w, key, text.data, text.len);
}

static void write_pod(struct kjw *w, const struct load_pod *l)
{
    const struct pod *p = pod_of(l->pod);
    const struct pod_template_spec spec = { p->node_name, p->volumes, *p->spec };
    char since[KTIME_TEXT_MAX];

    ktime_format_nano(l->timestamp, since);
    kjw_obj(w, NULL);
    kjw_str(w, "timestamp", since);
    kjw_obj(w, "pod");
    write_part(w, "metadata", part_of(&pod_template_schema, "metadata"), &p->obj.meta);
    write_part(w, "spec", part_of(&pod_template_schema, "spec"), &spec);
    write_part(w, "status", part_of(kind_pod.schema, "status"), &p->status);
    kjw_end(w);
    kjw_end(w);
}

static int by_key(const struct kobj *a, const struct kobj *b)
{
    int r = strcmp(str_or(a->meta.ns, ""), str_or(b->meta.ns, ""));

    return r ? r : strcmp(a->meta.name, b->meta.name);
}

static int by_time(const void *a, const void *b)
{
    const struct load_pod *x = *(struct load_pod *const *)a, *y = *(struct load_pod *const *)b;
    int r = (x->timestamp > y->timestamp) - (x->timestamp < y->timestamp);

    return r ? r : by_key(x->pod, y->pod);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Does the pod stand in this sum? */
static bool is_in(const struct loads *l, const struct load_pod *p, unsigned flag)
{
    bool positive = flag != LOAD_NODE_DELTA;

    for (uint32_t r = 0; r < l->n; r++)
        positive |= p->v[r] > p->v[l->n + r];
    return (p->flags & LOAD_COUNTED) && (p->flags & flag) && positive;
}

static void write_names(struct kjw *w, const char *key, const struct loads *l,
                        const struct load_node *n, unsigned flag, struct arena *a)
{
    const char **names = arena_newn0(a, n->pods.n, const char *);
    uint32_t count = 0;

    vec_foreach(&n->pods, i) {
        const struct load_pod *p = n->pods.items[i];
        char *name = arena_alloc(a, KOBJ_KEY_MAX, 1);
        if (!is_in(l, p, flag))
            continue;
        kobj_key(p->pod, name, KOBJ_KEY_MAX);
        names[count++] = name;
    }
    if (count == 0)
        return;
    qsort(names, count, sizeof *names, by_name);
    kjw_arr(w, key);
    for (uint32_t i = 0; i < count; i++)
        kjw_str(w, NULL, names[i]);
    kjw_end(w);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void write_vector(struct kjw *w, const char *key, const struct loads *l, const int64_t *v,
                         struct arena *a)
{
    kjw_obj(w, key);
    for (uint32_t r = 0; r < l->n; r++) {
        struct qty q = resource_from_count(l->names[r], v[r]);
        if (streq(l->names[r], "memory") && v[r] % 1024 != 0)
            q = qty_from_i64(v[r], QTY_DECIMAL_SI);
        kjw_str(w, l->names[r], qty_format(q, a));
    }
    kjw_end(w);
}

static void write_sums(struct kjw *w, const struct loads *l, struct load_node *n, struct arena *a)
{
    write_vector(w, "prodUsage", l, load_sum(n, l, LOAD_SUM_PROD_USAGE), a);
    write_vector(w, "nodeDelta", l, load_sum(n, l, LOAD_SUM_NODE_DELTA), a);
    write_vector(w, "prodDelta", l, load_sum(n, l, LOAD_SUM_PROD_DELTA), a);
    write_vector(w, "nodeEstimated", l, load_sum(n, l, LOAD_SUM_ESTIMATED), a);
    write_names(w, "nodeDeltaPods", l, n, LOAD_NODE_DELTA, a);
    write_names(w, "prodDeltaPods", l, n, LOAD_PROD_DELTA, a);
    write_names(w, "nodeEstimatedPods", l, n, LOAD_ESTIMATED, a);
}

static void write_pods(struct kjw *w, const struct load_node *n, struct arena *a)
{
    struct load_pod **sorted = arena_newn0(a, n->pods.n, struct load_pod *);

    if (n->pods.n == 0)
        return;
    memcpy(sorted, n->pods.items, n->pods.n * sizeof *sorted);
    qsort(sorted, n->pods.n, sizeof *sorted, by_time);
    kjw_arr(w, "pods");
    for (size_t i = 0; i < n->pods.n; i++)
        write_pod(w, sorted[i]);
    kjw_end(w);
}

/* A node that is not known is one without pods. */
static int get_node(void *service, const struct ks_get *g, struct kjw *w, struct kerr *err)
{
    const struct loads *l = service;
    struct load_node *n = loads_find(l, g->params[0]);

    (void)err;
    kjw_obj(w, NULL);
    if (n)
        write_pods(w, n, g->arena);
    if (n && n->metric)
        write_sums(w, l, n, g->arena);
    kjw_end(w);
    return 0;
}

const struct ks_path loads_paths[] = {
    { "node/:nodeName", get_node },
    { NULL, NULL },
};
