/* run_koordlet_resctrl.c - shares of caches and bandwidth, as texts for the kernel. */
#include <stdio.h>

#include "koordlet/facts/resctrl.h"
#include "run_koordlet.h"

static size_t cache_ids(const struct kj_val *in, struct resctrl_item *ret)
{
    const struct kj_val *ids = kj_get(in, "cacheIds");
    size_t n = MIN(kj_len(ids), (size_t)RESCTRL_CACHES_MAX);

    for (size_t i = 0; i < n; i++)
        ret[i] = (struct resctrl_item){ (int32_t)kj_i64_or(kj_at(ids, i), -1), 0 };
    return n;
}

static void write_line(struct kjw *w, const char *key, const struct resctrl_item *items, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf line = STRBUF_INIT;

    if (streq(key, "l3"))
        schemata_l3_format(items, n, &line);
    else
        schemata_mb_format(items, n, &line);
    kjw_str(w, key, strbuf_str(&line));
}

static int mask_of(const struct kj_val *in, int64_t start, int64_t end, uint64_t *ret,
                   struct kerr *err)
{
    const char *text = kj_str_or(kj_get(in, "cbmMask"), "");
    uint64_t cbm;
    int r = resctrl_cbm_parse(text, strlen(text), &cbm, err);
    return r < 0 ? r : resctrl_l3_mask(cbm, start, end, ret, err);
}

static int bandwidth_of(const struct kj_val *in, const struct kj_val *percent, uint64_t *ret)
{
    return resctrl_mb_value(kj_str_or(kj_get(in, "vendor"), ""), kj_i64_or(percent, 0), ret, NULL);
}

static void run_group(const struct kj_val *in, struct kjw *w)
{
    struct resctrl_item items[RESCTRL_CACHES_MAX];
    const struct kj_val *start = kj_get(in, "catRangeStartPercent");
    const struct kj_val *end = kj_get(in, "catRangeEndPercent"), *mba = kj_get(in, "mbaPercent");
    size_t n = cache_ids(in, items);
    struct kerr err = { 0 };
    uint64_t value;

    if (mask_of(in, kj_i64_or(start, -1), kj_i64_or(end, -1), &value, &err) < 0) {
        kjw_str(w, "l3Error", err.text);
    } else {
        for (size_t i = 0; i < n; i++)
            items[i].value = value;
        write_line(w, "l3", items, n);
    }
    if (!mba || bandwidth_of(in, mba, &value) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        items[i].value = value;
    write_line(w, "mb", items, n);
}

static void write_values(struct kjw *w, const char *key, const struct resctrl_item *items, size_t n,
                         bool hex)
{
    kjw_obj(w, key);
    for (size_t i = 0; i < n; i++) {
        char id[16], value[32];
        snprintf(id, sizeof id, "%d", items[i].cache);
        snprintf(value, sizeof value, hex ? "%llx" : "%llu", (unsigned long long)items[i].value);
        kjw_str(w, id, value);
    }
    kjw_end(w);
}

static void run_parse(const struct kj_val *in, struct arena *a, struct kjw *w)
{
    enum { CACHES = 2 }; /* of the machine the vectors are about */
    const char *text = kj_str_or(kj_get(in, "content"), "");
    struct schemata *s = arena_new0(a, struct schemata);
    struct kerr err = { 0 };

    if (schemata_parse(text, strlen(text), CACHES, s, &err) < 0) {
        kjw_bool(w, "error", true);
        return;
    }
    write_values(w, "l3", s->l3, s->nl3, true);
    write_values(w, "mb", s->mb, s->nmb, false);
}

static void run_pod(const struct kj_val *in, struct kjw *w)
{
    struct resctrl_item l3[RESCTRL_CACHES_MAX], mb[RESCTRL_CACHES_MAX];
    const char *text = kj_str_or(kj_get(in, "cbmMask"), "");
    size_t n = cache_ids(in, l3);
    uint64_t cbm = 0;

    memcpy(mb, l3, n * sizeof *l3);
    resctrl_cbm_parse(text, strlen(text), &cbm, NULL);
    resctrl_pod_values(kj_get(in, "config"), cbm, kj_str_or(kj_get(in, "vendor"), ""), l3, mb, n);
    write_line(w, "l3", l3, n);
    write_line(w, "mb", mb, n);
}

int run_resctrl(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    const char *op = kj_str_or(kj_get(in, "op"), "");
    struct kjw w = kjw_to(got);

    kjw_obj(&w, NULL);
    if (streq(op, "group"))
        run_group(in, &w);
    else if (streq(op, "parse"))
        run_parse(in, a, &w);
    else if (streq(op, "pod"))
        run_pod(in, &w);
    else
        return kerr_set(err, -EINVAL, "there is no op '%s'", op);
    kjw_end(&w);
    return 0;
}
