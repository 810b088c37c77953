/* sim_scheduler_quota.c - ElasticQuotas that are made, moved, given other keys and deleted while
 * pods come and go. After each step what a scheduler knows of quotas equals what is made anew of
 * the same objects, and sums that are added up here; in the end it equals what the server's objects
 * make.
 */
#include "sim_scheduler.h"

#include <stdio.h>

#include "api/koord/quota.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/quota.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/plugins/elasticquota/quotas.h"
#include "json/kj.h"

#define QUOTAS   "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/team/elasticquotas"
#define BUILT_IN "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/koordinator-system/elasticquotas"
enum { ROOT = -1 };

/* ---- quotas ---------------------------------------------------------------------------------- */

static void name_of(int i, char name[16])
{
    (void)snprintf(name, 16, "q%d", i);
}

static void put_quota(struct sim *s, int i)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct sim_quota *q = &s->quotas[i];
    char name[16], parent[16];

    name_of(q->parent, parent);
    strbuf_appendf(&b,
                   "{\"metadata\":{\"labels\":{\"" LABEL_QUOTA_PARENT
                   "\":\"%s\",\"" LABEL_QUOTA_IS_PARENT "\":\"%s\",\"" LABEL_QUOTA_ALLOW_LENT
                   "\":\"%s\"},\"annotations\":{\"sim\":\"\"",
                   q->parent == ROOT ? QUOTA_ROOT_NAME : parent,
                   i < SIM_QUOTAS / 2 ? "true" : "false", q->lends ? "true" : "false");
    if (q->weight)
        strbuf_appendf(&b, ",\"" ANNO_QUOTA_SHARED_WEIGHT "\":\"{\\\"cpu\\\":\\\"%d\\\"}\"",
                       q->weight);
    if (q->by_namespace)
        strbuf_append(&b, ",\"" ANNO_QUOTA_NAMESPACES "\":\"[\\\"ns\\\"]\"");
    strbuf_appendf(&b, "}},\"spec\":{\"max\":{\"cpu\":\"%d\"", q->max);
    if (q->memory)
        strbuf_appendf(&b, ",\"memory\":\"%dGi\"", q->max);
    strbuf_appendf(&b, "},\"min\":{\"cpu\":\"%d\"}}}", q->min);
    name_of(i, name);
    fake_put(s->fake, QUOTAS, name, strbuf_str(&b));
    q->alive = true;
}

static void any_quota(struct sim *s, int i)
{
    int parent = i && sim_chance(s, 60) ? sim_below(s, MIN(i, SIM_QUOTAS / 2)) : ROOT;

    if (parent != ROOT && (!s->quotas[parent].alive || parent >= i))
        parent = ROOT;
    s->quotas[i] = (struct sim_quota){ .parent = parent,
                                       .max = 1 + sim_below(s, s->crowded ? 20 : 40),
                                       .min = sim_below(s, 10),
                                       .weight = sim_chance(s, 30) ? 1 + sim_below(s, 9) : 0,
                                       .lends = sim_chance(s, 70),
                                       .memory = sim_chance(s, 60),
                                       .by_namespace = sim_chance(s, 15) };
    put_quota(s, i);
}

void quota_new(struct sim *s)
{
    for (int i = 0; i < SIM_QUOTAS; i++)
        any_quota(s, i);
}

void quota_change(struct sim *s)
{
    int i = sim_below(s, SIM_QUOTAS);
    char name[16];

    if (!s->quotas[i].alive || sim_chance(s, 75)) {
        any_quota(s, i);
        return;
    }
    name_of(i, name);
    fake_delete(s->fake, QUOTAS, name);
    s->quotas[i].alive = false;
    s->n.quotas_gone++;
}

/* Every parent is there: nobody has to remember a better time. */
void quota_calm(struct sim *s)
{
    for (int i = 0; i < SIM_QUOTAS; i++)
        if (s->quotas[i].alive && s->quotas[i].parent != ROOT &&
            !s->quotas[s->quotas[i].parent].alive) {
            s->quotas[i].parent = ROOT;
            put_quota(s, i);
        }
}

const char *quota_label(const struct sim_pod *p)
{
    static char text[80];

    if (p->quota == SIM_NOWHERE)
        return "";
    (void)snprintf(text, sizeof text, "\"" LABEL_QUOTA_NAME "\":\"q%d\",", p->quota);
    return text;
}

void quota_change_pod(struct sim *s, struct sim_pod *p)
{
    char body[160];

    p->quota = sim_below(s, SIM_QUOTAS);
    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"" LABEL_QUOTA_NAME "\":\"q%d\"}}}", p->quota);
    fake_patch(s->fake, PODS, p->name, body);
}

/* ---- what a scheduler is told ---------------------------------------------------------------- */

struct sim_charge { /* a pod that its services know */
    struct kobj *pod;
    bool assigned;
};
struct sim_charges {
    struct sim_scheduler *of;
    const struct quotas *quotas;
    struct vec_of(struct sim_charge) pods;
};

static struct sim_scheduler *next_born;

void quota_for(struct sim_scheduler *s)
{
    next_born = s;
}

static struct sim_charge *charge_of(struct sim_charges *c, struct kuid uid)
{
    vec_foreach(&c->pods, i)
        if (kuid_equal(c->pods.items[i].pod->meta.uid, uid))
            return &c->pods.items[i];
    return NULL;
}

static void put_charge(struct sim_charges *c, const struct pod *p, bool placed)
{
    struct sim_charge *have = charge_of(c, p->obj.meta.uid);
    struct kobj *o = kobj_ref((struct kobj *)(uintptr_t)&p->obj);

    if (!have) {
        struct sim_charge new = { o, placed };
        vec_push(&c->pods, new);
        return;
    }
    kobj_unref(have->pod);
    have->pod = o;
    have->assigned |= placed;
}

static void on_pending(void *service, const struct pod *before, const struct pod *now)
{
    (void)before;
    put_charge(service, now, false);
}

static void on_placed(void *service, const struct pod *before, const struct pod *now)
{
    (void)before;
    put_charge(service, now, true);
}

static void on_gone(void *service, const struct pod *last)
{
    struct sim_charges *c = service;
    struct sim_charge *have = charge_of(c, last->obj.meta.uid);

    if (!have)
        return;
    kobj_unref(have->pod);
    vec_swap_remove(&c->pods, (size_t)(have - c->pods.items));
}

static void on_assumed(void *service, const struct pod *p, const char *node)
{
    struct sim_charge *have = charge_of(service, p->obj.meta.uid);

    (void)node;
    if (have)
        have->assigned = true;
}

static void on_forgotten(void *service, const struct pod *p, const char *node)
{
    struct sim_charge *have = charge_of(service, p->obj.meta.uid);

    (void)node;
    if (have)
        have->assigned = false;
}

static const struct ks_pod_handler charge_pods = {
    .pending = on_pending,
    .placed = on_placed,
    .changed = on_placed,
    .gone = on_gone,
    .assumed = on_assumed,
    .forgotten = on_forgotten,
};

static int charges_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    struct sim_charges *c = xnew0(struct sim_charges);

    (void)env, (void)args, (void)err;
    c->of = next_born;
    next_born->charges = c;
    *ret = c;
    return 0;
}

static void charges_destroy(void *service)
{
    struct sim_charges *c = service;

    vec_foreach(&c->pods, i)
        kobj_unref(c->pods.items[i].pod);
    vec_fini(&c->pods);
    c->of->charges = NULL;
    free(c);
}

static const struct ks_service charges_service = {
    .name = "QuotaJudge", .create = charges_create, .destroy = charges_destroy, .pods = &charge_pods
};
static const struct ks_service *const judge_services[] = { &charges_service, NULL };

static int judge_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    (void)args, (void)err;
    struct sim_charges *c = ks_service_find(env, &charges_service);
    c->quotas = quotas_of(env);
    *ret = c;
    return 0;
}

/* ---- as if it were made anew ----------------------------------------------------------------- */

static struct quota_forest *forest_begin(const struct quotas *of)
{
    struct quota_forest *f = forest_new(&(struct quota_options){ .scale_min = true });

    forest_set_special(f, QUOTA_DEFAULT_NAME, &of->args.default_max);
    forest_set_special(f, QUOTA_SYSTEM_NAME, &of->args.system_max);
    return f;
}

static struct quota_forest *rebuilt(const struct sim_charges *c)
{
    const struct ks_env *env = &c->quotas->env;
    struct quota_forest *f = forest_begin(c->quotas);
    const struct kobj *o;

    for (size_t i = c->pods.n; i-- > 0;)
        forest_put_pod(f, pod_of(c->pods.items[i].pod), c->pods.items[i].assigned);
    for (uint32_t i = 0; i < env->nodes->n; i++)
        if (env->nodes->node[i])
            forest_add_total(f, &env->nodes->node[i]->status.allocatable, 1);
    for (size_t it = 0; (o = objects_next(env->objects, &kind_elasticquota, &it));)
        (void)forest_put(f, elasticquota_of(o), NULL);
    return f;
}

static int64_t value_of(struct quota_forest *f, struct quota *q, enum quota_field field,
                        const char *resource)
{
    int column = quota_columns_find(forest_columns(f), resource);
    uint64_t keys;

    return column < 0 ? 0 : quota_at(quota_values(f, q, field, &keys), (uint64_t)column);
}

static void compare(struct sim *s, struct quota_forest *f, struct quota_forest *want)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    static const char *const resources[] = { "cpu", "memory" };
    uint32_t n, m;
    struct quota **have = forest_list(f, NULL, a, &n);

    (void)forest_list(want, NULL, a, &m);
    if (n != m)
        sim_fail(s, "%u quotas are known, there are %u", n, m);
    for (uint32_t i = 0; i < n; i++) {
        struct quota *other = forest_find(want, quota_name(have[i]));
        if (!other)
            sim_fail(s, "quota %s is known and not there", quota_name(have[i]));
        for (int k = 0; k < QUOTA_FIELDS; k++)
            for (size_t r = 0; r < ARRAY_LEN(resources); r++) {
                int64_t is = value_of(f, have[i], (enum quota_field)k, resources[r]);
                int64_t should = value_of(want, other, (enum quota_field)k, resources[r]);
                if (is != should)
                    sim_fail(s, "%s of quota %s, field %d: %lld, should be %lld", resources[r],
                             quota_name(have[i]), k, (long long)is, (long long)should);
            }
    }
    s->n.quotas_judged++;
}

/* ---- by hand --------------------------------------------------------------------------------- */

static int64_t used_below(const struct sim_charges *c, struct quota *q)
{
    struct quota *const *children;
    uint32_t n = quota_children(q, &children);
    int64_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += used_below(c, children[i]);
    vec_foreach(&c->pods, i) {
        const struct sim_charge *x = &c->pods.items[i];
        const struct sim_pod *p = sim_pod_of(c->of->sim, x->pod->meta.uid);
        if (x->assigned && p && forest_charged(c->quotas->forest, x->pod->meta.uid) == q)
            sum += p->mcpu;
    }
    return sum;
}

static void judge_sums(const struct sim_charges *c)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct quota_forest *f = c->quotas->forest;
    struct sim *s = c->of->sim;
    int column = quota_columns_find(forest_columns(f), "cpu");
    uint32_t n;
    struct quota **all = forest_list(f, NULL, a, &n);

    vec_foreach(&c->pods, i)
        if (!sim_pod_of(s, c->pods.items[i].pod->meta.uid))
            return; /* it has not heard yet that a pod is gone: we do not know its size */
    for (uint32_t i = 0; i < n && column >= 0; i++) {
        struct quota *const *children;
        uint32_t m = quota_children(all[i], &children);
        bool known;
        int64_t shared = 0, total = quota_total(f, all[i], (uint64_t)column, &known);
        if (used_below(c, all[i]) != value_of(f, all[i], QUOTA_USED, "cpu"))
            sim_fail(s, "used of quota %s is not the sum of its pods", quota_name(all[i]));
        for (uint32_t k = 0; k < m; k++)
            shared += value_of(f, children[k], QUOTA_RUNTIME, "cpu");
        if (m && known && shared > total)
            sim_fail(s, "below quota %s %lld are shared, it has %lld", quota_name(all[i]),
                     (long long)shared, (long long)total);
    }
}

void quota_judge(struct sim_scheduler *of)
{
    const struct sim_charges *c = of->charges;

    /* A quota whose newest state is refused keeps the last good one: that is not in the objects. */
    if (!c || !c->quotas || c->quotas->refused)
        return;
    CLEANUP(forest_free) struct quota_forest *want = rebuilt(c);
    compare(of->sim, c->quotas->forest, want);
    judge_sums(c);
}

/* At reserve: nobody is let in beyond the runtime of its quota. */
static enum ks_code judge_reserve(void *self, const struct ks_cycle *cycle, const struct ks_pod *p,
                                  uint32_t row, struct ks_texts *why)
{
    const struct sim_charges *c = self;
    struct quota *q = quotas_of_pod((struct quotas *)(uintptr_t)c->quotas, p->pod);
    struct quota_forest *f = c->quotas->forest;

    (void)cycle, (void)row, (void)why;
    if (q && !quota_is_special(q) && quota_keys(q) && used_below(c, q) > 0 &&
        value_of(f, q, QUOTA_USED, "cpu") > value_of(f, q, QUOTA_RUNTIME, "cpu"))
        sim_fail(c->of->sim, "%s was let in beyond the runtime of quota %s", p->pod->obj.meta.name,
                 quota_name(q));
    c->of->sim->n.quotas_admitted += q && !quota_is_special(q);
    return KS_SUCCESS;
}

static void judge_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
}

const struct ks_plugin quota_judge_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "QuotaJudge",
    .create = judge_create,
    .services = judge_services,
    .reserve = judge_reserve,
    .unreserve = judge_unreserve,
};

/* ---- what the server's objects make ---------------------------------------------------------- */

struct loading {
    struct sim *s;
    struct quota_forest *f;
    const struct kind *kind;
    const char *path;
    struct kj_scratch *scratch;
};

static void load_one(void *arg, const char *ns, const char *name, const char *version)
{
    struct loading *x = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kobj_unref) struct kobj *o = NULL;
    const char *path =
        x->kind == &kind_elasticquota && streq(ns, "koordinator-system") ? BUILT_IN : x->path;
    const char *json = fake_find(x->s->fake, path, name);
    struct kerr err = { 0 };

    (void)version;
    if (!json || kj_parse(json, strlen(json), 0, &doc, &err) < 0 ||
        kobj_decode(x->kind, kj_root(doc), x->scratch, &o, &err) < 0)
        sim_fail(x->s, "%s %s: %s", x->kind->kind, name, err.text);
    if (x->kind == &kind_elasticquota)
        (void)forest_put(x->f, elasticquota_of(o), NULL);
    else if (x->kind == &kind_node)
        forest_add_total(x->f, &node_of(o)->status.allocatable, 1);
    else if (!pod_is_terminal(pod_of(o)))
        forest_put_pod(x->f, pod_of(o), !str_empty(pod_of(o)->node_name));
}

static struct quota_forest *of_the_server(const struct sim_charges *c)
{
    static const struct {
        const struct kind *kind;
        const char *path;
    } kinds[] = { { &kind_node, SIM_NODES_PATH },
                  { &kind_elasticquota, QUOTAS },
                  { &kind_pod, PODS } };
    struct loading x = { .s = c->of->sim, .f = forest_begin(c->quotas) };

    x.scratch = kj_scratch_new(x.s->strings);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        x.kind = kinds[i].kind;
        x.path = kinds[i].path;
        fake_each(x.s->fake, x.kind->plural, load_one, &x);
    }
    kj_scratch_free(x.scratch);
    return x.f;
}

void quota_judge_end(struct sim_scheduler *of)
{
    CLEANUP(forest_free) struct quota_forest *want = of_the_server(of->charges);

    if (of->charges->quotas->refused)
        sim_fail(of->sim, "%u quotas are refused", of->charges->quotas->refused);
    quota_judge(of);
    compare(of->sim, of->charges->quotas->forest, want);
}

bool quota_fits(const struct sim *s, const struct sim_pod *p)
{
    const struct sim_charges *c = vec_last(&s->schedulers)->charges;
    const struct sim_charge *x = c ? charge_of((struct sim_charges *)(uintptr_t)c, p->uid) : NULL;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct admit_verdict v = { 0 };
    int64_t amounts[QUOTA_COLUMNS_MAX] = { 0 };

    if (!x)
        return true;
    struct quota_forest *f = c->quotas->forest;
    reslist list = forest_request_list(f, pod_of(x->pod), a);
    struct admit_request r = { .amount = amounts, .list = &list, .preemptible = true };
    r.keys = forest_request(f, &list, amounts);
    admit_own(f, forest_charged(f, p->uid), &(struct admit_rules){ .runtime = true }, &r, &v);
    return v.code == ADMIT_OK;
}
