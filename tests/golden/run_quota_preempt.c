/* run_quota_preempt.c - victims of a preemption within a quota, on one node. */
#include "api/koord/quota.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/policy.h"
#include "base/intern.h"
#include "runners.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/service_table.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/nominator.h"
#include "scheduler/plugins/elasticquota/elasticquota.h"
#include "scheduler/plugins/registry.h"

/* ---- the only filter of the vectors' cluster ------------------------------------------------- */

static const struct ks_reason reasons[] = { { KS_SUCCESS, "" },
                                            { KS_UNSCHEDULABLE, "Insufficient resources" } };

static uint8_t lacks(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row)
{
    (void)self;
    for (uint32_t r = KS_MCPU; r <= KS_MEMORY; r++)
        if (p->requests.fixed[r] > c->nodes->alloc[r][row] - c->nodes->used[r][row])
            return 1;
    return 0;
}

static void filter(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                   const uint8_t *skip, uint8_t *restrict why)
{
    ks_filter_rows(self, c, p, s, skip, why, lacks);
}

static const struct ks_plugin room_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Room",
    .reasons = reasons,
    .reuse = KS_REUSE_GLOBAL,
    .filter = filter,
};
static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &room_plugin, 0, true },
    { &ks_plugin_elastic_quota, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* ---- a cluster of one node ------------------------------------------------------------------- */

struct cluster {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct objects *objects;
    struct nodecache *cache;
    struct nominator *nominator;
    struct service_table *services;
    struct profile *profile;
    struct kobj *pod; /* that waits */
    struct attempt attempt;
};

static struct cluster *cluster_free(struct cluster *c)
{
    attempt_end(&c->attempt);
    kobj_unref(c->pod);
    profile_free(c->profile);
    service_table_free(c->services);
    nominator_free(c->nominator);
    nodecache_free(c->cache);
    objects_free(c->objects);
    kj_scratch_free(c->scratch);
    intern_free(c->strings);
    return NULL;
}
DEFINE_CLEANUP(cluster_free, struct cluster *)

static int cluster_begin(struct cluster *c, struct arena *a, struct kerr *err)
{
    static const char args[] = "{\"enableRuntimeQuota\":false}";
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct profile_config config = profile_config_default(table, "koord-scheduler", a);
    struct profile_args given = { "ElasticQuota", NULL };
    void *decoded = NULL;

    c->strings = intern_new();
    c->scratch = kj_scratch_new(c->strings);
    c->objects = objects_new();
    c->cache = nodecache_new(c->objects);
    c->nominator = nominator_new();
    c->services = service_table_new();
    if (kj_parse(args, strlen(args), KJ_RAW_NUMBERS, &doc, err) < 0 ||
        args_decode(ks_plugin_elastic_quota.args, kj_root(doc), &(struct ks_args_context){ 0 }, a,
                    &decoded, err) < 0)
        return err->code;
    given.args = decoded;
    config.args = &given;
    config.nargs = 1;
    c->profile = profile_new(&config, table,
                             &(struct ks_env){ .objects = c->objects,
                                               .nodes = nodecache_nodes(c->cache),
                                               .service_table = c->services },
                             err);
    return c->profile ? 0 : err->code;
}

static int put_all(struct cluster *c, const struct kind *k, const struct kj_val *list,
                   struct kerr *err)
{
    for (size_t i = 0; i < kj_len(list); i++) {
        CLEANUP(kobj_unref) struct kobj *o = NULL;
        int r = kobj_decode(k, kj_at(list, i), c->scratch, &o, err);
        if (r < 0)
            return r;
        if (k != &kind_pod) {
            objects_put(c->objects, o);
            continue;
        }
        services_tell(c->services, NULL, pod_of(o));
        nodecache_put_pod(c->cache, o);
    }
    return 0;
}

static int cluster_fill(struct cluster *c, const struct kj_val *in, struct kerr *err)
{
    CLEANUP(kobj_unref) struct kobj *node = NULL;
    int r = kobj_decode(&kind_node, kj_get(in, "node"), c->scratch, &node, err);

    if (r < 0)
        return r;
    nodecache_put_node(c->cache, node);
    services_tell_node(c->services, NULL, node_of(node));
    services_tell_all(c->services, NULL, 0); /* from now on they hear of each pod */
    r = put_all(c, &kind_elasticquota, kj_get(in, "quotas"), err);
    if (r == 0)
        r = put_all(c, &kind_pdb, kj_get(in, "podDisruptionBudgets"), err);
    if (r == 0)
        r = put_all(c, &kind_pod, kj_get(in, "pods"), err);
    if (r == 0)
        r = kobj_decode(&kind_pod, kj_get(in, "pod"), c->scratch, &c->pod, err);
    if (r == 0)
        services_tell(c->services, NULL, pod_of(c->pod));
    return r;
}

/* ---- the question ---------------------------------------------------------------------------- */

static uint32_t quota_slot(const struct profile *p)
{
    uint32_t slot = 0;

    while (p->slots[slot].plugin != &ks_plugin_elastic_quota)
        slot++;
    return slot;
}

static void write_answer(enum ks_code code, const struct victims *v, const struct ks_texts *why,
                         struct kjw *w, struct arena *a)
{
    kjw_obj(w, NULL);
    kjw_str(w, "code",
            code == KS_SUCCESS         ? "Success"
            : code == KS_UNSCHEDULABLE ? "Unschedulable"
                                       : "UnschedulableAndUnresolvable");
    if (code != KS_SUCCESS)
        kjw_str(w, "message", ks_texts_join(why));
    kjw_i64(w, "pdbViolations", code == KS_SUCCESS ? v->violations : 0);
    if (code == KS_SUCCESS && v->n) {
        kjw_arr(w, "victims");
        for (uint32_t i = 0; i < v->n; i++)
            kjw_str(w, NULL,
                    arena_printf(a, "%s/%s", v->pods[i]->obj.meta.ns, v->pods[i]->obj.meta.name));
        kjw_end(w);
    }
    kjw_end(w);
}

int golden_quota_preempt(const struct kj_val *in, struct arena *a, struct strbuf *got,
                         struct kerr *err)
{
    struct cluster cluster = { 0 };
    CLEANUP(cluster_free) struct cluster *c = &cluster;
    struct ks_texts why = { .arena = a };
    struct victims victims = { 0 };
    struct kjw w = kjw_to(got);
    int r = cluster_begin(c, a, err);

    if (r == 0)
        r = cluster_fill(c, in, err);
    if (r < 0)
        return r;
    attempt_init(&c->attempt,
                 &(struct attempt_input){ .profile = c->profile,
                                          .cache = c->cache,
                                          .nominator = c->nominator,
                                          .objects = c->objects,
                                          .pod = c->pod,
                                          .complete = true },
                 a);
    attempt_filter(&c->attempt);
    uint32_t slot = quota_slot(c->profile);
    struct quota_preemption p = { .plugin = c->profile->slots[slot].self,
                                  .attempt = c->attempt.state[slot] };
    struct preemption_rules rules = elastic_quota_rules(&p);
    struct dry_run d = { .a = &c->attempt, .rules = &rules };
    budgets_refresh(rules.budgets);
    write_answer(dry_run_row(&d, 0, &victims, &why), &victims, &why, &w, a);
    return 0;
}
