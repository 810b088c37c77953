/* cpus_text.c - what koordctl cpus prints for people. */
#include <inttypes.h>

#include "base/strbuf.h"
#include "ctl/cpus.h"
#include "json/kj.h"

enum { LINE = 96 };

static int64_t number_of(const struct kj_val *v, const char *member)
{
    return kj_i64_or(kj_get(v, member), 0);
}

static const char *text_of(const struct kj_val *v, const char *member)
{
    return kj_str_or(kj_get(v, member), "");
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- a node ---------------------------------------------------------------------------------- */

enum { LABEL_MAX = 8 };

/* a to z, aa, ab and so on; K and S for the kubelet and the system. */
static void label_of(const struct kj_val *holder, size_t i, char ret[LABEL_MAX])
{
    const char *kind = text_of(holder, "kind");
    char turned[LABEL_MAX];
    size_t n = 0, at = 0;

    if (streq(kind, "kubelet") || streq(kind, "system")) {
        ret[at++] = *kind == 'k' ? 'K' : 'S';
    } else {
        for (size_t rest = i + 1; rest > 0 && n < LABEL_MAX - 1; rest = (rest - 1) / 26)
            turned[n++] = (char)('a' + (rest - 1) % 26);
        while (n > 0)
            ret[at++] = turned[--n];
    }
    ret[at] = '\0';
}

struct drawing {
    const struct kj_val *holders;
    int id_width, label_width;
    struct strbuf *out;
    size_t line; /* where the line began */
};

/* CPUs [i, end) of a core, on a line that has room for them. */
static void put_core(struct drawing *d, const struct kj_val *cpus, size_t i, size_t end)
{
    size_t width = (end - i) * (size_t)(d->id_width + d->label_width + 2) + 2;

    if (d->out->len - d->line + width > LINE) {
        strbuf_append(d->out, "\n   ");
        d->line = d->out->len - 3;
    }
    for (size_t k = i; k < end; k++) {
        const struct kj_val *cpu = kj_at(cpus, k), *holder = kj_get(cpu, "holder");
        size_t n = (size_t)kj_i64_or(holder, 0);
        char label[LABEL_MAX] = ".";
        if (holder)
            label_of(kj_at(d->holders, n), n, label);
        strbuf_appendf(d->out, "%s%*" PRId64 " %-*s", k == i ? " [" : " ", d->id_width,
                       number_of(cpu, "id"), d->label_width, label);
    }
    strbuf_append(d->out, "]");
}

static void put_heading(struct drawing *d, const struct kj_val *cpu, const struct kj_val *before)
{
    bool socket = !before || number_of(before, "socket") != number_of(cpu, "socket");

    if (before && !socket && number_of(before, "numaNode") == number_of(cpu, "numaNode"))
        return;
    strbuf_append(d->out, "\n");
    if (socket)
        strbuf_appendf(d->out, "%sSocket %" PRId64 "\n", before ? "\n" : "",
                       number_of(cpu, "socket"));
    strbuf_appendf(d->out, "  NUMA node %" PRId64 "\n   ", number_of(cpu, "numaNode"));
    d->line = d->out->len - 3;
}

static void put_cpus(struct drawing *d, const struct kj_val *cpus)
{
    const struct kj_val *before = NULL;

    for (size_t i = 0, end; i < kj_len(cpus); i = end) {
        const struct kj_val *cpu = kj_at(cpus, i);
        for (end = i + 1; end < kj_len(cpus); end++)
            if (number_of(kj_at(cpus, end), "core") != number_of(cpu, "core"))
                break;
        put_heading(d, cpu, before);
        put_core(d, cpus, i, end);
        before = cpu;
    }
    strbuf_append(d->out, "\n\n");
}

static void put_holders(const struct drawing *d, const char *free_cpus)
{
    for (size_t i = 0; i < kj_len(d->holders); i++) {
        const struct kj_val *h = kj_at(d->holders, i);
        char label[LABEL_MAX];
        label_of(h, i, label);
        strbuf_appendf(d->out, "  %-*s  %s%s%s  %s\n", d->label_width, label, text_of(h, "kind"),
                       *text_of(h, "name") ? " " : "", text_of(h, "name"), text_of(h, "cpus"));
    }
    strbuf_appendf(d->out, "  %-*s  free  %s\n", d->label_width, ".",
                   *free_cpus ? free_cpus : "none");
}

void cpus_node_text(const struct kj_val *answer, struct strbuf *out)
{
    const struct kj_val *cpus = kj_get(answer, "cpus");
    struct drawing d = { .holders = kj_get(answer, "holders"), .id_width = 1, .out = out };
    int64_t sockets = number_of(answer, "sockets"), nodes = number_of(answer, "numaNodes");
    int64_t free_cpus = number_of(answer, "freeCPUs"), whole = number_of(answer, "freeCores");
    int64_t cores = number_of(answer, "cores"), n = (int64_t)kj_len(cpus);

    for (size_t i = 0; i < kj_len(cpus); i++)
        for (int64_t id = number_of(kj_at(cpus, i), "id"), w = 1; id > 0; id /= 10, w++)
            d.id_width = MAX(d.id_width, (int)w);
    d.label_width = kj_len(d.holders) > 26 ? 2 : 1;
    strbuf_appendf(
        out,
        "Node %s: %" PRId64 " CPU%s in %" PRId64 " core%s, %" PRId64 " NUMA node%s, %" PRId64
        " socket%s. Free: %" PRId64 " CPU%s, %" PRId64 " whole core%s.\n",
        text_of(answer, "node"), n, plural(n), cores, plural(cores), nodes, plural(nodes), sockets,
        plural(sockets), free_cpus, plural(free_cpus), whole, plural(whole));
    put_cpus(&d, cpus);
    put_holders(&d, text_of(answer, "free"));
}

/* ---- how many fit ---------------------------------------------------------------------------- */

void cpus_fits_text(const struct kj_val *answer, struct strbuf *out)
{
    const struct kj_val *nodes = kj_get(answer, "nodes");
    int width = 4;

    for (size_t i = 0; i < kj_len(nodes); i++)
        width = MAX(width, (int)MIN(strlen(text_of(kj_at(nodes, i), "name")), (size_t)64));
    strbuf_appendf(out, "%-*s   FITS  LARGEST\n", width, "NODE");
    for (size_t i = 0; i < kj_len(nodes); i++) {
        const struct kj_val *n = kj_at(nodes, i);
        strbuf_appendf(out, "%-*s %6" PRId64 " %8" PRId64 "%s%s\n", width, text_of(n, "name"),
                       number_of(n, "fits"), number_of(n, "largest"),
                       *text_of(n, "why") ? "  " : "", text_of(n, "why"));
    }
    strbuf_appendf(out, "%-*s %6" PRId64 " %8" PRId64 "\n", width, "all", number_of(answer, "fits"),
                   number_of(answer, "largest"));
}
