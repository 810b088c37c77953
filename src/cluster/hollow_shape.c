/* hollow_shape.c - the shape of hollow nodes from a flag. */
#include <ctype.h>
#include <stdio.h>

#include "api/names.h"
#include "base/num.h"
#include "base/qty.h"
#include "cluster/hollow.h"

enum {
    SLICE_DEVICES_MAX = 128, /* as many as a slice may have */
    DRIVER_MAX = 63,
    IDENTIFIER_MAX = 32,
    ATTRIBUTE_MAX = 64, /* the value */
};

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

/* What the API server takes for an attribute or a capacity, but for its domain. */
static bool is_device_name(const char *name)
{
    const char *slash = strchr(name, '/'), *id = slash ? slash + 1 : name;
    size_t n = strlen(id);

    if (slash && name_check_dns_subdomain((struct str){ name, (size_t)(slash - name) }))
        return false;
    for (const char *p = id; *p; p++) {
        if (*p != '_' && !isalpha((unsigned char)*p) && (p == id || !isdigit((unsigned char)*p)))
            return false;
    }
    return n > 0 && n <= IDENTIFIER_MAX;
}

/* "gpu.example.com:8" */
static int add_driver(struct hollow_shape_text *t, struct str v, struct kerr *err)
{
    struct hollow_shape *s = &t->shape;
    struct hollow_driver *grown = arena_newn0(t->arena, s->ndrivers + 1, struct hollow_driver);
    const char *colon = memrchr(v.p, ':', v.n);
    struct hollow_driver *d = &grown[s->ndrivers];

    if (!colon || colon == v.p)
        return kerr_set(err, -EINVAL, "must be driver:count");
    d->name = arena_strndup(t->arena, v.p, (size_t)(colon - v.p));
    const char *why = name_check_dns_subdomain(str_of(d->name));
    if (why)
        return kerr_set(err, -EINVAL, "%s", why);
    if (strlen(d->name) > DRIVER_MAX)
        return kerr_set(err, -EINVAL, "a driver's name has at most %d bytes", DRIVER_MAX);
    for (size_t i = 0; i < s->ndrivers; i++) {
        if (streq(s->drivers[i].name, d->name)) /* their slices would have one name */
            return kerr_set(err, -EINVAL, "names a driver twice");
    }
    int r = parse_count((struct str){ colon + 1, (size_t)(v.p + v.n - colon - 1) },
                        SLICE_DEVICES_MAX, &d->count, err);
    if (r < 0)
        return r;
    if (s->ndrivers)
        memcpy(grown, s->drivers, s->ndrivers * sizeof *grown);
    s->drivers = grown;
    s->ndrivers++;
    return 0;
}

/* An attribute or a capacity of the driver that was named last. */
static int add_property(struct hollow_shape_text *t, struct str v, bool capacity, struct kerr *err)
{
    struct hollow_shape *s = &t->shape;
    struct hollow_pair pair;
    struct qty q;
    int r = parse_pair(t->arena, v, false, &pair, err);

    if (r < 0)
        return r;
    if (s->ndrivers == 0)
        return kerr_set(err, -EINVAL, "must come after dra=driver:count");
    if (!is_device_name(pair.key))
        return kerr_set(err, -EINVAL,
                        "must be name=value; a name is made of letters, digits and _");
    if (!capacity && (!*pair.value || strlen(pair.value) > ATTRIBUTE_MAX))
        return kerr_set(err, -EINVAL, "must have a value of 1 to %d bytes", ATTRIBUTE_MAX);
    if (capacity && (r = qty_parse(pair.value, strlen(pair.value), &q, err)) < 0)
        return r;
    struct hollow_driver *d = arena_newn0(t->arena, s->ndrivers, struct hollow_driver);
    memcpy(d, s->drivers, s->ndrivers * sizeof *d);
    s->drivers = d;
    d += s->ndrivers - 1;
    const struct hollow_pair **list = capacity ? &d->capacity : &d->attrs;
    size_t *n = capacity ? &d->ncapacity : &d->nattrs;
    struct hollow_pair *grown = arena_newn0(t->arena, *n + 1, struct hollow_pair);
    if (*n)
        memcpy(grown, *list, *n * sizeof *grown);
    grown[(*n)++] = pair;
    *list = grown;
    return 0;
}

static int parse_choice(struct str v, const char *const *names, const char **ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf all = STRBUF_INIT;

    for (size_t i = 0; names[i]; i++) {
        if (str_eqz(v, names[i])) {
            *ret = names[i];
            return 0;
        }
        strbuf_appendf(&all, "%s%s", i == 0 ? "" : names[i + 1] ? ", " : " or ", names[i]);
    }
    return kerr_set(err, -EINVAL, "must be %s", strbuf_str(&all));
}

/* Names of upstream's NodeResourceTopology, which is how koordlet reports the kubelet's policy. */
static const char *const numa_policies[] = { "None", "BestEffort", "Restricted",
                                             "SingleNUMANodePodLevel", NULL };
static const char *const partition_policies[] = { "Honor", "Prefer", NULL };
static const char *const cpu_managers[] = { "static", "none", NULL };

enum property_type {
    COUNT,  /* unsigned, at most max */
    CPU,    /* int64_t, in millis */
    AMOUNT, /* int64_t */
    TEXT,   /* const char * */
    CHOICE, /* const char *, one of names */
};
static const struct property {
    const char *name;
    uint8_t type;
    unsigned max;
    size_t off;
    const char *const *names;
} properties[] = {
#define P(member) offsetof(struct hollow_shape, member)
    { "count", COUNT, 100000, P(count), NULL },
    { "cpu", CPU, 0, P(mcpu), NULL },
    { "memory", AMOUNT, 0, P(memory_bytes), NULL },
    { "storage", AMOUNT, 0, P(storage_bytes), NULL },
    { "pods", COUNT, 10000, P(max_pods), NULL },
    { "zones", COUNT, 26, P(zones), NULL },
    { "gpus", COUNT, 64, P(gpus), NULL },
    { "gpu-memory", AMOUNT, 0, P(gpu_memory_bytes), NULL },
    { "gpu-model", TEXT, 0, P(gpu_model), NULL },
    { "gpu-partitions", CHOICE, 0, P(gpu_partitions), partition_policies },
    { "rdma", COUNT, 64, P(rdma), NULL },
    { "rdma-vfs", COUNT, 126, P(rdma_vfs), NULL },
    { "pcie", COUNT, 64, P(pcie), NULL },
    { "numa", COUNT, 16, P(numa), NULL },
    { "sockets", COUNT, 16, P(sockets), NULL },
    { "threads", COUNT, 8, P(threads), NULL },
    { "numa-policy", CHOICE, 0, P(numa_policy), numa_policies },
    { "cpu-manager", CHOICE, 0, P(cpu_manager), cpu_managers },
    { "prefix", TEXT, 0, P(prefix), NULL },
#undef P
};

static int parse_item(struct hollow_shape_text *t, struct str key, struct str v, struct kerr *err)
{
    for (size_t i = 0; i < ARRAY_LEN(properties); i++) {
        const struct property *p = &properties[i];
        void *at = (char *)&t->shape + p->off;

        if (!str_eqz(key, p->name))
            continue;
        switch ((enum property_type)p->type) {
        case COUNT: return parse_count(v, p->max, at, err);
        case CPU:
        case AMOUNT: return parse_amount(v, p->type == CPU, at, err);
        case CHOICE: return parse_choice(v, p->names, at, err);
        case TEXT: *(const char **)at = arena_strndup(t->arena, v.p, v.n); return 0;
        }
    }
    return kerr_set(err, -EINVAL, "no such property of a shape");
}

static int parse_word(struct hollow_shape_text *t, struct str w, bool first, struct kerr *err)
{
    const char *eq = memchr(w.p, '=', w.n);

    if (w.n >= 6 && memcmp(w.p, "label:", 6) == 0)
        return add_pair(t, (struct str){ w.p + 6, w.n - 6 }, false, err);
    if (w.n >= 6 && memcmp(w.p, "taint:", 6) == 0)
        return add_pair(t, (struct str){ w.p + 6, w.n - 6 }, true, err);
    if (w.n >= 9 && memcmp(w.p, "dra-attr:", 9) == 0)
        return add_property(t, (struct str){ w.p + 9, w.n - 9 }, false, err);
    if (w.n >= 13 && memcmp(w.p, "dra-capacity:", 13) == 0)
        return add_property(t, (struct str){ w.p + 13, w.n - 13 }, true, err);
    if (w.n >= 4 && memcmp(w.p, "dra=", 4) == 0)
        return add_driver(t, (struct str){ w.p + 4, w.n - 4 }, err);
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
