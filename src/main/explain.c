/* explain.c - the scheduler's part of koordctl explain: its own attempt on a cluster of objects. */
#include "ctl/explain.h"

#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "main/koordctl.h"
#include "scheduler/config/config.h"
#include "scheduler/observe/explain/whatif.h"
#include "json/kj.h"

struct attempt {
    struct arena *arena;
    struct config *config; /* where the profile comes from */
    struct whatif *whatif;
};

/* ---- the profile ----------------------------------------------------------------------------- */

static void note_missing(const struct sched_config *c, struct strbuf *notes)
{
    CLEANUP(strbuf_fini) struct strbuf names = STRBUF_INIT;

    for (const char *const *name = c->not_yet; *name; name++)
        strbuf_appendf(&names, "%s%s", names.len ? ", " : "", *name);
    if (names.len)
        strbuf_appendf(notes, "note: plugins of the profile that are not here yet: %s\n",
                       strbuf_str(&names));
    if (c->extenders.n)
        strbuf_append(notes, "note: extenders are not asked\n");
}

static const struct profile_config *find_profile(const struct sched_config *c, const char *name)
{
    for (uint32_t i = 0; i < c->profiles.n; i++)
        if (streq(c->made[i].scheduler_name, name))
            return &c->made[i];
    return NULL;
}

#define CLUSTERS "ConfigMap koord-scheduler-config"

static int load_config(struct attempt *a, const struct explain_config *from, struct strbuf *notes,
                       struct kerr *err)
{
    if (!str_empty(from->file))
        return config_load(&sched_config_spec, from->file, &a->config, err);
    if (from->text && config_parse(&sched_config_spec, from->text, strlen(from->text), CLUSTERS,
                                   &a->config, err) == 0)
        return 0;
    if (from->text)
        strbuf_appendf(notes, "note: %s; the configuration that is shipped counts\n", err->text);
    return sched_config_shipped(&a->config, err);
}

/* The file's, else the cluster's, else the one that is shipped for this scheduler, else the default
 * plugins. */
static int choose_profile(struct attempt *a, const char *name, const struct explain_config *from,
                          struct strbuf *notes, struct profile_config *ret, struct kerr *err)
{
    const char *path = from->file;
    bool given = !str_empty(path);

    int r = load_config(a, from, notes, err);
    if (r < 0)
        return r;
    const struct sched_config *c = a->config->value;
    const struct profile_config *found = find_profile(c, name);
    if (!found && given)
        return kerr_set(err, -ENOENT, "%s has no profile for scheduler %s, which the pod names",
                        path, name);
    if (found)
        note_missing(c, notes);
    else if (!streq(name, "default-scheduler"))
        strbuf_appendf(notes, "note: scheduler %s is not known here: default plugins\n", name);
    *ret = found ? *found : profile_config_default(ks_registry, name, a->arena);
    return 0;
}

static void attempt_close(void *self)
{
    struct attempt *a = self;

    if (!a)
        return;
    whatif_free(a->whatif);
    config_unref(a->config);
    arena_free(a->arena);
    free(a);
}

static int attempt_open(const char *scheduler_name, const struct explain_config *config,
                        struct strbuf *notes, void **ret, struct kerr *err)
{
    struct attempt *a = xnew0(struct attempt);
    struct profile_config profile;

    *ret = a;
    a->arena = arena_new();
    if (choose_profile(a, scheduler_name, config, notes, &profile, err) < 0)
        return err->code;
    a->whatif = whatif_new(&profile, ks_registry, err);
    return a->whatif ? 0 : err->code;
}

/* ---- the attempt ----------------------------------------------------------------------------- */

static const struct kind *attempt_kind(const void *self, unsigned i)
{
    const struct attempt *a = self;
    return whatif_kind(a->whatif, i);
}

static int attempt_add(void *self, struct kobj *o, struct kerr *err)
{
    struct attempt *a = self;
    return whatif_add(a->whatif, o, err);
}

static struct kj_mval *preemption_value(struct kj_mdoc *d, const struct whatif_preemption *p)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_mval *priorities = kj_mobj(d);
    char key[KOBJ_KEY_MAX];

    whatif_write_preemption(p, &text);
    struct kj_mval *v = kj_mraw(d, text.data, text.len);
    for (uint32_t i = 0; i < p->n; i++) {
        kobj_key(&p->victims[i]->obj, key, sizeof key);
        kj_mset(d, priorities, key, kj_mi64(d, pod_priority(p->victims[i])));
    }
    if (p->n)
        kj_mset(d, v, "priorities", priorities);
    return v;
}

static int attempt_try(void *self, struct kobj *pod, nsec_t now, struct strbuf *json,
                       struct kerr *err)
{
    struct attempt *a = self;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct whatif_result result;
    struct whatif_preemption room;

    if (whatif_explain(a->whatif, pod, now, &result, err) < 0)
        return err->code;
    whatif_write(&result, WHATIF_CHANGES | WHATIF_DETAILS, &text);
    struct kj_mval *root = kj_mraw(d, text.data, text.len);
    if (!result.nbest) {
        int r = whatif_preempt(a->whatif, &room, err);
        if (r < 0 && r != -ENOTSUP)
            return r;
        if (r == 0)
            kj_mset(d, root, "preemption", preemption_value(d, &room));
    }
    kj_mwrite(root, 0, json);
    return 0;
}

static int attempt_try_gang(void *self, const char *id, nsec_t now, struct strbuf *json,
                            struct kerr *err)
{
    struct attempt *a = self;
    return whatif_explain_gang(a->whatif, id, now, json, err);
}

static void attempt_scores(const void *self, unsigned max, struct strbuf *out)
{
    const struct attempt *a = self;
    whatif_write_scores(a->whatif, max, out);
}

struct whatif *main_explain_whatif(void *self)
{
    struct attempt *a = self;
    return a->whatif;
}

const struct explain_scheduler main_explain = {
    .open = attempt_open,
    .close = attempt_close,
    .kind = attempt_kind,
    .add = attempt_add,
    .try_pod = attempt_try,
    .try_gang = attempt_try_gang,
    .scores = attempt_scores,
};
