/* plugin_config.c - the args of a profile's plugins: as the file gives them, and completed. */
#include "scheduler/config/config_int.h"

#include <stdio.h>

#include "json/kj.h"

/* Kept until the configuration goes away. */
static const struct kj_val *keep(struct sched_config *c, struct kj_doc *doc, struct arena *a)
{
    struct sched_doc *d = arena_new0(a, struct sched_doc);

    *d = (struct sched_doc){ c->docs, doc };
    c->docs = d;
    return kj_root(doc);
}

static int check_type(const char *plugin, const struct kj_val *args, struct kerr *err)
{
    const struct kj_val *version = kj_get(args, "apiVersion"), *kind = kj_get(args, "kind");
    char want[128];

    (void)snprintf(want, sizeof want, "%sArgs", plugin);
    if ((kind && !streq(kj_str_or(kind, ""), want)) ||
        (version && !streq(kj_str_or(version, ""), CONFIG_API_VERSION)))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "args for plugin %s were not of type %s of %s, got %.60s of %.60s", plugin,
                        want, CONFIG_API_VERSION, kj_str_or(kind, want),
                        kj_str_or(version, CONFIG_API_VERSION));
    return 0;
}

/* The args without apiVersion and kind: what plugins get to read. */
static int args_parse(struct sched_config *c, const struct sched_plugin_config *p, struct arena *a,
                      const struct kj_val **ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *edit = kj_mdoc_new();

    if (!p->args)
        return 0;
    int r = kj_parse(p->args, strlen(p->args), 0, &doc, err);
    if (r < 0)
        return r;
    if (kj_type(kj_root(doc)) != KJ_OBJ)
        return kerr_api(err, -EINVAL, KR_INVALID, "has to match plugin args");
    r = check_type(p->name, kj_root(doc), err);
    if (r < 0)
        return r;
    struct kj_mval *bare = kj_mcopy(edit, kj_root(doc));
    kj_mdel(bare, "apiVersion", strlen("apiVersion"));
    kj_mdel(bare, "kind", strlen("kind"));
    *ret = keep(c, kj_freeze(bare), a);
    return 0;
}

/* What extenders take care of, NodeResourcesFit leaves alone. */
static const struct kj_val *with_ignored(struct sched_config *c, const struct kj_val *args,
                                         const char *ignored, struct arena *a)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *edit = kj_mdoc_new();
    struct kj_mval *obj = args ? kj_mcopy(edit, args) : kj_mobj(edit);

    kj_mset(edit, obj, "ignoredResources", kj_mraw(edit, ignored, strlen(ignored)));
    return keep(c, kj_freeze(obj), a);
}

static int check_config_name(const struct sched_profile *p, uint32_t i, struct kerr *err)
{
    const char *name = p->plugin_config.items[i].name;

    if (!*name)
        return kerr_api(err, -EINVAL, KR_INVALID, "name: Required value");
    for (uint32_t j = 0; j < i; j++)
        if (streq(p->plugin_config.items[j].name, name))
            return kerr_api(err, -EINVAL, KR_INVALID, "Duplicate value: \"%.64s\"", name);
    if (known_is_removed(name))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "Invalid value: \"%s\": was invalid in version \"v1\" "
                        "(KubeSchedulerConfiguration is version \"" CONFIG_API_VERSION "\")",
                        name);
    if (!known_name(name))
        return kerr_api(err, -ENOENT, KR_INVALID, "name: plugin \"%.64s\" does not exist", name);
    return 0;
}

static bool has_config(const struct sched_profile *p, const char *plugin)
{
    for (uint32_t i = 0; i < p->plugin_config.n; i++)
        if (streq(p->plugin_config.items[i].name, plugin))
            return true;
    return false;
}

static bool is_enabled(const struct sched_profile *p, const char *plugin)
{
    for (int point = 0; point <= KS_POINTS; point++) {
        const struct sched_plugin_set *s =
            point < KS_POINTS ? &p->plugins.points[point] : &p->plugins.multi_point;
        for (uint32_t i = 0; i < s->enabled.n; i++)
            if (streq(s->enabled.items[i].name, plugin))
                return true;
    }
    return false;
}

/* Every plugin that is enabled and has a table gets its args, as upstream's defaulting does. */
static void add_configs(struct sched_profile *p, struct arena *a)
{
    uint32_t n = p->plugin_config.n;
    size_t tables = 0;
    const char *name;

    while (args_plugin(tables))
        tables++;
    struct sched_plugin_config *all = arena_newn0(a, n + tables, struct sched_plugin_config);
    if (n)
        memcpy(all, p->plugin_config.items, n * sizeof *all);
    for (size_t i = 0; (name = args_plugin(i)); i++)
        if (is_enabled(p, name) && !has_config(p, name))
            all[n++] = (struct sched_plugin_config){ name, NULL };
    p->plugin_config.items = all;
    p->plugin_config.n = n;
}

int plugin_config_finish(struct sched_config *c, struct sched_profile *p,
                         struct profile_config *made, struct arena *a, struct kerr *err)
{
    const char *ignored = extenders_ignored(c, a);

    for (uint32_t i = 0; i < p->plugin_config.n; i++)
        if (check_config_name(p, i, err) < 0)
            return config_under(err, "pluginConfig[%u]", i);
    add_configs(p, a);
    struct profile_args *args = arena_newn0(a, p->plugin_config.n, struct profile_args);
    made->args = args;
    for (uint32_t i = 0; i < p->plugin_config.n; i++) {
        struct sched_plugin_config *pc = &p->plugin_config.items[i];
        const struct kj_val *v = NULL;
        int r = args_parse(c, pc, a, &v, err);
        if (r < 0) {
            kerr_wrap(err, "pluginConfig[%u].args", i);
            return r;
        }
        if (ignored && streq(pc->name, "NodeResourcesFit"))
            v = with_ignored(c, v, ignored, a);
        if (args_complete(pc->name, v, a, &pc->args, err) < 0)
            return config_under(err, "pluginConfig[%u].args", i);
        if (v)
            args[made->nargs++] = (struct profile_args){ pc->name, v };
    }
    return 0;
}
