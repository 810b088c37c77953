/* explain_reservation_text.c - what koordctl explain reservation prints for people. */
#include "base/strbuf.h"
#include "ctl/explain.h"
#include "json/kj.h"

static const char *text_of(const struct kj_val *v, const char *member)
{
    return kj_str_or(kj_get(v, member), "");
}

static void put_head(const struct kj_val *root, struct strbuf *out)
{
    const char *node = text_of(root, "node"), *phase = text_of(root, "phase");

    strbuf_appendf(out, "Reservation %s is %s", text_of(root, "reservation"), phase);
    strbuf_appendf(out, *node ? ", on node %s" : ", without a node%s", node);
    strbuf_appendf(out, " (scheduler %s).\n", text_of(root, "scheduler"));
    if (kj_get(root, "fault"))
        strbuf_appendf(out, "Its object is at fault: %s\n", text_of(root, "fault"));
    if (kj_bool(kj_get(root, "unschedulable"), false))
        strbuf_append(out, "It takes no new owners: spec.unschedulable is true.\n");
}

static void put_waits(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *attempt = kj_get(root, "attempt");

    if (*text_of(root, "node") || kj_get(root, "fault") || kj_get(root, "ended"))
        return;
    if (kj_get(root, "waits"))
        strbuf_appendf(out, "It waits: %s\n", text_of(root, "waits"));
    else
        strbuf_appendf(out, "Nobody has tried it yet: does a scheduler serve %s?\n",
                       text_of(root, "scheduler"));
    if (attempt)
        explain_attempt_text(attempt, out);
}

static void put_ended(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *e = kj_get(root, "ended");
    const char *message = text_of(e, "message"), *reason = text_of(e, "reason");

    if (!e)
        return;
    strbuf_append(out, "It has ended");
    if (*text_of(e, "time"))
        strbuf_appendf(out, " at %s", text_of(e, "time"));
    if (*reason)
        strbuf_appendf(out, ": %s%s%s", reason, *message ? ", " : "", message);
    strbuf_append(out, ". It holds nothing any more.\n");
}

static void put_who_may(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *all = kj_get(root, "mayUse");
    bool once = kj_bool(kj_get(root, "allocateOnce"), true);

    strbuf_appendf(out, "\nMay be used by %s (%s):\n",
                   once ? "one pod, which uses it up" : "any number of pods",
                   text_of(root, "allocatePolicy"));
    for (size_t i = 0; i < kj_len(all); i++)
        strbuf_appendf(out, "  %s\n", kj_str_or(kj_at(all, i), ""));
}

static void put_owners(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *all = kj_get(root, "owners"), *v;
    struct str key;

    if (!all)
        return;
    strbuf_append(out, kj_len(all) ? "\nIs used by:\n" : "\nIs used by nobody.\n");
    for (size_t i = 0; i < kj_len(all); i++) {
        const struct kj_val *o = kj_at(all, i);
        const char *before = "   ";
        strbuf_appendf(out, "  %s/%s", text_of(o, "namespace"), text_of(o, "name"));
        for (struct kj_iter it = kj_iter(kj_get(o, "requests")); kj_next(&it, &key, &v);) {
            strbuf_appendf(out, "%s%.*s %s", before, (int)key.n, key.p, kj_str_or(v, ""));
            before = ", ";
        }
        strbuf_append(out, "\n");
    }
}

static void put_resources(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *all = kj_get(root, "resources");

    if (!kj_len(all) || kj_get(root, "ended"))
        return;
    strbuf_appendf(out, "\n%-32s %12s %12s %12s\n", "RESOURCE", "RESERVED", "USED", "LEFT");
    for (size_t i = 0; i < kj_len(all); i++) {
        const struct kj_val *r = kj_at(all, i);
        strbuf_appendf(out, "%-32s %12s %12s %12s\n", text_of(r, "name"), text_of(r, "reserved"),
                       text_of(r, "used"), text_of(r, "left"));
    }
}

static void put_end(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *e = kj_get(root, "ends");

    if (kj_get(root, "ended"))
        return;
    if (e)
        strbuf_appendf(out, "\nEnds at %s, in %s (%s).\n", text_of(e, "time"), text_of(e, "in"),
                       text_of(e, "field"));
    else
        strbuf_append(out, "\nNever ends by itself.\n");
}

void explain_reservation_text(const struct kj_val *answer, struct strbuf *out)
{
    put_head(answer, out);
    put_waits(answer, out);
    put_ended(answer, out);
    put_who_may(answer, out);
    put_owners(answer, out);
    put_resources(answer, out);
    put_end(answer, out);
}
