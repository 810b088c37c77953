/* adopt_values.c - values of Koordinator's chart 1.8.0, and what becomes of each. */
#include "ctl/adopt.h"

#define IMAGES "left out: koord's images have their own names"
#define TSDB   "samples are kept in memory"
#define OLD    "for Kubernetes before 1.22"

/* Each value of chart 1.8.0, or the object that holds them all. NULL: kept, with all below it. */
static const struct {
    const char *path, *note;
    enum adopt_fate fate;
} known[] = {
    { "crds", NULL, ADOPT_KEPT },
    { "installation.namespace", NULL, ADOPT_KEPT },
    { "installation.roleListGroups", "koord-manager needs no right to whole groups", ADOPT_UNUSED },
    { "featureGates", NULL, ADOPT_KEPT },
    { "imageRepositoryHost", IMAGES, ADOPT_CHANGED },
    { "imagePullSecrets", NULL, ADOPT_KEPT },
    { "serviceAccount.annotations", NULL, ADOPT_KEPT },
    { "webhookConfiguration.timeoutSeconds", NULL, ADOPT_KEPT },
    { "webhookConfiguration.failurePolicy", NULL, ADOPT_KEPT },
    { "koordlet.image", IMAGES, ADOPT_CHANGED },
    { "koordlet.resources", NULL, ADOPT_KEPT },
    { "koordlet.features", NULL, ADOPT_KEPT },
    { "koordlet.log.level", NULL, ADOPT_KEPT },
    { "koordlet.hostDirs.koordletTSDBDir", TSDB, ADOPT_UNUSED },
    { "koordlet.hostDirs", NULL, ADOPT_KEPT },
    { "koordlet.runtimeClassName", NULL, ADOPT_KEPT },
    { "koordlet.nodeAffinity", NULL, ADOPT_KEPT },
    { "koordlet.metrics.port", NULL, ADOPT_KEPT },
    { "koordlet.enableServiceMonitor", NULL, ADOPT_KEPT },
    { "manager.log.level", NULL, ADOPT_KEPT },
    { "manager.replicas", NULL, ADOPT_KEPT },
    { "manager.image", IMAGES, ADOPT_CHANGED },
    { "manager.webhook.port", NULL, ADOPT_KEPT },
    { "manager.metrics.addr", NULL, ADOPT_KEPT },
    { "manager.metrics.port", NULL, ADOPT_KEPT },
    { "manager.healthProbe.port", NULL, ADOPT_KEPT },
    { "manager.resyncPeriod", NULL, ADOPT_KEPT },
    { "manager.resources", NULL, ADOPT_KEPT },
    { "manager.hostNetwork", NULL, ADOPT_KEPT },
    { "manager.nodeAffinity", NULL, ADOPT_KEPT },
    { "manager.nodeSelector", NULL, ADOPT_KEPT },
    { "manager.tolerations", NULL, ADOPT_KEPT },
    { "scheduler.log.level", NULL, ADOPT_KEPT },
    { "scheduler.replicas", NULL, ADOPT_KEPT },
    { "scheduler.image", IMAGES, ADOPT_CHANGED },
    { "scheduler.port", NULL, ADOPT_KEPT },
    { "scheduler.featureGates", NULL, ADOPT_KEPT },
    { "scheduler.compatible122FeatureGates", OLD, ADOPT_UNUSED },
    { "scheduler.compatibleBelow122FeatureGates", OLD, ADOPT_UNUSED },
    { "scheduler.enableJobPreemption", NULL, ADOPT_KEPT },
    { "scheduler.deviceShare.gpuShareUnsupportedModels", NULL, ADOPT_KEPT },
    { "scheduler.resources", NULL, ADOPT_KEPT },
    { "scheduler.hostNetwork", NULL, ADOPT_KEPT },
    { "scheduler.nodeAffinity", NULL, ADOPT_KEPT },
    { "scheduler.nodeSelector", NULL, ADOPT_KEPT },
    { "scheduler.tolerations", NULL, ADOPT_KEPT },
    { "scheduler.monitorEnabled", NULL, ADOPT_KEPT },
    { "descheduler.log.level", NULL, ADOPT_KEPT },
    { "descheduler.replicas", NULL, ADOPT_KEPT },
    { "descheduler.image", IMAGES, ADOPT_CHANGED },
    { "descheduler.port", NULL, ADOPT_KEPT },
    { "descheduler.featureGates", NULL, ADOPT_KEPT },
    { "descheduler.resources", NULL, ADOPT_KEPT },
    { "descheduler.hostNetwork", NULL, ADOPT_KEPT },
    { "descheduler.nodeAffinity", NULL, ADOPT_KEPT },
    { "descheduler.nodeSelector", NULL, ADOPT_KEPT },
    { "descheduler.tolerations", NULL, ADOPT_KEPT },
    { "descheduler.monitorEnabled", NULL, ADOPT_KEPT },
    { "deviceDaemon.image", IMAGES, ADOPT_CHANGED },
    { "deviceDaemon.resources", NULL, ADOPT_KEPT },
    { "deviceDaemon.log.level", NULL, ADOPT_KEPT },
    { "deviceDaemon.nodeAffinity", NULL, ADOPT_KEPT },
    { "global", NULL, ADOPT_KEPT },
};

/* A path of the table is this one, or leads to it. */
enum lead { LEAD_NOWHERE, LEAD_ON, LEAD_HERE };

static enum lead find(const char *path, size_t *ret_at)
{
    enum lead lead = LEAD_NOWHERE;
    size_t n = strlen(path);

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (streq(known[i].path, path)) {
            *ret_at = i;
            /* An object of which one part has a fate of its own is walked through. */
            return lead == LEAD_ON ? LEAD_ON : LEAD_HERE;
        }
        if (str_starts(known[i].path, path) && known[i].path[n] == '.')
            lead = LEAD_ON;
    }
    return lead;
}

/* The nearest object above that is kept as a whole. */
static bool is_below_kept(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        size_t n = strlen(known[i].path);
        if (known[i].fate == ADOPT_KEPT && str_starts(path, known[i].path) && path[n] == '.')
            return true;
    }
    return false;
}

static const char *in_short(struct adoption *x, const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    kj_write(v, 0, &text);
    if (text.len > 60)
        strbuf_truncate(&text, 57), strbuf_append(&text, "...");
    return arena_strdup(x->arena, strbuf_str(&text));
}

static void keep(struct adoption *x, const char *path, const struct kj_val *v)
{
    adopt_set(x, path, kj_mcopy(x->d, v));
    adopt_add(x, ADOPT_KEPT, "", "%s: %s", path, in_short(x, v));
}

static void walk(struct adoption *x, const char *path, const struct kj_val *v)
{
    size_t at = 0;
    enum lead lead = find(path, &at);

    if (kj_type(v) == KJ_NULL)
        return; /* the chart's default */
    if (lead == LEAD_ON && kj_type(v) == KJ_OBJ) {
        struct kj_iter it = kj_iter(v);
        const struct kj_val *child;
        struct str key;
        while (kj_next(&it, &key, &child))
            walk(x, arena_printf(x->arena, "%s.%.*s", path, (int)key.n, key.p), child);
    } else if (lead == LEAD_HERE && known[at].fate != ADOPT_KEPT) {
        adopt_add(x, known[at].fate, known[at].note, "%s: %s", path, in_short(x, v));
    } else if (lead == LEAD_HERE || is_below_kept(path)) {
        keep(x, path, v);
    } else {
        adopt_add(x, ADOPT_MISSING, "no value of chart 1.8.0; left out", "%s: %s", path,
                  in_short(x, v));
    }
}

void adopt_values(struct adoption *x)
{
    struct kj_iter it = kj_iter(kj_get(kj_root(x->release), "config"));
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v))
        walk(x, arena_strndup(x->arena, key.p, key.n), v);
}

/* ---- feature gates --------------------------------------------------------------------------- */

static const struct {
    const char *path;
    enum part_id part;
} gate_values[] = { { "featureGates", PART_MANAGER },
                    { "scheduler.featureGates", PART_SCHEDULER },
                    { "descheduler.featureGates", PART_DESCHEDULER },
                    { "koordlet.features", PART_KOORDLET } };

static struct kj_mval *value_at(const struct adoption *x, const char *path)
{
    const char *dot = strchr(path, '.');
    struct kj_mval *v = x->values;

    for (; dot; path = dot + 1, dot = strchr(path, '.'))
        v = kj_mgetn(v, path, (size_t)(dot - path));
    return kj_mget(v, path);
}

static bool takes(const struct adoption *x, const char *program, const char *gate, size_t n,
                  struct kerr *err)
{
    const char *arg = arena_printf(x->arena, "--feature-gates=%.*s", (int)n, gate);
    return !x->programs || x->programs->try_arg(program, arg, err) >= 0;
}

void adopt_gates(struct adoption *x)
{
    for (size_t i = 0; i < ARRAY_LEN(gate_values); i++) {
        CLEANUP(strbuf_fini) struct strbuf left = STRBUF_INIT;
        const char *program = koord_parts[gate_values[i].part].program;
        const char *text = kj_mstr_get(value_at(x, gate_values[i].path));
        size_t dropped = 0;

        for (const char *p = str_or(text, ""); *p; p += strspn(p, ",")) {
            size_t n = strcspn(p, ",");
            struct kerr err = { 0 };
            if (takes(x, program, p, n, &err)) {
                strbuf_appendf(&left, "%s%.*s", left.len ? "," : "", (int)n, p);
            } else {
                adopt_add(x, ADOPT_MISSING, arena_strdup(x->arena, err.text),
                          "feature gate of %s: %.*s", program, (int)n, p);
                dropped++;
            }
            p += n;
        }
        if (dropped)
            adopt_set(x, gate_values[i].path, kj_mstr(x->d, strbuf_str(&left)));
    }
}
