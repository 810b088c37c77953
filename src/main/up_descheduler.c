/* up_descheduler.c - the descheduler of koordctl up: with the configuration of Koordinator's chart,
 * or with a file, which is read again when it changes.
 */
#include "api/core.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "descheduler/config/config.h"
#include "descheduler/descheduler.h"
#include "main/placer.h"
#include "main/up.h"
#include "json/kj.h"

#define CONFIG_NS   "koordinator-system"
#define CONFIG_NAME "koord-descheduler-config" /* the chart's, and so is its key */

struct up_descheduler {
    struct kube *kube;
    struct kube_call *call; /* that publishes the configuration */
    struct placer *placer;
    struct descheduler *descheduler;
    struct config *first, *current, *half; /* half: may be in force in part */
    struct config_watch *watch;
};

/* ---- where others read it --------------------------------------------------------------------- */

static void publish(struct up_descheduler *u, enum kube_verb verb);

static void on_published(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct up_descheduler *u = arg;

    (void)r;
    u->call = NULL;
    if (err && err->reason == KR_ALREADY_EXISTS)
        publish(u, KUBE_PATCH);
    else if (err)
        KLOG_E(err, "Failed to publish the descheduler's configuration",
               KV_S("configmap", CONFIG_NS "/" CONFIG_NAME));
}

/* For koordctl rebalance, as on a cluster that the chart installed. */
static void publish(struct up_descheduler *u, enum kube_verb verb)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT, body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    bool first = verb == KUBE_CREATE;

    desched_config_write(u->current->value, &json);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", CONFIG_NAME);
    kjw_end(&w);
    kjw_obj(&w, "data");
    kjw_strn(&w, CONFIG_NAME, json.data, json.len);
    kjw_end(&w);
    kjw_end(&w);
    kube_cancel(u->call);
    u->call = kube_do(u->kube,
                      &(struct kube_req){ .verb = verb,
                                          .kind = &kind_configmap,
                                          .ns = CONFIG_NS,
                                          .name = first ? NULL : CONFIG_NAME,
                                          .patch = KUBE_PATCH_MERGE,
                                          .body = body.data,
                                          .body_len = body.len },
                      on_published, u);
}

/* ---- life ------------------------------------------------------------------------------------- */

static int on_change(void *arg, struct config *next, struct kerr *err)
{
    struct up_descheduler *u = arg;

    if (descheduler_reload(u->descheduler, next->value, err) < 0) {
        if (err->code != -EBUSY) {
            config_unref(u->half);
            u->half = config_ref(next);
        }
        return kerr_wrap(err, "%s", next->path);
    }
    config_unref(u->current);
    u->current = config_ref(next);
    publish(u, KUBE_PATCH);
    KLOG_I(0, "Changed descheduler configuration is in force", KV_S("file", next->path));
    return 0;
}

int up_descheduler_new(struct loop *l, struct kube *k, const char *file, const char *scheduler_file,
                       struct up_descheduler **ret, struct kerr *err)
{
    CLEANUP(up_descheduler_free) struct up_descheduler *u = xnew0(struct up_descheduler);
    static const struct config_handler handler = { .on_change = on_change };

    u->kube = k;
    int r = str_empty(file) ? desched_config_chart(&u->first, err)
                            : config_load(&desched_config_spec, file, &u->first, err);
    if (r < 0)
        return kerr_wrap(err, "--descheduler-config");
    u->current = config_ref(u->first);
    u->placer = placer_new(l, k, scheduler_file, err);
    if (!u->placer)
        return kerr_wrap(err, "--scheduler-config");
    u->descheduler = descheduler_new(
        l, k,
        &(struct descheduler_opts){ .config = u->first->value, .placer = placer_ops(u->placer) },
        err);
    if (!u->descheduler)
        return kerr_wrap(err, "%s", u->first->path);
    descheduler_watch(u->descheduler);
    descheduler_lead(u->descheduler);
    u->watch = config_watch_new(l, u->first, &handler, u);
    publish(u, KUBE_CREATE);
    *ret = take(u);
    return 0;
}

struct up_descheduler *up_descheduler_free(struct up_descheduler *u)
{
    if (!u)
        return NULL;
    kube_cancel(u->call);
    config_watch_free(u->watch);
    descheduler_free(u->descheduler);
    placer_free(u->placer);
    config_unref(u->half);
    config_unref(u->current);
    config_unref(u->first);
    free(u);
    return NULL;
}
