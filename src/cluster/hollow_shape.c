/* hollow_shape.c - the shape of hollow nodes from a flag. */
#include <stdio.h>

#include "base/num.h"
#include "base/qty.h"
#include "cluster/hollow.h"

static int parse_count(struct str v, unsigned max, unsigned *ret, struct kerr *err)
{
    uint64_t n;
    if (u64_parse(v.p, v.n, &n) < 0 || n > max)
        return kerr_set(err, -EINVAL, "must be a number up to %u", max);
    *ret = (unsigned)n;
    return 0;
}

static int parse_amount(struct str v, bool milli, int64_t *ret, struct kerr *err)
{
    struct qty q;
    int r = qty_parse(v.p, v.n, &q, err);
    if (r < 0)
        return r;
    *ret = milli ? qty_milli(q) : qty_value(q);
    if (*ret <= 0 || *ret > (INT64_C(1) << 60))
        return kerr_set(err, -EINVAL, "must be above 0");
    return 0;
}

/* "key=value" or "key=value:Effect". */
static int parse_pair(struct arena *a, struct str v, bool taint, struct hollow_pair *ret,
                      struct kerr *err)
{
    char *text = arena_strndup(a, v.p, v.n), *effect = taint ? strrchr(text, ':') : NULL;
    char *value = strchr(text, '=');

    if (taint && (!effect || (!streq(effect + 1, "NoSchedule") && !streq(effect + 1, "NoExecute") &&
                              !streq(effect + 1, "PreferNoSchedule"))))
        return kerr_set(err, -EINVAL, "must end with :NoSchedule, :PreferNoSchedule or :NoExecute");
    if (effect)
        *effect++ = '\0';
    if (value)
        *value++ = '\0';
    if (!*text || (!taint && !value))
        return kerr_set(err, -EINVAL, "must be key=value");
    *ret = (struct hollow_pair){ text, value ? value : "", effect };
    return 0;
}

static int add_pair(struct hollow_shape_text *t, struct str v, bool taint, struct kerr *err)
{
    struct hollow_shape *s = &t->shape;
    const struct hollow_pair **list = taint ? &s->taints : &s->labels;
    size_t *n = taint ? &s->ntaints : &s->nlabels;
    struct hollow_pair *grown = arena_newn0(t->arena, *n + 1, struct hollow_pair);

    if (*n)
        memcpy(grown, *list, *n * sizeof *grown);
    int r = parse_pair(t->arena, v, taint, &grown[*n], err);
    if (r < 0)
        return r;
    *list = grown;
    (*n)++;
    return 0;
}

/* A name of upstream's NodeResourceTopology, which is how koordlet reports the kubelet's policy. */
static int parse_numa_policy(struct str v, const char **ret, struct kerr *err)
{
    static const char *const names[] = { "None", "BestEffort", "Restricted",
                                         "SingleNUMANodePodLevel" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(v, names[i])) {
            *ret = names[i];
            return 0;
        }
    return kerr_set(err, -EINVAL, "must be None, BestEffort, Restricted or SingleNUMANodePodLevel");
}

static int parse_cpu_manager(struct str v, bool *ret, struct kerr *err)
{
    if (!str_eqz(v, "static") && !str_eqz(v, "none"))
        return kerr_set(err, -EINVAL, "must be static or none");
    *ret = str_eqz(v, "static");
    return 0;
}

static int parse_item(struct hollow_shape_text *t, struct str key, struct str v, struct kerr *err)
{
    struct hollow_shape *s = &t->shape;
    unsigned pods = 0;
    int r;

    if (str_eqz(key, "cpu"))
        return parse_amount(v, true, &s->mcpu, err);
    if (str_eqz(key, "memory"))
        return parse_amount(v, false, &s->memory_bytes, err);
    if (str_eqz(key, "storage"))
        return parse_amount(v, false, &s->storage_bytes, err);
    if (str_eqz(key, "gpu-memory"))
        return parse_amount(v, false, &s->gpu_memory_bytes, err);
    if (str_eqz(key, "zones"))
        return parse_count(v, 26, &s->zones, err);
    if (str_eqz(key, "gpus"))
        return parse_count(v, 64, &s->gpus, err);
    if (str_eqz(key, "numa"))
        return parse_count(v, 16, &s->numa, err);
    if (str_eqz(key, "sockets"))
        return parse_count(v, 16, &s->sockets, err);
    if (str_eqz(key, "threads"))
        return parse_count(v, 8, &s->threads, err);
    if (str_eqz(key, "numa-policy"))
        return parse_numa_policy(v, &s->numa_policy, err);
    if (str_eqz(key, "cpu-manager"))
        return parse_cpu_manager(v, &s->cpu_manager, err);
    if (str_eqz(key, "count"))
        return parse_count(v, 100000, &s->count, err);
    if (str_eqz(key, "pods")) {
        r = parse_count(v, 10000, &pods, err);
        s->max_pods = r == 0 ? pods : s->max_pods;
        return r;
    }
    if (str_eqz(key, "prefix")) {
        s->prefix = arena_strndup(t->arena, v.p, v.n);
        return 0;
    }
    return kerr_set(err, -EINVAL, "no such property of a shape");
}

static int parse_word(struct hollow_shape_text *t, struct str w, bool first, struct kerr *err)
{
    const char *eq = memchr(w.p, '=', w.n);

    if (w.n > 6 && memcmp(w.p, "label:", 6) == 0)
        return add_pair(t, (struct str){ w.p + 6, w.n - 6 }, false, err);
    if (w.n > 6 && memcmp(w.p, "taint:", 6) == 0)
        return add_pair(t, (struct str){ w.p + 6, w.n - 6 }, true, err);
    if (!eq && first)
        return parse_count(w, 100000, &t->shape.count, err);
    if (!eq)
        return kerr_set(err, -EINVAL, "must be name=value");
    return parse_item(t, (struct str){ w.p, (size_t)(eq - w.p) },
                      (struct str){ eq + 1, (size_t)(w.p + w.n - eq - 1) }, err);
}

int hollow_shape_parse(const char *text, struct hollow_shape_text *ret, struct kerr *err)
{
    struct hollow_shape_text t = { .shape = { .count = 1 }, .arena = arena_new() };

    for (bool first = true; *text; first = false) {
        size_t n = strcspn(text, ",");
        int r = parse_word(&t, (struct str){ text, n }, first, err);
        if (r < 0) {
            arena_free(t.arena);
            return kerr_wrap(err, "shape: '%.*s'", (int)MIN(n, (size_t)60), text);
        }
        text += n + (text[n] == ',');
    }
    if (!t.shape.numa)
        t.shape.numa = t.shape.sockets; /* who tells of sockets wants a topology */
    if (t.shape.sockets && t.shape.numa % t.shape.sockets) {
        arena_free(t.arena);
        return kerr_set(err, -EINVAL, "shape: %u NUMA nodes on %u sockets", t.shape.numa,
                        t.shape.sockets);
    }
    *ret = t;
    return 0;
}

void hollow_shape_fini(struct hollow_shape_text *s)
{
    s->arena = arena_free(s->arena);
    memset(&s->shape, 0, sizeof s->shape);
}
