/* config.c - from what a file says to what is in force. */
#include "descheduler/config/config_int.h"

#include "api/selector/selector.h"
#include "base/num.h"
#include "base/strbuf.h"

#define NAME         "koord-descheduler"
#define NAMESPACE    "koordinator-system"
#define DEFAULT_PORT 10251

/* ---- addresses -------------------------------------------------------------------------------- */

static bool has_port(const char *text)
{
    const char *colon = strrchr(text, ':');
    const char *bracket = strrchr(text, ']');

    if (!colon || (bracket && bracket > colon))
        return false;
    return *text == '[' || strchr(text, ':') == colon; /* a bare IPv6 address has several */
}

/* ":p" and "ip" are short for an address with both parts. */
static const char *complete_address(const char *text, struct arena *a)
{
    if (!*text)
        return arena_printf(a, "0.0.0.0:%d", DEFAULT_PORT);
    if (text[0] == ':' && text[1] != ':')
        return arena_printf(a, "0.0.0.0%s", text);
    if (has_port(text))
        return text;
    return arena_printf(a, strchr(text, ':') && *text != '[' ? "[%s]:%d" : "%s:%d", text,
                        DEFAULT_PORT);
}

static int check_address(const char *path, const char *text, struct kerr *err)
{
    const char *colon = strrchr(text, ':');
    int64_t port = 0;

    if (!colon || i64_parse(colon + 1, strlen(colon + 1), &port) < 0 || port < 0 || port > 65535)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "%s: Invalid value: \"%.80s\": must be a valid socket address format, "
                        "(e.g. 0.0.0.0:10254 or [::]:10254)",
                        path, text);
    return 0;
}

/* ---- scalars ---------------------------------------------------------------------------------- */

static int check_limit(const char *path, struct opt_i64 v, struct kerr *err)
{
    return v.set ? config_range(path, v.v, 0, INT64_MAX, err) : 0;
}

static int check_scalars(const struct desched_config *c, struct kerr *err)
{
    int r = client_config_check(&c->client, err);

    if (r == 0)
        r = election_config_check(&c->election, err);
    if (r == 0)
        r = check_address("healthzBindAddress", c->healthz_address, err);
    if (r == 0)
        r = check_address("metricsBindAddress", c->metrics_address, err);
    if (r == 0)
        r = config_duration("deschedulingInterval", c->interval, err);
    if (r == 0)
        r = check_limit("maxNoOfPodsToEvictPerNode", c->limits.per_node, err);
    if (r == 0)
        r = check_limit("maxNoOfPodsToEvictPerNamespace", c->limits.per_namespace, err);
    return r == 0 ? check_limit("maxNoOfPodsToEvictTotal", c->limits.total, err) : r;
}

static int compile(const struct label_selector *s, struct arena *a, const struct labelsel **ret,
                   struct kerr *err)
{
    struct labelsel *sel = NULL;

    if (!s)
        return 0;
    if (labelsel_from(s, a, &sel, err) < 0)
        return kerr_wrap(err, "nodeSelector");
    *ret = sel;
    return 0;
}

/* ---- profiles --------------------------------------------------------------------------------- */

static void default_profiles(struct desched_config *c, struct arena *a)
{
    if (c->profiles.n)
        return;
    c->profiles.items = arena_new0(a, struct desched_profile);
    c->profiles.items[0].name = NAME;
    c->profiles.n = 1;
}

static int check_name(const struct desched_config *c, uint32_t i, struct kerr *err)
{
    const char *name = c->profiles.items[i].name;

    if (!*name)
        return kerr_api(err, -EINVAL, KR_INVALID, "name: Required value");
    for (uint32_t j = 0; j < i; j++)
        if (streq(c->profiles.items[j].name, name))
            return kerr_api(err, -EINVAL, KR_INVALID, "name: Duplicate value: \"%.64s\"", name);
    return 0;
}

static int finish_profile(struct desched_config *c, uint32_t i, struct arena *a, struct kerr *err)
{
    const struct kd_args_context context = { .interval = c->interval };
    struct desched_profile *p = &c->profiles.items[i];
    struct kd_profile_config *made = &c->made[i];

    int r = check_name(c, i, err);
    if (r == 0)
        r = compile(p->node_selector, a, &made->nodes, err);
    if (r == 0)
        r = merge_plugins(p, made, a, err);
    if (r == 0)
        r = plugin_args_finish(p, &context, made, a, err);
    made->name = p->name;
    return r;
}

static int finish(void *value, struct arena *a, void *arg, struct kerr *err)
{
    struct desched_config *c = value;

    (void)arg;
    c->election.name = str_empty(c->election.name) ? NAME : c->election.name;
    c->election.ns = str_empty(c->election.ns) ? NAMESPACE : c->election.ns;
    c->client.qps = c->client.qps == 0 ? 50 : c->client.qps;
    c->client.burst = c->client.burst == 0 ? 100 : c->client.burst;
    c->healthz_address = complete_address(c->healthz_address, a);
    c->metrics_address = complete_address(c->metrics_address, a);
    default_profiles(c, a);
    int r = check_scalars(c, err);
    if (r == 0)
        r = compile(c->node_selector, a, &c->nodes, err);
    if (r == 0)
        r = config_at_most(c->profiles.n, CONFIG_ITEMS_MAX, "profiles", err);
    if (r < 0)
        return r;
    c->made = arena_newn0(a, c->profiles.n, struct kd_profile_config);
    for (uint32_t i = 0; i < c->profiles.n; i++)
        if (finish_profile(c, i, a, err) < 0)
            return config_under(err, "profiles[%u]", i);
    return 0;
}

const struct config_spec desched_config_spec = {
    .api_version = DESCHED_CONFIG_API_VERSION,
    .kind = DESCHED_CONFIG_KIND,
    .schema = &desched_config_schema,
    .finish = finish,
};

/* ---- showing ---------------------------------------------------------------------------------- */

void desched_config_write(const struct desched_config *c, struct strbuf *out)
{
    size_t at;

    strbuf_append(out, "{\"apiVersion\":\"" DESCHED_CONFIG_API_VERSION
                       "\",\"kind\":\"" DESCHED_CONFIG_KIND "\"");
    at = out->len;
    kj_encode(&desched_config_schema, c, out);
    out->data[at] = ','; /* in place of the brace: there is always a field */
}
