/* plugin_config.c - the args of a profile's plugins: as the file gives them, and completed. */
#include "descheduler/config/config_int.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "json/kj.h"

static int check_type(const char *plugin, const struct kj_val *args, struct kerr *err)
{
    const struct kj_val *version = kj_get(args, "apiVersion"), *kind = kj_get(args, "kind");
    char want[128];

    (void)snprintf(want, sizeof want, "%sArgs", plugin);
    if ((kind && !streq(kj_str_or(kind, ""), want)) ||
        (version && !streq(kj_str_or(version, ""), DESCHED_CONFIG_API_VERSION)))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "args for plugin %s were not of type %s of %s, got %.60s of %.60s", plugin,
                        want, DESCHED_CONFIG_API_VERSION, kj_str_or(kind, want),
                        kj_str_or(version, DESCHED_CONFIG_API_VERSION));
    return 0;
}

/* The args without apiVersion and kind. */
static int args_parse(const struct desched_plugin_config *p, struct kj_doc **ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *edit = kj_mdoc_new();
    const char *text = str_or(p->args, "{}");

    int r = kj_parse(text, strlen(text), 0, &doc, err);
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

/* Decoded strictly, defaulted, checked; then as text again, with everything that counts. */
static int args_complete(struct desched_plugin_config *pc, const struct kd_args *t,
                         const struct kj_val *given, const struct kd_args_context *c,
                         struct arena *a, void **ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    void *args = arena_zalloc(a, t->schema->size);

    int r = kj_decode(t->schema, given, KJ_STRICT, a, args, err);
    if (r < 0)
        return r;
    kj_default(t->schema, a, args);
    if (t->fill)
        t->fill(args, c, a);
    r = kj_validate(t->schema, args, err);
    if (r == 0 && t->check)
        r = t->check(args, a, err);
    if (r < 0)
        return r;
    kj_encode(t->schema, args, &out);
    const char *fields = strbuf_str(&out);
    pc->args =
        arena_printf(a, "{\"apiVersion\":\"%s\",\"kind\":\"%sArgs\"%s%s",
                     DESCHED_CONFIG_API_VERSION, pc->name, fields[1] == '}' ? "" : ",", fields + 1);
    *ret = args;
    return 0;
}

static int finish_one(struct desched_plugin_config *pc, const struct kd_args_context *c,
                      struct kd_plugin_args *made, struct arena *a, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *given = NULL;
    void *args = NULL;

    made->plugin = registry_find(pc->name);
    if (args_parse(pc, &given, err) < 0)
        return kerr_wrap(err, "args");
    if (!made->plugin->args)
        return 0;
    if (args_complete(pc, made->plugin->args, kj_root(given), c, a, &args, err) < 0)
        return config_under(err, "args");
    made->args = args;
    return 0;
}

static int check_name(const struct desched_profile *p, uint32_t i, struct kerr *err)
{
    const char *name = p->plugin_config.items[i].name;

    if (!*name)
        return kerr_api(err, -EINVAL, KR_INVALID, "name: Required value");
    for (uint32_t j = 0; j < i; j++)
        if (streq(p->plugin_config.items[j].name, name))
            return kerr_api(err, -EINVAL, KR_INVALID, "Duplicate value: \"%.64s\"", name);
    if (!registry_find(name))
        return kerr_api(err, -ENOENT, KR_INVALID, "name: plugin \"%.64s\" does not exist", name);
    return 0;
}

static bool has_config(const struct desched_profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->plugin_config.n; i++)
        if (streq(p->plugin_config.items[i].name, name))
            return true;
    return false;
}

/* Every plugin that is enabled and has args gets them. */
static void add_missing(struct desched_profile *p, const struct kd_profile_config *made,
                        struct arena *a)
{
    uint32_t n = p->plugin_config.n, cap = n;

    for (int i = 0; i < KD_POINTS; i++)
        cap += made->points[i].n;
    struct desched_plugin_config *all = arena_newn0(a, cap, struct desched_plugin_config);
    if (n)
        memcpy(all, p->plugin_config.items, n * sizeof *all);
    p->plugin_config.items = all;
    for (int i = 0; i < KD_POINTS; i++)
        for (uint32_t j = 0; j < made->points[i].n; j++) {
            const struct kd_plugin *plugin = made->points[i].items[j];
            if (plugin->args && !has_config(p, plugin->name))
                all[p->plugin_config.n++].name = plugin->name;
        }
}

int plugin_args_finish(struct desched_profile *p, const struct kd_args_context *c,
                       struct kd_profile_config *made, struct arena *a, struct kerr *err)
{
    if (config_at_most(p->plugin_config.n, CONFIG_ITEMS_MAX, "pluginConfig", err) < 0)
        return err->code;
    for (uint32_t i = 0; i < p->plugin_config.n; i++)
        if (check_name(p, i, err) < 0)
            return config_under(err, "pluginConfig[%u]", i);
    add_missing(p, made, a);
    struct kd_plugin_args *all = arena_newn0(a, p->plugin_config.n, struct kd_plugin_args);
    for (uint32_t i = 0; i < p->plugin_config.n; i++)
        if (finish_one(&p->plugin_config.items[i], c, &all[i], a, err) < 0)
            return config_under(err, "pluginConfig[%u]", i);
    made->args = all;
    made->nargs = p->plugin_config.n;
    return 0;
}
