/* revoker.c - a quota that has used more than its runtime for some time gives it back: its least
 * important pods are evicted (sched-quota 15).
 *
 * Pods that are on their way out count as gone already. Pods whose disruption budgets allow it go;
 * when that is not enough, an event on the quota says so.
 */
#include "api/koord/quota.h"
#include "api/pod.h"
#include "api/protocol/quota.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/events.h"
#include "controllers/controller.h"
#include "loop/loop.h"
#include "quota/revoke.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/plugins/elasticquota/control.h"
#include "scheduler/plugins/elasticquota/quotas.h"
#include "json/kj.h"

struct quota_monitor {
    nsec_t under; /* when it last used no more than its runtime */
    bool there;
    char name[];
};

struct quota_revoker {
    struct quotas *quotas;
    struct controller_env env;
    struct controller *evictions; /* keys: "namespace/name uid" */
    struct budgets *budgets;
    struct map monitors; /* by name of the quota */
    struct timer *tick;
};

/* ---- evicting -------------------------------------------------------------------------------- */

static bool on_evicted(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const char *pod = arg;

    (void)b;
    if (!err)
        KLOG_I(2, "Evicted pod of a quota that used too much", KV_S("pod", pod));
    else if (r->status == 404)
        KLOG_W("pod not found when evicting", KV_S("err", err->text), KV_S("pod", pod));
    else
        KLOG_W("error when evicting pod (ignoring)", KV_S("err", err->text), KV_S("pod", pod));
    return true; /* the quota is looked at again anyway */
}

static void evict(void *self, struct batch *b, const char *key, struct kobj *unused)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    const char *slash = strchr(key, '/'), *space = strchr(key, ' ');
    struct arena *a = batch_arena(b);

    (void)self, (void)unused;
    const char *ns = arena_strndup(a, key, (size_t)(slash - key));
    const char *name = arena_strndup(a, slash + 1, (size_t)(space - slash - 1));
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "policy/v1");
    kjw_str(&w, "kind", "Eviction");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", name);
    kjw_str(&w, "namespace", ns);
    kjw_end(&w);
    kjw_obj(&w, "deleteOptions");
    kjw_obj(&w, "preconditions");
    kjw_str(&w, "uid", space + 1);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    batch_call(b,
               &(struct kube_req){ .verb = KUBE_CREATE,
                                   .kind = &kind_pod,
                                   .ns = ns,
                                   .name = name,
                                   .subresource = "eviction",
                                   .body = strbuf_str(&body),
                                   .body_len = body.len,
                                   .no_retry = true },
               on_evicted, (void *)(uintptr_t)arena_strndup(a, key, (size_t)(space - key)));
}

/* ---- who goes -------------------------------------------------------------------------------- */

static bool budget_allows(void *arg, const struct pod *p)
{
    return !budgets_take(arg, p);
}

static void tell_blocked(const struct quota_revoker *r, const struct quota *q)
{
    const struct kobj *o =
        objects_get(r->quotas->env.objects, &kind_elasticquota, quota_namespace(q), quota_name(q));

    if (o && r->env.events)
        recorder_event_on(r->env.events, o, true, "RevokeBlocked", "Revoke",
                          "The quota uses more than its runtime, and the pods that may be evicted "
                          "(preemptible, and allowed by their disruption budgets) are not enough");
}

static void revoke(struct quota_revoker *r, struct quota *q)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct revoke_rules rules = { .arg = r->budgets,
                                  .may_evict = r->budgets ? budget_allows : NULL };
    struct quota_forest *f = r->quotas->forest;
    uint32_t n;
    bool enough;

    if (r->budgets) {
        budgets_refresh(r->budgets);
        budgets_begin(r->budgets);
    }
    const struct pod **pods = revoke_choose(f, q, &rules, a, &n, &enough);
    if (n == 0) { /* upstream's rule overlooks resources that the last pod does not request */
        if (r->budgets)
            budgets_begin(r->budgets);
        rules.exact = true;
        pods = revoke_choose(f, q, &rules, a, &n, &enough);
    }
    if (!enough)
        tell_blocked(r, q);
    for (uint32_t i = 0; i < n; i++) {
        char uid[KUID_TEXT_MAX];
        kuid_format(pods[i]->obj.meta.uid, uid, sizeof uid);
        controller_add(r->evictions, arena_printf(a, "%s/%s %s", pods[i]->obj.meta.ns,
                                                  pods[i]->obj.meta.name, uid));
        if (r->env.events)
            recorder_event_on(r->env.events, &pods[i]->obj, true, "QuotaRevoked", "Revoke",
                              "Evicted because quota %s uses more than its runtime", quota_name(q));
    }
}

/* ---- when ------------------------------------------------------------------------------------ */

static struct quota_monitor *monitor_of(struct quota_revoker *r, const char *name, nsec_t now)
{
    struct quota_monitor *m = map_getz(&r->monitors, name);

    if (!m) {
        size_t n = strlen(name) + 1;
        m = xcalloc(1, sizeof *m + n);
        memcpy(m->name, name, n);
        m->under = now;
        map_putz(&r->monitors, m->name, m);
    }
    m->there = true;
    return m;
}

static void look(struct quota_revoker *r, struct quota *q, nsec_t now)
{
    struct quota_monitor *m = monitor_of(r, quota_name(q), now);

    if (!revoke_is_overused(r->quotas->forest, q)) {
        m->under = now;
    } else if (now - m->under > r->quotas->args.delay_evict) {
        m->under = now;
        revoke(r, q);
    }
}

static void forget_gone(struct quota_revoker *r)
{
    struct vec_of(struct quota_monitor *) gone = { 0 };

    map_foreach(&r->monitors, e) {
        struct quota_monitor *m = e->value;
        if (!m->there)
            vec_push(&gone, m);
        m->there = false;
    }
    vec_foreach(&gone, i) {
        map_removez(&r->monitors, gone.items[i]->name);
        free(gone.items[i]);
    }
    vec_fini(&gone);
}

static void on_tick(struct loop *l, void *arg)
{
    struct quota_revoker *r = arg;
    CLEANUP(arena_free) struct arena *a = arena_new();
    uint32_t n = 0;

    r->tick = loop_after(l, MAX(r->quotas->args.revoke, NSEC_PER_MSEC), on_tick, r);
    if (!r->quotas->args.monitor_all || !r->quotas->runtime)
        return;
    struct quota **all = forest_list(r->quotas->forest, NULL, a, &n);
    for (uint32_t i = 0; i < n; i++)
        if (!streq(quota_name(all[i]), QUOTA_SYSTEM_NAME))
            look(r, all[i], loop_mono(l));
    forget_gone(r);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct quota_revoker *revoker_new(struct quotas *s, struct controllers *all,
                                  const struct controller_env *env)
{
    struct quota_revoker *r = xnew0(struct quota_revoker);

    r->quotas = s;
    r->env = *env;
    r->budgets = ks_gate(&s->env, "PodDisruptionBudget") ? budgets_new(s->env.objects) : NULL;
    r->evictions = controller_new(
        all, &(struct controller_opts){ .name = "quotarevoke", .sync = evict, .self = r });
    r->tick = loop_after(env->loop, MAX(s->args.revoke, NSEC_PER_MSEC), on_tick, r);
    return r;
}

struct quota_revoker *revoker_free(struct quota_revoker *r)
{
    if (!r)
        return NULL;
    timer_cancel(r->tick);
    controller_free(r->evictions);
    budgets_free(r->budgets);
    map_foreach(&r->monitors, e)
        free(e->value);
    map_fini(&r->monitors);
    free(r);
    return NULL;
}
