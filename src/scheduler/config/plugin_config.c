/* plugin_config.c - the args of a profile's plugins: as the file gives them, and completed. */
#include "scheduler/config/config_int.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "scheduler/framework/args.h"
#include "json/kj.h"

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

/* The args without apiVersion and kind; *ret stays NULL when there are none. */
static int args_parse(const struct sched_plugin_config *p, struct kj_doc **ret, struct kerr *err)
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
    *ret = kj_freeze(bare);
    return 0;
}

/* {"apiVersion":...,"kind":"NameArgs", and the fields of an object behind it. */
static const char *with_type(const char *plugin, const char *fields, struct arena *a)
{
    return arena_printf(a, "{\"apiVersion\":\"" CONFIG_API_VERSION "\",\"kind\":\"%sArgs\"%s%s",
                        plugin, fields[1] == '}' ? "" : ",", fields + 1);
}

/* The args as the user wrote them (NULL: not at all), completed: as text, and as the struct that
 * the plugin gets. A plugin without a table takes any fields, and *ret_args stays NULL. */
static int args_complete(const char *plugin, const struct kj_val *given,
                         const struct ks_args_context *c, struct arena *a, const char **ret_json,
                         void **ret_args, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const struct ks_args *t = names_find(plugin)->args;

    if (t) {
        int r = args_decode(t, given, c, a, ret_args, err);
        if (r < 0)
            return r;
        kj_encode(t->schema, *ret_args, &out);
    } else if (given) {
        kj_write(given, 0, &out);
    }
    *ret_json = with_type(plugin, out.len ? strbuf_str(&out) : "{}", a);
    return 0;
}

const char *plugin_config_defaults(const char *plugin, struct arena *a)
{
    const struct ks_args_context nothing = { 0 };
    struct kerr err = { 0 };
    const char *json = NULL;
    void *args = NULL;

    return args_complete(plugin, NULL, &nothing, a, &json, &args, &err) < 0 ? "{}" : json;
}

static int check_config_name(const struct sched_profile *p, uint32_t i, struct kerr *err)
{
    const char *name = p->plugin_config.items[i].name;

    if (!*name)
        return kerr_api(err, -EINVAL, KR_INVALID, "name: Required value");
    for (uint32_t j = 0; j < i; j++)
        if (streq(p->plugin_config.items[j].name, name))
            return kerr_api(err, -EINVAL, KR_INVALID, "Duplicate value: \"%.64s\"", name);
    if (names_is_removed(name))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "Invalid value: \"%s\": was invalid in version \"v1\" "
                        "(KubeSchedulerConfiguration is version \"" CONFIG_API_VERSION "\")",
                        name);
    if (!names_find(name))
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

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct sched_plugin_config *)a)->name,
                  ((const struct sched_plugin_config *)b)->name);
}

/* Every plugin that is enabled and has args gets them, as upstream's defaulting does: first those
 * of the default profile, by name. */
static void add_configs(struct sched_profile *p, struct arena *a)
{
    uint32_t n = p->plugin_config.n, known = 0;

    while (ks_registry[known].plugin)
        known++;
    struct sched_plugin_config *all = arena_newn0(a, n + known, struct sched_plugin_config);
    if (n)
        memcpy(all, p->plugin_config.items, n * sizeof *all);
    for (int by_default = 1; by_default >= 0; by_default--) {
        uint32_t first = n;
        for (const struct ks_registered *r = ks_registry; r->plugin; r++) {
            const char *name = r->plugin->name;
            if (r->by_default == by_default && r->plugin->args && is_enabled(p, name) &&
                !has_config(p, name))
                all[n++] = (struct sched_plugin_config){ name, NULL };
        }
        qsort(all + first, n - first, sizeof *all, compare_names);
    }
    p->plugin_config.items = all;
    p->plugin_config.n = n;
}

int plugin_config_finish(struct sched_config *c, struct sched_profile *p,
                         struct profile_config *made, struct arena *a, struct kerr *err)
{
    const struct ks_args_context context = extenders_context(c, a);

    for (uint32_t i = 0; i < p->plugin_config.n; i++)
        if (check_config_name(p, i, err) < 0)
            return config_under(err, "pluginConfig[%u]", i);
    add_configs(p, a);
    struct profile_args *all = arena_newn0(a, p->plugin_config.n, struct profile_args);
    made->args = all;
    for (uint32_t i = 0; i < p->plugin_config.n; i++) {
        struct sched_plugin_config *pc = &p->plugin_config.items[i];
        CLEANUP(kj_doc_free) struct kj_doc *given = NULL;
        void *args = NULL;
        if (args_parse(pc, &given, err) < 0)
            return kerr_wrap(err, "pluginConfig[%u].args", i);
        if (args_complete(pc->name, kj_root(given), &context, a, &pc->args, &args, err) < 0)
            return config_under(err, "pluginConfig[%u].args", i);
        if (args)
            all[made->nargs++] = (struct profile_args){ pc->name, args };
    }
    return 0;
}
