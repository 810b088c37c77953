/* merge.c - between CRI and hooks. */
#include "runtimeproxy/merge.h"

enum { VALUE_SHOWN = 120 };

/* ---- maps ------------------------------------------------------------------------------------ */

static struct str *map_find(const wire_map *m, struct str key)
{
    for (uint32_t i = m->n; i-- > 0;) /* the last one counts */
        if (str_eq(m->items[i].key, key))
            return &m->items[i].value;
    return NULL;
}

/* The keys of `over` win; the order of `base` stays. */
static wire_map map_over(const wire_map *base, const wire_map *over, struct arena *a)
{
    wire_map ret = { .items = arena_newn0(a, (size_t)base->n + over->n + 1, struct wire_pair) };

    for (uint32_t i = 0; i < base->n; i++)
        ret.items[ret.n++] = base->items[i];
    for (uint32_t i = 0; i < over->n; i++) {
        struct str *at = map_find(&ret, over->items[i].key);
        if (at)
            *at = over->items[i].value;
        else
            ret.items[ret.n++] = over->items[i];
    }
    return ret;
}

static wire_map map_of_envs(const struct cri_container_config *c, struct arena *a)
{
    wire_map ret = { .items = arena_newn0(a, (size_t)c->envs.n + 1, struct wire_pair) };

    for (uint32_t i = 0; i < c->envs.n; i++) {
        struct str *at = map_find(&ret, c->envs.items[i].key);
        if (at)
            *at = c->envs.items[i].value;
        else
            ret.items[ret.n++] = (struct wire_pair){ c->envs.items[i].key, c->envs.items[i].value };
    }
    return ret;
}

/* ---- from CRI to hooks ----------------------------------------------------------------------- */

void merge_from_run_pod(const struct cri_run_pod_request *in, struct hook_pod_request *ret)
{
    static const struct cri_pod_config nothing;
    const struct cri_pod_config *c = in->config ? in->config : &nothing;

    *ret = (struct hook_pod_request){
        .pod = c->metadata,
        .runtime_handler = in->runtime_handler,
        .labels = c->labels,
        .annotations = c->annotations,
        .cgroup_parent = c->linux_pod ? c->linux_pod->cgroup_parent : (struct str){ NULL, 0 },
        .overhead = c->linux_pod ? c->linux_pod->overhead : NULL,
        .resources = c->linux_pod ? c->linux_pod->resources : NULL,
    };
}

static struct cri_resources *copy_resources(const struct cri_resources *r, struct arena *a)
{
    struct cri_resources *ret = arena_new0(a, struct cri_resources);

    if (r)
        *ret = *r;
    return ret;
}

void merge_from_create(const struct cri_create_request *in, const struct hook_pod_request *pod,
                       struct arena *a, struct hook_container_request *ret)
{
    static const struct cri_container_config nothing;
    static const struct cri_container_metadata nobody;
    const struct cri_container_config *c = in->config ? in->config : &nothing;
    const struct cri_container_metadata *m = c->metadata ? c->metadata : &nobody;
    const struct cri_pod_config *p = in->pod_config;
    struct hook_container_metadata *meta = arena_new0(a, struct hook_container_metadata);

    meta->name = m->name;
    meta->attempt = m->attempt;
    *ret = (struct hook_container_request){
        .pod = pod->pod,
        .container = meta,
        .annotations = c->annotations,
        .resources = copy_resources(c->linux_container ? c->linux_container->resources : NULL, a),
        .pod_resources = pod->resources,
        .pod_annotations = pod->annotations,
        .pod_labels = pod->labels,
        .cgroup_parent = p && p->linux_pod && p->linux_pod->cgroup_parent.n > 0
                             ? p->linux_pod->cgroup_parent
                             : pod->cgroup_parent,
        .envs = map_of_envs(c, a),
    };
}

/* ---- resources ------------------------------------------------------------------------------- */

/* What both sources do alike. */
static void over_resources(struct cri_resources *base, const struct cri_resources *over,
                           struct arena *a)
{
    if (over->cpu_period > 0)
        base->cpu_period = over->cpu_period;
    if (over->cpu_quota != 0)
        base->cpu_quota = over->cpu_quota;
    if (over->cpu_shares > 0)
        base->cpu_shares = over->cpu_shares;
    if (over->memory_limit > 0)
        base->memory_limit = over->memory_limit;
    if (over->memory_swap_limit > 0)
        base->memory_swap_limit = over->memory_swap_limit;
    if (over->unified.n > 0)
        base->unified = map_over(&base->unified, &over->unified, a);
}

void merge_from_update(const struct cri_update_request *in, struct arena *a,
                       struct hook_container_request *cached)
{
    if (in->annotations.n > 0)
        cached->annotations = map_over(&cached->annotations, &in->annotations, a);
    if (!in->resources)
        return;
    if (!cached->resources) { /* nothing is known of it: what is asked for is the base */
        cached->resources = copy_resources(in->resources, a);
        return;
    }
    over_resources(cached->resources, in->resources, a);
    if (in->resources->cpuset_cpus.n > 0)
        cached->resources->cpuset_cpus = in->resources->cpuset_cpus;
    if (in->resources->cpuset_mems.n > 0)
        cached->resources->cpuset_mems = in->resources->cpuset_mems;
}

static void over_response(struct cri_resources *base, const struct cri_resources *r,
                          struct arena *a)
{
    over_resources(base, r, a);
    if (r->oom_score_adj >= -1000 && r->oom_score_adj <= 1000)
        base->oom_score_adj = r->oom_score_adj;
    base->cpuset_cpus = r->cpuset_cpus;
    base->cpuset_mems = r->cpuset_mems;
}

/* ---- reading answers ------------------------------------------------------------------------- */

/* A field of the table that came with another wire type is left among the unknown ones. */
static bool has_known(struct str unknown, uint32_t max)
{
    struct wire_field f;

    while (wire_next(&unknown, &f) > 0)
        if (f.num <= max)
            return true;
    return false;
}

static bool is_cpus(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] < '0' || s.p[i] > '9') && s.p[i] != ',' && s.p[i] != '-')
            return false;
    return s.n == 0 || (s.p[0] >= '0' && s.p[0] <= '9' && s.n < 4096);
}

static bool is_sane(const struct cri_resources *r)
{
    bool period = r->cpu_period == 0 || (r->cpu_period >= 1000 && r->cpu_period <= 1000000);
    bool quota = r->cpu_quota == 0 || r->cpu_quota == -1 || r->cpu_quota >= 1000;
    bool shares = r->cpu_shares == 0 || (r->cpu_shares >= 2 && r->cpu_shares <= 262144);

    return period && quota && shares && r->memory_limit >= -1 && r->memory_swap_limit >= -1 &&
           is_cpus(r->cpuset_cpus) && is_cpus(r->cpuset_mems);
}

static int check(const struct wire_table *t, struct str unknown, const struct cri_resources *r,
                 struct kerr *err)
{
    if (has_known(unknown, t->members[t->n - 1].num) ||
        (r && has_known(r->unknown, cri_resources_table.members[cri_resources_table.n - 1].num)))
        return kerr_set(err, -EBADMSG, "the answer is no %s", t->name);
    if (r && !is_sane(r))
        return kerr_set(err, -EBADMSG, "%s: resources that no kernel takes", t->name);
    return 0;
}

int merge_read_pod(struct str message, struct arena *a, struct hook_pod_response *ret,
                   struct kerr *err)
{
    if (wire_decode(&hook_pod_response_table, message, a, ret, err) < 0)
        return err->code;
    return check(&hook_pod_response_table, ret->unknown, ret->resources, err);
}

int merge_read_container(struct str message, struct arena *a, struct hook_container_response *ret,
                         struct kerr *err)
{
    if (wire_decode(&hook_container_response_table, message, a, ret, err) < 0)
        return err->code;
    return check(&hook_container_response_table, ret->unknown, ret->resources, err);
}

/* Resources of a pod are not taken. */
void merge_pod(struct hook_pod_request *cached, const struct hook_pod_response *r, struct arena *a)
{
    cached->labels = map_over(&cached->labels, &r->labels, a);
    cached->annotations = map_over(&cached->annotations, &r->annotations, a);
    if (r->cgroup_parent.n > 0)
        cached->cgroup_parent = r->cgroup_parent;
}

void merge_pod_resources(struct hook_pod_request *cached, const struct cri_resources *r,
                         struct arena *a)
{
    cached->resources = copy_resources(cached->resources, a);
    over_response(cached->resources, r, a);
}

void merge_container(struct hook_container_request *cached, const struct hook_container_response *r,
                     struct arena *a)
{
    cached->annotations = map_over(&cached->annotations, &r->annotations, a);
    if (r->cgroup_parent.n > 0)
        cached->cgroup_parent = r->cgroup_parent;
    if (r->envs.n > 0)
        cached->envs = map_over(&(wire_map){ NULL, 0 }, &r->envs, a);
    if (cached->resources && r->resources)
        over_response(cached->resources, r->resources, a);
}

/* ---- back to CRI ----------------------------------------------------------------------------- */

static bool put_text(struct strbuf *out, const char *field, struct str *is, struct str to)
{
    if (str_eq(*is, to))
        return false;
    strbuf_appendf(out, "%s: '%.*s' -> '%.*s'; ", field, (int)MIN(is->n, (size_t)VALUE_SHOWN),
                   is->n ? is->p : "", (int)MIN(to.n, (size_t)VALUE_SHOWN), to.n ? to.p : "");
    *is = to;
    return true;
}

static bool put_number(struct strbuf *out, const char *field, int64_t *is, int64_t to)
{
    if (*is == to)
        return false;
    strbuf_appendf(out, "%s: %lld -> %lld; ", field, (long long)*is, (long long)to);
    *is = to;
    return true;
}

/* `to` has all keys of `is`. */
static bool put_map(struct strbuf *out, const char *field, wire_map *is, const wire_map *to)
{
    bool changed = false;

    for (uint32_t i = 0; i < to->n; i++) {
        const struct wire_pair *p = &to->items[i];
        struct str none = { NULL, 0 };
        struct str *old = map_find(is, p->key);
        if (old && str_eq(*old, p->value))
            continue;
        strbuf_appendf(out, "%s[%.*s]: '%.*s' -> '%.*s'; ", field,
                       (int)MIN(p->key.n, (size_t)VALUE_SHOWN), p->key.n ? p->key.p : "",
                       (int)MIN((old ? *old : none).n, (size_t)VALUE_SHOWN),
                       old && old->n ? old->p : "", (int)MIN(p->value.n, (size_t)VALUE_SHOWN),
                       p->value.n ? p->value.p : "");
        changed = true;
    }
    if (changed)
        *is = *to;
    return changed;
}

static bool put_resources(struct strbuf *out, struct cri_resources *is,
                          const struct cri_resources *to)
{
    bool c = put_number(out, "cpu_period", &is->cpu_period, to->cpu_period);

    c |= put_number(out, "cpu_quota", &is->cpu_quota, to->cpu_quota);
    c |= put_number(out, "cpu_shares", &is->cpu_shares, to->cpu_shares);
    c |= put_number(out, "memory_limit_in_bytes", &is->memory_limit, to->memory_limit);
    c |= put_number(out, "memory_swap_limit_in_bytes", &is->memory_swap_limit,
                    to->memory_swap_limit);
    c |= put_number(out, "oom_score_adj", &is->oom_score_adj, to->oom_score_adj);
    c |= put_text(out, "cpuset_cpus", &is->cpuset_cpus, to->cpuset_cpus);
    c |= put_text(out, "cpuset_mems", &is->cpuset_mems, to->cpuset_mems);
    c |= put_map(out, "unified", &is->unified, &to->unified);
    return c;
}

bool merge_to_run_pod(const struct hook_pod_request *cached, struct arena *a,
                      struct cri_run_pod_request *in, struct strbuf *changes)
{
    static const struct str none;
    struct cri_pod_config *c = in->config ? in->config : arena_new0(a, struct cri_pod_config);
    bool changed = put_map(changes, "labels", &c->labels, &cached->labels);

    changed |= put_map(changes, "annotations", &c->annotations, &cached->annotations);
    struct str parent = c->linux_pod ? c->linux_pod->cgroup_parent : none;
    if (put_text(changes, "cgroup_parent", &parent, cached->cgroup_parent)) {
        if (!c->linux_pod)
            c->linux_pod = arena_new0(a, struct cri_linux_pod);
        c->linux_pod->cgroup_parent = parent;
        changed = true;
    }
    struct cri_resources *r = copy_resources(c->linux_pod ? c->linux_pod->resources : NULL, a);
    if (c->linux_pod && cached->resources && put_resources(changes, r, cached->resources)) {
        c->linux_pod->resources = r;
        changed = true;
    }
    in->config = changed ? c : in->config;
    return changed;
}

static int compare_envs(const void *x, const void *y)
{
    const struct cri_env *a = x, *b = y;
    int c = memcmp(a->key.p ? a->key.p : "", b->key.p ? b->key.p : "", MIN(a->key.n, b->key.n));

    return c ? c : a->key.n < b->key.n ? -1 : a->key.n > b->key.n;
}

/* Those that stay keep their place, new ones follow in the order of their names. */
static bool put_envs(const wire_map *to, struct arena *a, struct cri_container_config *c,
                     struct strbuf *out)
{
    wire_map was = map_of_envs(c, a);
    struct cri_env *items = arena_newn0(a, (size_t)c->envs.n + to->n + 1, struct cri_env);
    uint32_t n = 0;
    bool changed = false;

    for (uint32_t i = 0; i < c->envs.n; i++) {
        struct cri_env e = c->envs.items[i];
        const struct str *v = map_find(to, e.key);
        if (v && !str_eq(*v, *map_find(&was, e.key))) {
            changed |= put_text(out, "env", &e.value, *v);
            e.value = *v;
        }
        changed |= !v;
        if (v)
            items[n++] = e;
    }
    uint32_t kept = n;
    for (uint32_t i = 0; i < to->n; i++)
        if (!map_find(&was, to->items[i].key)) {
            strbuf_appendf(out, "env[%.*s]: '' -> '%.*s'; ",
                           (int)MIN(to->items[i].key.n, (size_t)VALUE_SHOWN),
                           to->items[i].key.n ? to->items[i].key.p : "",
                           (int)MIN(to->items[i].value.n, (size_t)VALUE_SHOWN),
                           to->items[i].value.n ? to->items[i].value.p : "");
            items[n++] = (struct cri_env){ to->items[i].key, to->items[i].value, { NULL, 0 } };
            changed = true;
        }
    if (n - kept > 1)
        qsort(items + kept, n - kept, sizeof *items, compare_envs);
    if (changed) {
        c->envs.items = items;
        c->envs.n = n;
    }
    return changed;
}

static bool put_parent(struct str to, struct arena *a, struct cri_create_request *in,
                       struct strbuf *out)
{
    static const struct str none;
    struct cri_pod_config *p = in->pod_config;
    struct str is = p && p->linux_pod ? p->linux_pod->cgroup_parent : none;

    if (to.n == 0 || !put_text(out, "cgroup_parent", &is, to))
        return false;
    if (!p)
        p = in->pod_config = arena_new0(a, struct cri_pod_config);
    if (!p->linux_pod)
        p->linux_pod = arena_new0(a, struct cri_linux_pod);
    p->linux_pod->cgroup_parent = is;
    return true;
}

bool merge_to_create(const struct hook_container_request *cached, struct arena *a,
                     struct cri_create_request *in, struct strbuf *changes)
{
    struct cri_container_config *c =
        in->config ? in->config : arena_new0(a, struct cri_container_config);
    struct cri_linux_container *l = c->linux_container;
    struct cri_resources *r = copy_resources(l ? l->resources : NULL, a);
    bool changed = put_map(changes, "annotations", &c->annotations, &cached->annotations);

    if (cached->resources && put_resources(changes, r, cached->resources)) {
        if (!l)
            l = c->linux_container = arena_new0(a, struct cri_linux_container);
        l->resources = r;
        changed = true;
    }
    changed |= put_envs(&cached->envs, a, c, changes);
    if (changed)
        in->config = c;
    return put_parent(cached->cgroup_parent, a, in, changes) || changed;
}

bool merge_to_update(const struct hook_container_request *cached, struct arena *a,
                     struct cri_update_request *in, struct strbuf *changes)
{
    struct cri_resources *r = copy_resources(in->resources, a);
    bool changed = put_map(changes, "annotations", &in->annotations, &cached->annotations);

    if (in->resources && cached->resources && put_resources(changes, r, cached->resources)) {
        in->resources = r;
        changed = true;
    }
    return changed;
}
