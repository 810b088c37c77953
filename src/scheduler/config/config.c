/* config.c - from what a file says to what is in force. */
#include "scheduler/config/config_int.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "scheduler/framework/profile.h"
#include "json/kj.h"

/* ---- scalars --------------------------------------------------------------------------------- */

static int invalid_i64(struct kerr *err, const char *path, int64_t v, const char *why)
{
    return kerr_api(err, -EINVAL, KR_INVALID, "%s: Invalid value: %lld: %s", path, (long long)v,
                    why);
}

static int check_percentage(struct opt_i32 v, struct kerr *err)
{
    if (v.set && (v.v < 0 || v.v > 100))
        return invalid_i64(err, "percentageOfNodesToScore", v.v, "not in valid range [0-100]");
    return 0;
}

static int check_scalars(const struct sched_config *c, struct kerr *err)
{
    int r = client_config_check(&c->client, err);
    if (r == 0)
        r = election_config_check(&c->election, err);
    if (r < 0)
        return r;
    if (c->parallelism.v <= 0)
        return invalid_i64(err, "parallelism", c->parallelism.v,
                           "should be an integer value greater than zero");
    r = check_percentage(c->percentage, err);
    if (r < 0)
        return r;
    if (c->backoff_initial.v <= 0)
        return invalid_i64(err, "podInitialBackoffSeconds", c->backoff_initial.v,
                           "must be greater than 0");
    if (c->backoff_max.v < c->backoff_initial.v)
        return invalid_i64(err, "podMaxBackoffSeconds", c->backoff_max.v,
                           "must be greater than or equal to PodInitialBackoffSeconds");
    if (c->backoff_max.v > NSEC_MAX / NSEC_PER_SEC)
        return invalid_i64(err, "podMaxBackoffSeconds", c->backoff_max.v, "is too long");
    return 0;
}

/* ---- profiles -------------------------------------------------------------------------------- */

static void default_profiles(struct sched_config *c, struct arena *a)
{
    if (c->profiles.n == 0) {
        c->profiles.items = arena_new0(a, struct sched_profile);
        c->profiles.items[0].scheduler_name = "";
        c->profiles.n = 1;
    }
    if (c->profiles.n == 1 && !*c->profiles.items[0].scheduler_name)
        c->profiles.items[0].scheduler_name = "default-scheduler";
}

static int check_name(const struct sched_config *c, uint32_t i, struct kerr *err)
{
    const char *name = c->profiles.items[i].scheduler_name;

    if (!*name)
        return kerr_api(err, -EINVAL, KR_INVALID, "schedulerName: Required value");
    for (uint32_t j = 0; j < i; j++)
        if (streq(c->profiles.items[j].scheduler_name, name))
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "schedulerName: Duplicate value: \"profiles[%u].schedulerName\"", j);
    return 0;
}

static const char *args_text(const struct sched_profile *p, const char *plugin)
{
    for (uint32_t i = 0; i < p->plugin_config.n; i++)
        if (streq(p->plugin_config.items[i].name, plugin))
            return p->plugin_config.items[i].args;
    return NULL;
}

/* Without a word about a plugin its args are the same as with none of them. */
static bool args_equal(const struct sched_profile *p, const struct sched_profile *q,
                       const char *plugin, struct arena *a)
{
    const char *x = args_text(p, plugin), *y = args_text(q, plugin);
    CLEANUP(kj_doc_free) struct kj_doc *dx = NULL, *dy = NULL;

    x = x ? x : plugin_config_defaults(plugin, a);
    y = y ? y : plugin_config_defaults(plugin, a);
    return kj_parse(x, strlen(x), 0, &dx, NULL) == 0 && kj_parse(y, strlen(y), 0, &dy, NULL) == 0 &&
           kj_equal(kj_root(dx), kj_root(dy));
}

/* All pods wait in one queue. */
static int check_queue_sort(const struct sched_config *c, uint32_t i, struct arena *a,
                            struct kerr *err)
{
    const struct sched_profile *first = &c->profiles.items[0], *p = &c->profiles.items[i];
    const char *name = p->order[KS_POINT_QUEUE_SORT].items[0].plugin;

    if (!streq(name, first->order[KS_POINT_QUEUE_SORT].items[0].plugin))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "plugins.queueSort: Invalid value: \"%.64s\": must be the same for all "
                        "profiles",
                        name);
    if (!args_equal(first, p, name, a))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "pluginConfig.args: Invalid value: queueSort must be the same for all "
                        "profiles");
    return 0;
}

static int finish_profile(struct sched_config *c, uint32_t i, struct arena *a, struct kerr *err)
{
    struct sched_profile *p = &c->profiles.items[i];
    struct profile_config *made = &c->made[i];

    int r = check_name(c, i, err);
    if (r == 0)
        r = check_percentage(p->percentage, err);
    if (r == 0)
        r = merge_profile(p, a, err);
    if (r == 0)
        r = plugin_config_finish(c, p, made, a, err);
    if (r == 0)
        r = check_queue_sort(c, i, a, err);
    if (r < 0)
        return config_under(err, "profiles[%u]", i);
    made->scheduler_name = p->scheduler_name;
    here_make(p, made, a);
    return 0;
}

static int finish(void *value, struct arena *a, void *arg, struct kerr *err)
{
    struct sched_config *c = value;

    (void)arg;
    c->election.name = str_empty(c->election.name) ? "kube-scheduler" : c->election.name;
    c->election.ns = str_empty(c->election.ns) ? "kube-system" : c->election.ns;
    default_profiles(c, a);
    int r = check_scalars(c, err);
    if (r == 0)
        r = extenders_finish(c, a, err);
    if (r == 0)
        r = config_at_most(c->profiles.n, PROFILES_MAX, "profiles", err);
    if (r < 0)
        return r;
    c->made = arena_newn0(a, c->profiles.n, struct profile_config);
    for (uint32_t i = 0; i < c->profiles.n && r == 0; i++)
        r = finish_profile(c, i, a, err);
    if (r == 0)
        here_not_yet(c, a);
    return r;
}

const struct config_spec sched_config_spec = {
    .api_version = CONFIG_API_VERSION,
    .kind = CONFIG_KIND,
    .schema = &sched_config_schema,
    .finish = finish,
};

/* ---- showing --------------------------------------------------------------------------------- */

static void hide_keys(struct kj_mval *root)
{
    struct kj_mval *extenders = kj_mget(root, "extenders");

    for (size_t i = 0; i < kj_mlen(extenders); i++) {
        struct kj_mval *tls = kj_mget(kj_mat(extenders, i), "tlsConfig");
        if (tls)
            kj_mdel(tls, "keyData", strlen("keyData"));
    }
}

void sched_config_write(const struct sched_config *c, bool secrets, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf fields = STRBUF_INIT;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *doc = kj_mdoc_new();

    strbuf_append(&fields,
                  "{\"apiVersion\":\"" CONFIG_API_VERSION "\",\"kind\":\"" CONFIG_KIND "\"");
    size_t at = fields.len;
    kj_encode(&sched_config_schema, c, &fields);
    fields.data[at] = ','; /* in place of the brace: there is always a field */
    struct kj_mval *root = kj_mraw(doc, fields.data, fields.len);
    if (!secrets)
        hide_keys(root);
    kj_mwrite(root, 0, out);
}
