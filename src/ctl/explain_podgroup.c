/* explain_podgroup.c - koordctl explain podgroup: who is there of a gang, how many of its members
 * fit now, where there is room, and what is missing. */
#include "api/kobj.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "ctl/ctl.h"
#include "ctl/explain.h"
#include "loop/loop.h"
#include "json/kj.h"

#define SCHEDULER "koord-scheduler"

static const char *text_of(const struct kj_val *v, const char *member)
{
    return kj_str_or(kj_get(v, member), "");
}

static long long count_of(const struct kj_val *v, const char *member)
{
    return (long long)kj_i64_or(kj_get(v, member), 0);
}

/* ---- who is there ---------------------------------------------------------------------------- */

static void put_gated(const struct kj_val *gang, struct strbuf *out)
{
    const struct kj_val *gated = kj_get(gang, "gated");
    size_t n = kj_len(gated);

    if (n == 0)
        return;
    strbuf_appendf(out, "    %zu not ready (scheduling gates, or being deleted):", n);
    for (size_t i = 0; i < MIN(n, (size_t)5); i++)
        strbuf_appendf(out, " %s", kj_str_or(kj_at(gated, i), ""));
    strbuf_append(out, n > 5 ? " ...\n" : "\n");
}

static void put_gang(const struct kj_val *gang, struct strbuf *out)
{
    const char *name = text_of(gang, "name");

    if (!kj_get(gang, "from")) {
        strbuf_appendf(out, "  %s does not exist: the group waits for it\n", name);
        return;
    }
    if (!kj_bool(kj_get(gang, "ready"), false)) {
        strbuf_appendf(out, "  %s: %lld pods name it; nobody says how many it needs\n", name,
                       count_of(gang, "members"));
        return;
    }
    strbuf_appendf(out, "  %s (%s, %s, %s): needs %lld, has %lld: %lld with a node, %lld without\n",
                   name, text_of(gang, "from"), text_of(gang, "mode"), text_of(gang, "matchPolicy"),
                   count_of(gang, "minMember"), count_of(gang, "members"), count_of(gang, "bound"),
                   count_of(gang, "pending"));
    put_gated(gang, out);
}

static void put_gangs(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *gangs = kj_get(root, "gangs");

    if (kj_len(gangs) > 1)
        strbuf_appendf(out, "Gang %s starts together with others:\n", text_of(root, "gang"));
    else
        strbuf_appendf(out, "Gang %s:\n", text_of(root, "gang"));
    for (size_t i = 0; i < kj_len(gangs); i++)
        put_gang(kj_at(gangs, i), out);
    if (kj_get(root, "networkIgnored"))
        strbuf_appendf(out, "Its network-topology-spec is ignored: %s.\n",
                       text_of(root, "networkIgnored"));
    if (kj_bool(kj_get(root, "onceSatisfied"), false))
        strbuf_append(out, "It was whole once: members that come later are placed one by one.\n");
}

/* ---- room ------------------------------------------------------------------------------------ */

static void put_fitting(const struct kj_val *root, struct strbuf *out)
{
    long long wanted = count_of(root, "wanted"), fitting = count_of(root, "fitting");
    const struct kj_val *network = kj_get(root, "network");

    if (!kj_get(root, "wanted")) {
        strbuf_append(out, "\nNo member waits for a node.\n");
        return;
    }
    if (!kj_get(root, "message")) {
        strbuf_appendf(out, "\nAll %lld members that wait fit now.\n", wanted);
        return;
    }
    strbuf_appendf(out, "\n%lld of %lld members fit now%s.\n", fitting, wanted,
                   network ? " in one domain" : "");
    if (!network)
        strbuf_appendf(out, "The first that does not is %s: %s\n", text_of(root, "first"),
                       text_of(root, "message"));
    else
        strbuf_appendf(out, "%s\n", text_of(root, "message"));
}

static void put_nodes(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *kinds = kj_get(root, "nodes");
    bool short_of = kj_get(root, "message");

    if (kj_len(kinds) == 0)
        return;
    strbuf_append(out, "\nRoom, each node on its own:\n");
    for (size_t i = 0; i < kj_len(kinds); i++) {
        const struct kj_val *k = kj_at(kinds, i);
        strbuf_appendf(out, "  %lld nodes with %s: %lld slots", count_of(k, "nodes"),
                       text_of(k, "kind"), count_of(k, "slots"));
        if (short_of)
            strbuf_appendf(out, "; one more of them, empty: %lld more members",
                           count_of(k, "oneMore"));
        strbuf_append(out, "\n");
    }
    if (short_of)
        strbuf_appendf(out, "  Full: %s\n", text_of(root, "full"));
}

static void put_network(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *network = kj_get(root, "network"), *all = kj_get(network, "domains");

    if (!network)
        return;
    strbuf_appendf(out, "\nRoom by %s:\n", text_of(network, "layer"));
    for (size_t i = 0; i < kj_len(all); i++)
        strbuf_appendf(out, "  %s: %lld slots\n", text_of(kj_at(all, i), "name"),
                       count_of(kj_at(all, i), "slots"));
}

static void put_answer(const struct kj_val *answer, struct strbuf *out)
{
    put_gangs(answer, out);
    put_fitting(answer, out);
    put_nodes(answer, out);
    put_network(answer, out);
}

/* ---- the command ----------------------------------------------------------------------------- */

int explain_podgroup_run(struct ctl *c, const char *ns, const char *name, const char *config)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct explain_cluster x = { .c = c, .arena = a };
    struct kerr err = { 0 };

    if (!c->parts || !c->parts->explain)
        return ctl_fail(c, "this program has no scheduler to explain with");
    int code = ctl_connect(c);
    if (code != CTL_OK)
        return code;
    x.scheduler = c->parts->explain;
    x.scratch = kj_scratch_new(c->strings);
    code = explain_read_cluster(&x, SCHEDULER, config);
    if (code == CTL_OK &&
        x.scheduler->try_gang(x.self, arena_printf(a, "%s/%s", ns ? ns : ctl_namespace(c), name),
                              loop_wall(c->loop), &json, &err) < 0)
        code = ctl_fail(c, "%s", err.text);
    x.scheduler->close(x.self);
    kj_scratch_free(x.scratch);
    return code == CTL_OK ? explain_show(c, &json, put_answer) : code;
}
