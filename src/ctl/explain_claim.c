/* explain_claim.c - the ResourceClaims of a pod on each node, as DynamicResources sees them, for
 * koordctl explain: of each request how many devices its selectors accept, how many of these are
 * taken and by whom, and what there is no choice for.
 */
#include <stdio.h>

#include "base/strbuf.h"
#include "ctl/explain.h"
#include "json/kj.h"

static const char *text_of(const struct kj_val *v, const char *member)
{
    return kj_str_or(kj_get(v, member), "");
}

static long long number_of(const struct kj_val *v, const char *member)
{
    return (long long)kj_i64_or(kj_get(v, member), 0);
}

static void put_names(const struct kj_val *list, const char *before, const char *behind,
                      struct strbuf *out)
{
    for (size_t i = 0; i < kj_len(list); i++)
        strbuf_appendf(out, "%s%s%s", i ? ", " : before, kj_str_or(kj_at(list, i), ""), behind);
}

static void put_request(const char *node, int width, const struct kj_val *claim,
                        const struct kj_val *r, struct strbuf *out)
{
    char wanted[24];

    if (kj_bool(kj_get(r, "all"), false))
        snprintf(wanted, sizeof wanted, "all");
    else
        snprintf(wanted, sizeof wanted, "%lld", number_of(r, "count"));
    strbuf_appendf(out, "  %-20.*s %-28s %-16s %6s %7lld %8lld %6lld %5lld ", width, node,
                   text_of(claim, "name"), text_of(r, "name"), wanted, number_of(r, "devices"),
                   number_of(r, "accepted"), number_of(r, "taken"), number_of(r, "free"));
    if (number_of(r, "tainted"))
        strbuf_appendf(out, " %lld tainted", number_of(r, "tainted"));
    if (number_of(r, "failed"))
        strbuf_appendf(out, " selectors fail on %lld", number_of(r, "failed"));
    put_names(kj_get(r, "holders"), " held by ", "", out);
    put_names(kj_get(r, "deviceShare"), " held by ", " (DeviceShare)", out);
    strbuf_appendc(out, '\n');
}

static void put_node(struct str name, const struct kj_val *details, struct strbuf *out)
{
    const struct kj_val *claims = kj_get(details, "claims");
    const char *fails = kj_str(kj_get(details, "fails"));
    bool first = true;

    for (size_t i = 0; i < kj_len(claims); i++) {
        const struct kj_val *c = kj_at(claims, i), *requests = kj_get(c, "requests");
        if (kj_bool(kj_get(c, "allocated"), false)) {
            strbuf_appendf(out, "  %-20.*s %-28s %s\n", first ? (int)name.n : 0, name.p,
                           text_of(c, "name"),
                           kj_bool(kj_get(c, "available"), false) ? "allocated, usable here"
                                                                  : "allocated, not usable here");
            first = false;
        }
        for (size_t k = 0; k < kj_len(requests); k++, first = false)
            put_request(name.p, first ? (int)name.n : 0, c, kj_at(requests, k), out);
    }
    if (fails)
        strbuf_appendf(out, "  %-20s %s\n", "", fails);
}

const struct explain_table explain_claim_table = {
    .plugin = "DynamicResources",
    .list = "claims",
    .heading =
        "Claims:\n"
        "  NODE                 CLAIM                        REQUEST          WANTED DEVICES "
        "ACCEPTED  TAKEN  FREE  HOLDERS\n",
    .put_node = put_node,
};
