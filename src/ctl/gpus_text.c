/* gpus_text.c - what koordctl gpus prints for people. */
#include <inttypes.h>

#include "base/qty.h"
#include "base/strbuf.h"
#include "ctl/gpus.h"
#include "json/kj.h"

enum { BAR = 20 };

static int64_t number_of(const struct kj_val *v, const char *member)
{
    return kj_i64_or(kj_get(v, member), 0);
}

static const char *text_of(const struct kj_val *v, const char *member)
{
    return kj_str_or(kj_get(v, member), "");
}

static void put_bytes(int64_t bytes, struct strbuf *out)
{
    char text[QTY_TEXT_MAX + 1];

    text[qty_print(qty_from_i64(bytes >> 20 << 20, QTY_BINARY_SI), text)] = 0;
    strbuf_append(out, text);
}

/* What is in use as #; a card that is not healthy has nothing to give. */
static void put_bar(const struct kj_val *card, struct strbuf *out)
{
    int64_t all = number_of(card, "core"), left = number_of(card, "coreFree");
    int64_t used = all > 0 ? (all - left) * BAR / all : 0;

    strbuf_appendc(out, '[');
    for (int64_t i = 0; i < BAR; i++)
        strbuf_appendc(out, all <= 0 ? 'x' : i < used ? '#' : '.');
    strbuf_appendc(out, ']');
}

static void put_card(const struct kj_val *card, struct strbuf *out)
{
    const struct kj_val *holders = kj_get(card, "holders");

    strbuf_appendf(out, "  %3" PRId64 " ", number_of(card, "minor"));
    put_bar(card, out);
    if (!kj_bool(kj_get(card, "healthy"), false)) {
        strbuf_append(out, "  not healthy");
    } else {
        strbuf_appendf(out, " %3" PRId64 "%% free, ", number_of(card, "coreFree"));
        put_bytes(number_of(card, "memoryFree"), out);
        strbuf_append(out, " of ");
        put_bytes(number_of(card, "memory"), out);
    }
    if (kj_get(card, "numaNode"))
        strbuf_appendf(out, "  NUMA %" PRId64 ", PCIe %s", number_of(card, "numaNode"),
                       text_of(card, "pcie"));
    for (size_t i = 0; i < kj_len(holders); i++)
        strbuf_appendf(out, "%s%s %" PRId64 "%%", i ? ", " : "  ",
                       text_of(kj_at(holders, i), "name"), number_of(kj_at(holders, i), "core"));
    strbuf_appendc(out, '\n');
}

static void put_node(const struct kj_val *node, struct strbuf *out)
{
    const struct kj_val *cards = kj_get(node, "cards");
    const char *model = text_of(node, "model"), *partitions = text_of(node, "partitions");

    strbuf_appendf(out, "Node %s: %zu GPU%s%s%s%s%s\n", text_of(node, "name"), kj_len(cards),
                   kj_len(cards) == 1 ? "" : "s", *model ? ", " : "", model,
                   *partitions ? ", partitions: " : "", partitions);
    for (size_t i = 0; i < kj_len(cards); i++)
        put_card(kj_at(cards, i), out);
}

static void put_requests(const struct kj_val *answer, struct strbuf *out)
{
    const struct kj_val *list = kj_get(answer, "requests");
    int64_t free = number_of(answer, "free");

    strbuf_appendf(out, "\nFree: %" PRId64 "%% of a card in all.\n%-14s %8s  %s\n", free, "REQUEST",
                   "FITS", "TOO FRAGMENTED");
    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *v = kj_at(list, i);
        int64_t cards = number_of(v, "cards"), percent = number_of(v, "percent");
        int64_t lost = free - number_of(v, "usable");
        size_t begin = out->len;
        if (percent < 100)
            strbuf_appendf(out, "%" PRId64 "%%", percent);
        else
            strbuf_appendf(out, "%" PRId64 " card%s", cards, cards == 1 ? "" : "s");
        while (out->len - begin < 14)
            strbuf_appendc(out, ' ');
        strbuf_appendf(out, " %8" PRId64 "  %" PRId64 "%%\n", number_of(v, "fits"),
                       free > 0 ? lost * 100 / free : 0);
    }
}

void gpus_text(const struct kj_val *answer, struct strbuf *out)
{
    const struct kj_val *nodes = kj_get(answer, "nodes");

    if (kj_len(nodes) == 0) {
        strbuf_append(out, "No node has GPUs.\n");
        return;
    }
    for (size_t i = 0; i < kj_len(nodes); i++)
        put_node(kj_at(nodes, i), out);
    put_requests(answer, out);
}
