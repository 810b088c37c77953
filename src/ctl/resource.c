/* resource.c - finding kinds, by table and by discovery. */
#include "ctl/resource.h"

#include <ctype.h>

#include "base/vec.h"
#include "client/discovery.h"
#include "ctl/ctl.h"
#include "loop/loop.h"

void resource_word(const struct kind *k, struct strbuf *out)
{
    for (const char *p = k->kind; *p; p++)
        strbuf_appendc(out, (char)tolower((unsigned char)*p));
    if (*k->group)
        strbuf_appendf(out, ".%s", k->group);
}

static void on_round(void *arg)
{
    loop_stop(arg);
}

/* Kinds of the server live as long as this. */
static struct discovery *discover(struct ctl *c)
{
    if (c->discovery)
        return c->discovery;
    c->discovery = discovery_new(c->kube);
    discovery_on_round(c->discovery, on_round, c->loop);
    discovery_ask(c->discovery, c->o.request_timeout);
    loop_run(c->loop);
    return c->discovery;
}

static int complain_unknown(struct ctl *c, const struct discovery *d, const char *word)
{
    struct vec_of(const char *) names = { 0 };

    for (size_t i = 0; i < discovery_count(d); i++)
        vec_push(&names, discovery_at(d, i)->kind.plural);
    const char *near = word_nearest(word, names.items, names.n);
    vec_fini(&names);
    if (near)
        return ctl_fail(c, "the server has no resource type '%.60s' (did you mean %s?)", word,
                        near);
    return ctl_fail(c,
                    "the server has no resource type '%.60s'; kubectl api-resources lists what it "
                    "has",
                    word);
}

int resource_find(struct ctl *c, const char *word, const struct kind **ret)
{
    *ret = kind_find(word);
    if (*ret)
        return CTL_OK;
    struct discovery *d = discover(c);
    const struct served_kind *k = discovery_find_word(d, word);
    if (k) {
        *ret = &k->kind;
        return CTL_OK;
    }
    const struct kerr *problem = discovery_problem(d);
    return problem ? ctl_complain(c, problem) : complain_unknown(c, d, word);
}

static const struct kind *table_kind(const char *api_version, const char *kind)
{
    const char *slash = strchr(api_version, '/');
    CLEANUP(mem_free)
    char *group = xstrndup(api_version, slash ? (size_t)(slash - api_version) : 0);
    return kind_find_gvk(group, slash ? slash + 1 : api_version, kind);
}

int resource_of(struct ctl *c, const char *api_version, const char *kind, const char *where,
                const struct kind **ret)
{
    *ret = table_kind(api_version, kind);
    if (*ret)
        return CTL_OK;
    bool fresh = !c->discovery;
    struct discovery *d = discover(c);
    const struct served_kind *k = discovery_find(d, api_version, kind);
    if (!k && !fresh) { /* a definition may have come with an object before this one */
        discovery_ask(d, c->o.request_timeout);
        loop_run(c->loop);
        k = discovery_find(d, api_version, kind);
    }
    const struct kerr *problem = discovery_problem(d);
    if (!k && problem)
        return ctl_complain(c, problem);
    if (!k)
        return ctl_fail(c,
                        "%s: no matches for kind \"%.63s\" in version \"%.120s\"; check both, and "
                        "that its CustomResourceDefinition is installed",
                        where, kind, api_version);
    *ret = &k->kind;
    return CTL_OK;
}
