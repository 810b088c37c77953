/* request.c - from messages to contexts. */
#include "koordlet/runtime/request.h"

#include "api/protocol/keys.h"

#define DOCKER_TYPE "io.kubernetes.docker.type"

static const char *text_of(struct str s, struct arena *a)
{
    return arena_strndup(a, s.n ? s.p : "", s.n);
}

/* By key; equal ones in the order of the message. */
static int compare_pairs(const void *a, const void *b)
{
    const struct wire_pair *x = *(const struct wire_pair *const *)a;
    const struct wire_pair *y = *(const struct wire_pair *const *)b;
    size_t n = MIN(x->key.n, y->key.n);
    int c = n ? memcmp(x->key.p, y->key.p, n) : 0;

    if (c != 0)
        return c;
    if (x->key.n != y->key.n)
        return x->key.n < y->key.n ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Of equal keys the last one counts. */
static const kstrmap *map_of(const wire_map *m, struct arena *a)
{
    kstrmap *ret = arena_new0(a, kstrmap);
    const struct wire_pair **sorted = arena_newn0(a, m->n + 1, const struct wire_pair *);
    struct kstrpair *items = arena_newn0(a, m->n + 1, struct kstrpair);
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->n; i++)
        sorted[i] = &m->items[i];
    if (m->n > 1)
        qsort(sorted, m->n, sizeof *sorted, compare_pairs);
    for (uint32_t i = 0; i < m->n; i++)
        if (i + 1 == m->n || !str_eq(sorted[i]->key, sorted[i + 1]->key))
            items[n++] =
                (struct kstrpair){ text_of(sorted[i]->key, a), text_of(sorted[i]->value, a) };
    ret->items = items;
    ret->n = n;
    return ret;
}

static bool is_safe(struct str path)
{
    for (size_t i = 0; i < path.n; i++)
        if (path.p[i] == '\0' || (path.p[i] == '.' && i + 1 < path.n && path.p[i + 1] == '.'))
            return false;
    return path.n > 0;
}

/* "a-b-c.slice" lies in a.slice/a-b.slice. */
static const char *slice_path(const char *name, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    size_t stem = strlen(name) - strlen(".slice");

    for (size_t i = 1; i < stem; i++)
        if (name[i] == '-')
            strbuf_appendf(&out, "%.*s.slice/", (int)i, name);
    strbuf_append(&out, name);
    return arena_strdup(a, strbuf_str(&out));
}

const char *request_cgroup_dir(struct str parent, struct arena *a)
{
    while (parent.n > 0 && parent.p[0] == '/')
        parent = (struct str){ parent.p + 1, parent.n - 1 };
    while (parent.n > 0 && parent.p[parent.n - 1] == '/')
        parent.n--;
    if (!is_safe(parent))
        return NULL;
    const char *dir = text_of(parent, a);
    return !strchr(dir, '/') && str_ends(dir, ".slice") ? slice_path(dir, a) : dir;
}

static void context_of(const struct asked_pod *p, struct arena *a, struct hook_context *ret)
{
    *ret = (struct hook_context){
        .arena = a,
        .ns = text_of(p->ns, a),
        .name = text_of(p->name, a),
        .uid = text_of(p->uid, a),
        .labels = map_of(&p->labels, a),
        .annotations = map_of(&p->annotations, a),
        .cgroup_parent = text_of(p->cgroup_parent, a),
    };
}

void request_pod(const struct asked_pod *p, struct arena *a, struct hook_context *ret)
{
    struct extended_resource_spec spec;
    struct kerr ignored;

    context_of(p, a, ret);
    if (extended_resource_spec_read(ret->annotations, a, &spec, &ignored) <= 0)
        return;
    ret->extended_all.items = spec.containers.items;
    ret->extended_all.n = spec.containers.n;
}

void request_container(const struct asked_pod *p, struct str name, struct str id,
                       const char *default_runtime, struct arena *a, struct hook_context *ret)
{
    struct extended_resource_spec spec;
    struct kerr ignored;

    context_of(p, a, ret);
    ret->container = text_of(name, a);
    if (id.n > 0)
        ret->container_id = arena_printf(
            a, "%s://%.*s", kstrmap_get(ret->annotations, DOCKER_TYPE) ? "docker" : default_runtime,
            (int)id.n, id.p);
    if (extended_resource_spec_read(ret->annotations, a, &spec, &ignored) <= 0)
        return;
    for (uint32_t i = 0; i < spec.containers.n; i++)
        if (streq(spec.containers.items[i].name, ret->container))
            ret->extended = &spec.containers.items[i];
}

bool response_is_empty(const struct hook_context *c)
{
    const struct hook_resources *r = &c->response;

    return !r->cpu_shares.set && !r->cfs_quota.set && !r->memory_limit.set && !r->cpuset &&
           !r->bvt.set && !r->cpu_idle.set && !r->net_cls_classid.set && !c->resctrl.closid &&
           c->envs.n == 0 && c->mounts.n == 0 && c->devices.n == 0;
}
