/* up_scheduler.c - the scheduler of koordctl up: the profile of Koordinator's chart, or those of a
 * file, which is read again when it changes.
 */
#include "api/core.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "main/up.h"
#include "scheduler/config/config.h"
#include "scheduler/observe/explain/controller.h"
#include "scheduler/scheduler.h"
#include "json/kj.h"

#define DEFAULT_NAME "default-scheduler"

struct up_scheduler {
    struct kube *kube;
    struct kube_call *call; /* that publishes the configuration */
    struct scheduler *scheduler;
    struct explainer *explainer;
    struct config *config; /* of the start */
    struct config_watch *watch;
};

static bool has_profile(const struct sched_config *c, const char *name)
{
    for (uint32_t i = 0; i < c->profiles.n; i++)
        if (streq(c->profiles.items[i].scheduler_name, name))
            return true;
    return false;
}

/* Pods that name no scheduler are placed too: with the default plugins, unless the file says
 * otherwise. The profiles live as long as the arena and the configuration. */
static struct scheduler_opts opts_of(const struct sched_config *c, struct arena *a)
{
    unsigned n = c->profiles.n;
    struct profile_config *all = arena_newn0(a, n + 1, struct profile_config);

    memcpy(all, c->made, n * sizeof *all);
    if (!has_profile(c, DEFAULT_NAME))
        all[n++] = profile_config_default(ks_registry, DEFAULT_NAME, a);
    return (struct scheduler_opts){
        .profiles = all,
        .nprofiles = n,
        .extenders = c->extenders.items,
        .nextenders = c->extenders.n,
        .backoff_initial = c->backoff_initial.v * NSEC_PER_SEC,
        .backoff_max = c->backoff_max.v * NSEC_PER_SEC,
        .network_topology = true,
    };
}

/* Who wrote the file should know; nobody asked for the chart's plugins one by one. */
static void log_not_yet(const struct config *c)
{
    CLEANUP(strbuf_fini) struct strbuf names = STRBUF_INIT;
    const struct sched_config *value = c->value;

    for (const char *const *name = value->not_yet; *name; name++)
        strbuf_appendf(&names, "%s%s", names.len ? " " : "", *name);
    if (names.len == 0)
        return;
    if (c->is_file)
        KLOG_W("Skipping configured plugins that are not implemented yet", KV_S("file", c->path),
               KV_S("plugins", strbuf_str(&names)));
    else
        KLOG_I(1, "Skipping plugins that are not implemented yet",
               KV_S("plugins", strbuf_str(&names)));
}

/* ---- where others read it -------------------------------------------------------------------- */

#define CONFIG_NS   "koordinator-system"
#define CONFIG_NAME "koord-scheduler-config" /* the chart's, and so is its key */

static void on_published(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct up_scheduler *u = arg;

    (void)r;
    u->call = NULL;
    if (err)
        KLOG_E(err, "Failed to publish the scheduler's configuration",
               KV_S("configmap", CONFIG_NS "/" CONFIG_NAME));
}

static void write_configmap(const struct sched_config *c, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct kjw w = kjw_to(out);

    sched_config_write(c, false, &json);
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "kind", "ConfigMap");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", CONFIG_NAME);
    kjw_end(&w);
    kjw_obj(&w, "data");
    kjw_strn(&w, CONFIG_NAME, json.data, json.len);
    kjw_end(&w);
    kjw_end(&w);
}

static void publish(struct up_scheduler *u, const struct config *c, enum kube_verb verb);

static void on_created(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct up_scheduler *u = arg;

    if (!err || err->reason != KR_ALREADY_EXISTS) {
        on_published(u, r, err);
        return;
    }
    u->call = NULL;
    publish(u, u->config, KUBE_PATCH);
}

/* For koordctl explain, as on a cluster that the chart installed. */
static void publish(struct up_scheduler *u, const struct config *c, enum kube_verb verb)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    bool first = verb == KUBE_CREATE;

    write_configmap(c->value, &body);
    const struct kube_req r = { .verb = verb,
                                .kind = &kind_configmap,
                                .ns = CONFIG_NS,
                                .name = first ? NULL : CONFIG_NAME,
                                .patch = KUBE_PATCH_MERGE,
                                .body = body.data,
                                .body_len = body.len };
    kube_cancel(u->call);
    u->call = kube_do(u->kube, &r, first ? on_created : on_published, u);
}

static int on_change(void *arg, struct config *next, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct up_scheduler *u = arg;
    const struct scheduler_opts o = opts_of(next->value, a);

    if (scheduler_reload(u->scheduler, &o, err) < 0)
        return kerr_wrap(err, "%s", next->path);
    log_not_yet(next);
    publish(u, next, KUBE_PATCH);
    KLOG_I(0, "Changed scheduler configuration is in force", KV_S("file", next->path));
    return 0;
}

int up_scheduler_new(struct loop *l, struct kube *k, const char *file, struct up_scheduler **ret,
                     struct kerr *err)
{
    CLEANUP(up_scheduler_free) struct up_scheduler *u = xnew0(struct up_scheduler);
    CLEANUP(arena_free) struct arena *a = arena_new();
    static const struct config_handler handler = { .on_change = on_change };

    int r = str_empty(file) ? sched_config_chart(&u->config, err)
                            : config_load(&sched_config_spec, file, &u->config, err);
    if (r < 0)
        return kerr_wrap(err, "--scheduler-config");
    const struct scheduler_opts o = opts_of(u->config->value, a);
    u->scheduler = scheduler_new(l, k, &o, err);
    if (!u->scheduler)
        return kerr_wrap(err, "%s", u->config->path);
    log_not_yet(u->config);
    scheduler_start(u->scheduler);
    u->explainer = explainer_new(l, k, u->scheduler);
    u->watch = config_watch_new(l, u->config, &handler, u);
    u->kube = k;
    publish(u, u->config, KUBE_CREATE);
    *ret = take(u);
    return 0;
}

struct up_scheduler *up_scheduler_free(struct up_scheduler *u)
{
    if (!u)
        return NULL;
    kube_cancel(u->call);
    config_watch_free(u->watch);
    explainer_free(u->explainer);
    scheduler_free(u->scheduler);
    config_unref(u->config);
    free(u);
    return NULL;
}

struct scheduler_stats up_scheduler_stats(const struct up_scheduler *u)
{
    return scheduler_stats(u->scheduler);
}
