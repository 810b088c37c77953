/* huawei.c - Ascend NPUs, by npu-smi. */
#include <ctype.h>
#include <errno.h>

#include "base/num.h"
#include "devicedaemon/vendor.h"
#include "sys/file.h"

enum { VENDOR_ID = 0x19e5 };

/* Its management controllers have the vendor's number too. */
static bool counts(uint16_t product)
{
    return product != 0x1710 && product != 0x1711;
}

/* ---- what is true of all cards --------------------------------------------------------------- */

struct common {
    const char *model, *memory, *cores, *cpus;
};
struct numbers vec_of(int64_t); /* of cards or minors */

/* "Ascend-310P3": the last two words of the first card's line. */
static int ask_model(struct survey *s, const struct vendor *v, struct common *c, struct kerr *err)
{
    struct str text, line = { "", 0 };

    int e = ASK(s, v, &text, err, "info", "-m");
    if (e < 0)
        return e;
    text_line(&text, &line); /* the heading */
    if (!text_line(&text, &line) || line_field(line, -2).n == 0)
        return kerr_set(err, -EINVAL, "npu-smi info -m: no model in its second line");
    struct str name = line_field(line, -2), number = line_field(line, -1);
    c->model = arena_printf(s->a, "%.*s-%.*s", (int)name.n, name.p, (int)number.n, number.p);
    return 0;
}

static int ask_cards(struct survey *s, const struct vendor *v, struct numbers *ret,
                     struct kerr *err)
{
    struct str text;

    int e = ASK(s, v, &text, err, "info", "-l");
    if (e < 0)
        return e;
    for (struct str line; text_line(&text, &line);) {
        int64_t id = str_has(line, "NPU ID") ? field_number(line_field(line, -1), -1) : -1;
        if (id >= 0 && ret->n < CARDS_MAX)
            vec_push(ret, id);
    }
    return ret->n > 0 ? 0 : kerr_set(err, -EINVAL, "npu-smi info -l: no NPU ID");
}

/* Some tools take the question only behind "info", some only without it; the 310P3 knows neither.
 */
static int ask_memory(struct survey *s, const struct vendor *v, int64_t card, struct common *c,
                      struct kerr *err)
{
    static const char not_there[] = "Command or option is not found";
    struct str text;
    int64_t mib;

    int e = ASK(s, v, &text, err, "-t", "memory", "-i", "1");
    if (e == 0 && text_sum(text, "DDR Capacity", "HBM Capacity", &mib) < 0)
        e = kerr_set(err, -EINVAL, "npu-smi -t memory: no capacity");
    bool unknown = str_has(text, not_there);
    if (e < 0) {
        struct kerr second = { 0 };
        const char *id = arena_printf(s->a, "%" PRId64, card);
        if (ASK(s, v, &text, &second, "info", "-t", "memory", "-i", id) == 0 &&
            text_sum(text, "DDR Capacity", "HBM Capacity", &mib) == 0)
            e = 0;
    }
    if (e < 0 && !unknown)
        return e;
    c->memory = e < 0 ? "21527Mi" : arena_printf(s->a, "%" PRId64 "Mi", mib);
    return 0;
}

static int ask_cores(struct survey *s, const struct vendor *v, struct common *c, struct kerr *err)
{
    struct str text;
    int64_t n = 8;

    if (!streq(c->model, "Ascend-310P3")) {
        int e = ASK(s, v, &text, err, "info", "-t", "common", "-i", "0");
        if (e < 0)
            return e;
        if (text_sum(text, "Aicore Count", NULL, &n) < 0)
            return kerr_set(err, -EINVAL, "npu-smi info -t common: no Aicore Count");
    }
    c->cores = arena_printf(s->a, "%" PRId64, n);
    return 0;
}

static int ask_cpus(struct survey *s, const struct vendor *v, int64_t card, struct common *c,
                    struct kerr *err)
{
    static const struct {
        const char *model;
        int64_t cpus;
    } known[] = { { "910B", 0 }, { "910B2", 6 }, { "910B3", 7 }, { "910B4", 7 } };
    const char *dash = strrchr(c->model, '-');
    struct str text;
    int64_t n;

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (dash && streq(dash + 1, known[i].model)) {
            c->cpus = arena_printf(s->a, "%" PRId64, known[i].cpus);
            return 0;
        }
    const char *id = arena_printf(s->a, "%" PRId64, card);
    int e = ASK(s, v, &text, err, "info", "-t", "cpu-num-cfg", "-i", id);
    if (e < 0)
        return e;
    if (text_sum(text, "AI", NULL, &n) < 0)
        return kerr_set(err, -EINVAL, "npu-smi info -t cpu-num-cfg: no AI CPUs");
    c->cpus = arena_printf(s->a, "%" PRId64, n);
    return 0;
}

/* ---- minors ---------------------------------------------------------------------------------- */

static int look_at_file(int dirfd, const char *name, unsigned char type, void *arg,
                        struct kerr *err)
{
    static const char prefix[] = "davinci";
    struct numbers *minors = arg;

    (void)dirfd, (void)type, (void)err;
    if (!str_starts(name, prefix) || !isdigit((unsigned char)name[sizeof prefix - 1]))
        return 0; /* davinci_manager */
    int64_t n = field_number(str_of(name + sizeof prefix - 1), -1);
    if (n >= 0 && minors->n < CARDS_MAX)
        vec_push(minors, n);
    return 0;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* ---- one card -------------------------------------------------------------------------------- */

static int look_at_card(struct survey *s, const struct vendor *v, const struct common *common,
                        int64_t id, int64_t minor, struct kerr *err)
{
    const char *number = arena_printf(s->a, "%" PRId64, id);
    struct str text;

    int e = ASK(s, v, &text, err, "info", "-t", "board", "-i", number);
    if (e < 0)
        return e;
    struct card *c = survey_card(s, v->name);
    if (!c)
        return kerr_set(err, -E2BIG, "more than %d cards", CARDS_MAX);
    c->model = common->model;
    c->minor = arena_printf(s->a, "%" PRId64, minor);
    c->uuid = arena_printf(s->a, "npu-%s-%s", number, c->minor);
    card_resource(c, "koordinator.sh/gpu-memory", common->memory);
    card_resource(c, "huawei.com/npu-cpu", common->cpus);
    card_resource(c, "huawei.com/npu-core", common->cores);
    card_resource(c, "huawei.com/npu-dvpp", "100");
    card_place(s, c, line_field(text_line_with(text, "PCIe Bus Info"), -1));
    int64_t faults = field_number(line_field(text_line_with(text, "Chip Fault"), -1), 0);
    if (faults > 0) {
        c->healthy = false;
        c->err_code = "chip error";
        c->err_message = arena_printf(s->a, "chip faults of NPU %s: %" PRId64, number, faults);
    }
    return 0;
}

static int look(struct survey *s, const struct vendor *v, struct kerr *err)
{
    struct common common = { 0 };
    struct numbers ids = { 0 }, minors = { 0 };

    int e = ask_model(s, v, &common, err);
    if (e == 0)
        e = ask_cards(s, v, &ids, err);
    if (e == 0)
        e = ask_memory(s, v, ids.items[0], &common, err);
    if (e == 0)
        e = ask_cores(s, v, &common, err);
    if (e == 0)
        e = ask_cpus(s, v, ids.items[0], &common, err);
    if (e == 0)
        e = dir_each(s->root_fd, "dev", look_at_file, &minors, err);
    if (e == 0 && minors.n > 0)
        qsort(minors.items, minors.n, sizeof minors.items[0], by_number);
    /* A file for each card, in the same order. */
    for (size_t i = 0; e == 0 && i < MIN(ids.n, minors.n); i++) {
        struct kerr why = { 0 };
        if (look_at_card(s, v, &common, ids.items[i], minors.items[i], &why) < 0)
            survey_leave_out(s, v, arena_printf(s->a, "%" PRId64, minors.items[i]), &why);
    }
    if (e == 0 && ids.n != minors.n) {
        struct kerr why = { 0 };
        kerr_set(&why, -EINVAL, "npu-smi tells of %zu cards, and /dev has %zu davinci files",
                 (size_t)ids.n, (size_t)minors.n);
        survey_leave_out(s, v, "those without a partner", &why);
    }
    vec_fini(&ids);
    vec_fini(&minors);
    return e;
}

const struct vendor vendor_huawei = { "huawei", "npu-smi", VENDOR_ID, counts, look };
