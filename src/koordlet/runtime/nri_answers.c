/* nri_answers.c - what NRI is answered: the hooks' responses as adjustments and updates. */
#include "base/klog.h"
#include "base/map.h"
#include "koordlet/kernel/convert.h"
#include "koordlet/runtime/delivery_int.h"
#include "loop/loop.h"

static struct asked_pod asked_of(const struct nri_pod *p)
{
    return (struct asked_pod){ .ns = p->ns,
                               .name = p->name,
                               .uid = p->uid,
                               .labels = p->labels,
                               .annotations = p->annotations,
                               .cgroup_parent = p->linux_pod ? p->linux_pod->cgroup_parent
                                                             : (struct str){ NULL, 0 } };
}

/* ---- resources ------------------------------------------------------------------------------- */

static struct opt_i64 number_of(const struct nri_number *n)
{
    return n ? (struct opt_i64){ true, n->value } : (struct opt_i64){ 0 };
}

/* Zero means that nobody said anything, a negative limit that there is none. */
static struct opt_i64 asked_number(const struct nri_number *n)
{
    struct opt_i64 v = number_of(n);

    if (v.v == 0)
        return (struct opt_i64){ 0 };
    return (struct opt_i64){ true, MAX(v.v, (int64_t)-1) };
}

static void requested_of(const struct nri_resources *r, struct arena *a, struct hook_resources *ret)
{
    if (r && r->cpu) {
        ret->cpu_shares = asked_number(r->cpu->shares);
        ret->cfs_quota = asked_number(r->cpu->quota);
        if (r->cpu->cpus.n > 0)
            ret->cpuset = arena_strndup(a, r->cpu->cpus.p, r->cpu->cpus.n);
    }
    if (r && r->memory)
        ret->memory_limit = asked_number(r->memory->limit);
}

/* v as an optional number; NULL: nothing to say, or the container has it already. */
static struct nri_number *changed(struct opt_i64 v, const struct nri_number *has, struct arena *a)
{
    if (!v.set || (has && has->value == v.v))
        return NULL;
    struct nri_number *n = arena_new0(a, struct nri_number);
    n->value = v.v;
    return n;
}

static bool same_cpus(const char *cpus, struct str has)
{
    struct cpuset a, b;
    struct kerr err;

    if (str_eqz(has, cpus))
        return true;
    return has.n > 0 && cpus_parse(cpus, strlen(cpus), &a, &err) == 0 &&
           cpus_parse(has.p, has.n, &b, &err) == 0 && cpuset_equal(&a, &b);
}

/* The same for a limit of a container that runs: none is -1, 0 or nothing at all. */
static struct opt_i64 limit_unless_none(struct opt_i64 v, const struct nri_number *has)
{
    return v.v == -1 && (!has || has->value <= 0) ? (struct opt_i64){ 0 } : v;
}

/* What of the response differs from what the container has (NULL: nothing); NULL: nothing does. An
 * empty cpuset cannot be expressed, and is no change. */
static struct nri_resources *resources_of(const struct hook_context *c,
                                          const struct nri_resources *has, struct arena *a)
{
    static const struct nri_cpu no_cpu;
    static const struct nri_memory no_memory;
    const struct nri_cpu *has_cpu = has && has->cpu ? has->cpu : &no_cpu;
    const struct nri_memory *has_memory = has && has->memory ? has->memory : &no_memory;
    const struct hook_resources *r = &c->response;
    struct nri_resources *ret = arena_new0(a, struct nri_resources);
    struct nri_cpu cpu = { .shares = changed(r->cpu_shares, has_cpu->shares, a),
                           .quota = changed(r->cfs_quota, has_cpu->quota, a) };
    struct nri_memory memory = { .limit = changed(r->memory_limit, has_memory->limit, a) };

    if (r->cpuset && *r->cpuset && !same_cpus(r->cpuset, has_cpu->cpus))
        cpu.cpus = str_of(r->cpuset);
    if (cpu.shares || cpu.quota || cpu.cpus.n > 0) {
        ret->cpu = arena_new0(a, struct nri_cpu);
        *ret->cpu = cpu;
    }
    if (memory.limit) {
        ret->memory = arena_new0(a, struct nri_memory);
        *ret->memory = memory;
    }
    if (c->resctrl.closid && !has) {
        ret->rdt_class = arena_new0(a, struct nri_text);
        ret->rdt_class->value = str_of(c->resctrl.closid);
    }
    return ret->cpu || ret->memory || ret->rdt_class ? ret : NULL;
}

static void put_update(nri_updates *l, struct str id, struct nri_resources *r, bool ignore_failure,
                       struct arena *a)
{
    struct nri_linux_update *of = arena_new0(a, struct nri_linux_update);

    of->resources = r;
    l->items[l->n++] = (struct nri_update){ .container_id = id,
                                            .linux_update = of,
                                            .ignore_failure = ignore_failure };
}

/* ---- CreateContainer ------------------------------------------------------------------------- */

static void adjust_list(const struct hook_context *c, struct arena *a, struct nri_adjustment *ret)
{
    static struct str rbind = { "rbind", 5 };

    ret->env.items = arena_newn0(a, c->envs.n + 1, struct nri_pair);
    vec_foreach(&c->envs, i)
        ret->env.items[ret->env.n++] = (struct nri_pair){ .key = str_of(c->envs.items[i].name),
                                                          .value = str_of(c->envs.items[i].value) };
    ret->mounts.items = arena_newn0(a, c->mounts.n + 1, struct nri_mount);
    vec_foreach(&c->mounts, i)
        ret->mounts.items[ret->mounts.n++] =
            (struct nri_mount){ .destination = str_of(c->mounts.items[i].destination),
                                .type = STR("bind"),
                                .source = str_of(c->mounts.items[i].source),
                                .options = { &rbind, 1 } };
}

static void adjust_linux(const struct hook_context *c, struct arena *a, struct nri_adjustment *ret)
{
    struct nri_linux_adjustment *of = arena_new0(a, struct nri_linux_adjustment);

    of->resources = resources_of(c, NULL, a);
    of->devices.items = arena_newn0(a, c->devices.n + 1, struct nri_device);
    vec_foreach(&c->devices, i) {
        const struct hook_device *d = &c->devices.items[i];
        struct nri_number *mode = arena_new0(a, struct nri_number);
        mode->value = d->mode;
        of->devices.items[of->devices.n++] = (struct nri_device){ .path = str_of(d->path),
                                                                  .type = STR("c"),
                                                                  .major = d->major,
                                                                  .minor = d->minor,
                                                                  .file_mode = mode };
    }
    if (of->resources || of->devices.n > 0)
        ret->linux_adjustment = of;
}

static void note(struct delivery *d, const struct hook_context *c, struct str id,
                 enum delivery_path path, nsec_t after)
{
    ledger_note(d->ledger, &(struct delivered){
                               .id = arena_strndup(c->arena, id.n ? id.p : "", id.n),
                               .ns = c->ns,
                               .pod = c->name,
                               .container = str_or(c->container, ""),
                               .path = response_is_empty(c) ? DELIVERED_NOTHING : path,
                               .after = after,
                           });
}

static int on_create(void *arg, const struct nri_pod *p, const struct nri_container *c,
                     struct arena *a, struct nri_adjustment *ret, struct kerr *err)
{
    struct delivery *d = arg;
    struct asked_pod asked = asked_of(p);
    CLEANUP(hook_context_fini) struct hook_context x;

    request_container(&asked, c->name, c->id, d->env.o->hooks.default_runtime, a, &x);
    requested_of(c->linux_container ? c->linux_container->resources : NULL, a, &x.requested);
    if (delivery_run(d, HOOK_PRE_CREATE_CONTAINER, &x, err) < 0)
        return err->code;
    adjust_list(&x, a, ret);
    adjust_linux(&x, a, ret);
    note(d, &x, c->id, DELIVERED_NRI, 0);
    return 0;
}

/* ---- UpdateContainer ------------------------------------------------------------------------- */

/* The requested values count, not those of the container, which hooks have changed already. */
static int on_update(void *arg, const struct nri_pod *p, const struct nri_container *c,
                     const struct nri_resources *wanted, struct arena *a, nri_updates *ret,
                     struct kerr *err)
{
    struct delivery *d = arg;
    struct asked_pod asked = asked_of(p);
    CLEANUP(hook_context_fini) struct hook_context x;

    request_container(&asked, c->name, c->id, d->env.o->hooks.default_runtime, a, &x);
    requested_of(wanted, a, &x.requested);
    if (delivery_run(d, HOOK_PRE_UPDATE_CONTAINER, &x, err) < 0)
        return err->code;
    struct nri_resources *r = resources_of(&x, wanted, a);
    ret->items = arena_newn0(a, 1, struct nri_update);
    if (r)
        put_update(ret, c->id, r, false, a);
    return 0;
}

/* ---- Synchronize ----------------------------------------------------------------------------- */

static const struct container *spec_of(const containerlist *l, struct str name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (str_eqz(name, l->items[i].name))
            return &l->items[i];
    return NULL;
}

/* What a container asks for is known from the pod's spec: its own values may be those that an
 * earlier koordlet gave it, and are not to be normalized again. */
static void sync_context(struct delivery *d, const struct nri_pod *p, const struct nri_container *c,
                         struct arena *a, struct hook_context *ret)
{
    const char *uid = arena_strndup(a, p->uid.n ? p->uid.p : "", p->uid.n);
    const struct npod *np = podset_find(snapshots_get(d->env.snapshots)->pods, uid);
    const struct container *of = NULL;
    struct asked_pod asked = asked_of(p);

    if (np)
        of = spec_of(&npod_pod(np)->spec->containers, c->name);
    if (np && !of)
        of = spec_of(&npod_pod(np)->spec->init_containers, c->name);
    if (of)
        hook_context_container(np, of, NULL, a, ret);
    else
        request_container(&asked, c->name, c->id, d->env.o->hooks.default_runtime, a, ret);
}

static bool is_alive(const struct nri_container *c)
{
    return c->state == NRI_CREATED || c->state == NRI_RUNNING || c->state == NRI_PAUSED;
}

static void sync_one(struct delivery *d, const struct nri_pod *p, const struct nri_container *c,
                     struct arena *a, nri_updates *ret)
{
    CLEANUP(hook_context_fini) struct hook_context x;
    const struct nri_resources *has = c->linux_container ? c->linux_container->resources : NULL;
    static const struct nri_resources none;
    nsec_t now = loop_wall(d->env.loop), start = c->started_at ? c->started_at : c->created_at;
    struct kerr err;

    sync_context(d, p, c, a, &x);
    if (delivery_run(d, HOOK_PRE_CREATE_CONTAINER, &x, &err) < 0)
        return; /* it runs: there is nothing to refuse */
    if (!has)
        has = &none;
    x.response.cfs_quota =
        limit_unless_none(x.response.cfs_quota, has->cpu ? has->cpu->quota : NULL);
    x.response.memory_limit =
        limit_unless_none(x.response.memory_limit, has->memory ? has->memory->limit : NULL);
    struct nri_resources *r = resources_of(&x, has, a);
    if (!r)
        return;
    put_update(ret, c->id, r, true, a);
    note(d, &x, c->id, DELIVERED_SYNCHRONIZE, start > 0 ? MAX(now - start, (nsec_t)0) : -1);
}

/* One update for each container whose values differ: those that started while koordlet was away. */
static void on_synchronize(void *arg, const struct nri_inventory *all, struct arena *a,
                           nri_updates *ret)
{
    struct delivery *d = arg;
    CLEANUP(map_fini) struct map pods = { 0 };

    for (size_t i = 0; i < all->npods; i++)
        if (all->pods[i]->id.n > 0)
            map_put(&pods, all->pods[i]->id.p, all->pods[i]->id.n, (void *)all->pods[i]);
    ret->items = arena_newn0(a, all->ncontainers + 1, struct nri_update);
    for (size_t i = 0; i < all->ncontainers; i++) {
        const struct nri_container *c = all->containers[i];
        const struct nri_pod *p = c->pod_id.n > 0 ? map_get(&pods, c->pod_id.p, c->pod_id.n) : NULL;
        if (p && is_alive(c))
            sync_one(d, p, c, a, ret);
    }
    KLOG_I(0, "Synchronized with the runtime over NRI", KV_I("pods", all->npods),
           KV_I("containers", all->ncontainers), KV_I("updated", ret->n));
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* Never refused, whatever the policy: containerd keeps a record of a pod whose start a plugin
 * refused, and does not come up again with it (containerd#13609). */
static void on_run_pod(void *arg, const struct nri_pod *p)
{
    struct asked_pod asked = asked_of(p);
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(hook_context_fini) struct hook_context x;
    struct kerr err;

    request_pod(&asked, a, &x);
    (void)delivery_run_pod(arg, &asked, &x, &err);
}

static void on_remove_pod(void *arg, const struct nri_pod *p)
{
    struct asked_pod asked = asked_of(p);

    delivery_remove_pod(arg, &asked);
}

const struct nri_handlers nri_answers = {
    .run_pod = on_run_pod,
    .remove_pod = on_remove_pod,
    .create = on_create,
    .update = on_update,
    .synchronize = on_synchronize,
};
