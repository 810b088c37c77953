/* resctrl.c - schemata, masks and monitoring data of resctrl. */
#include "koordlet/facts/resctrl.h"

#include <dirent.h>
#include <stdio.h>

#include "base/num.h"
#include "koordlet/kernel/sysfs.h"
#include "koordlet/kernel/text.h"
#include "sys/file.h"
#include "json/kj.h"

enum { AMD_UNITS = 160, AMD_UNLIMITED = 2048 };

const char *const resctrl_counter_files[RESCTRL_COUNTERS] = { "llc_occupancy", "mbm_local_bytes",
                                                              "mbm_total_bytes" };

/* ---- texts ----------------------------------------------------------------------------------- */

/* A mask of ways: the kernel has 32 bits for one. */
static int hex_parse(struct str s, uint64_t *ret)
{
    uint64_t v = 0;

    if (s.n == 0)
        return -EINVAL;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0 || v > UINT32_MAX >> 4)
            return -EINVAL;
        v = v << 4 | (uint64_t)digit;
    }
    *ret = v;
    return 0;
}

/* Up to the separator, which is skipped. */
static struct str part_next(struct str *rest, char separator)
{
    const char *end = memchr(rest->p, separator, rest->n);
    struct str part = { rest->p, end ? (size_t)(end - rest->p) : rest->n };
    size_t used = part.n + (end != NULL);

    *rest = (struct str){ rest->p + used, rest->n - used };
    return text_trim(part);
}

/* "0=fff": the cache, and the text of its value. false: it is no such pair. */
static bool pair_parse(struct str item, int32_t *ret_cache, struct str *ret_value)
{
    if (!memchr(item.p, '=', item.n))
        return false;
    struct str id = part_next(&item, '=');
    int64_t cache;
    if (memchr(item.p, '=', item.n) || i64_parse(id.p, id.n, &cache) < 0 || cache < 0 ||
        cache > INT32_MAX)
        return false;
    *ret_cache = (int32_t)cache;
    *ret_value = text_trim(item);
    return true;
}

/* Keeps them in the order of the caches. false: there is no room. */
static bool item_put(struct resctrl_item *items, uint32_t *n, struct resctrl_item item)
{
    uint32_t at = *n;

    while (at > 0 && items[at - 1].cache > item.cache)
        at--;
    if (at > 0 && items[at - 1].cache == item.cache) {
        items[at - 1] = item;
        return true;
    }
    if (*n == RESCTRL_CACHES_MAX)
        return false;
    memmove(&items[at + 1], &items[at], (*n - at) * sizeof *items);
    items[at] = item;
    ++*n;
    return true;
}

static int line_parse(struct str line, bool hex, int caches, struct resctrl_item *ret,
                      uint32_t *ret_n, struct kerr *err)
{
    const char *name = hex ? "L3" : "MB";
    uint32_t n = 0;

    while (line.n > 0) {
        struct str item = part_next(&line, ';'), text;
        int32_t cache;
        uint64_t value;
        if (!pair_parse(item, &cache, &text))
            continue;
        if ((hex ? hex_parse(text, &value) : u64_parse(text.p, text.n, &value)) < 0)
            return kerr_set(err, -EINVAL, "schemata: %s has the item '%.*s'", name,
                            (int)MIN(item.n, (size_t)64), item.p);
        if (!item_put(ret, &n, (struct resctrl_item){ cache, value }))
            return kerr_set(err, -E2BIG, "schemata: %s has more than %d caches", name,
                            RESCTRL_CACHES_MAX);
    }
    if (caches >= 0 && n != (uint32_t)caches)
        return kerr_set(err, -EINVAL, "schemata: %s has %u caches, not %d", name, n, caches);
    *ret_n = n;
    return 0;
}

int schemata_parse(const char *s, size_t n, int caches, struct schemata *ret, struct kerr *err)
{
    struct str rest = { s, n }, line;
    int r = 0;

    ret->nl3 = ret->nmb = 0;
    while (r == 0 && text_line(&rest, &line)) {
        struct str name = part_next(&line, ':');
        if (memchr(line.p, ':', line.n))
            continue;
        if (str_eqz(name, "L3"))
            r = line_parse(line, true, caches, ret->l3, &ret->nl3, err);
        else if (str_eqz(name, "MB"))
            r = line_parse(line, false, caches, ret->mb, &ret->nmb, err);
    }
    return r;
}

/* The one with the smallest cache above the given one; NULL: none. */
static const struct resctrl_item *item_after(const struct resctrl_item *items, size_t n,
                                             int64_t cache)
{
    const struct resctrl_item *next = NULL;

    for (size_t i = 0; i < n; i++)
        if (items[i].cache > cache && (!next || items[i].cache < next->cache))
            next = &items[i];
    return next;
}

static void items_format(const char *name, bool hex, const struct resctrl_item *items, size_t n,
                         struct strbuf *out)
{
    const struct resctrl_item *item = item_after(items, n, -1);

    strbuf_appendf(out, "%s:", name);
    for (; item; item = item_after(items, n, item->cache))
        strbuf_appendf(out, hex ? "%d=%llx;" : "%d=%llu;", item->cache,
                       (unsigned long long)item->value);
    strbuf_appendc(out, '\n');
}

void schemata_l3_format(const struct resctrl_item *items, size_t n, struct strbuf *out)
{
    items_format("L3", true, items, n, out);
}

void schemata_mb_format(const struct resctrl_item *items, size_t n, struct strbuf *out)
{
    items_format("MB", false, items, n, out);
}

/* ---- numbers --------------------------------------------------------------------------------- */

int resctrl_cbm_parse(const char *s, size_t n, uint64_t *ret, struct kerr *err)
{
    struct str text = text_trim((struct str){ s, n });

    if (hex_parse(text, ret) < 0)
        return kerr_set(err, -EINVAL, "invalid cbm");
    return 0;
}

static int64_t ceil_percent(int64_t of, int64_t percent)
{
    return (of * percent + 99) / 100;
}

/* The lowest n bits; n may be 64. */
static uint64_t low_bits(int64_t n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

int resctrl_l3_mask(uint64_t cbm, int64_t start_percent, int64_t end_percent, uint64_t *ret,
                    struct kerr *err)
{
    if ((cbm & (cbm + 1)) != 0)
        return kerr_set(err, -EINVAL, "illegal cbm %llu", (unsigned long long)cbm);
    if (start_percent < 0 || end_percent > 100 || end_percent <= start_percent)
        return kerr_set(err, -EINVAL, "illegal l3 cat percent: start %lld, end %lld",
                        (long long)start_percent, (long long)end_percent);
    int64_t ways = cbm ? 64 - __builtin_clzll(cbm) : 0;
    int64_t from = ceil_percent(ways, start_percent), to = ceil_percent(ways, end_percent);
    *ret = low_bits(to) & ~low_bits(from);
    return 0;
}

int resctrl_mb_value(const char *vendor, int64_t percent, uint64_t *ret, struct kerr *err)
{
    if (percent <= 0 || percent > 100)
        return kerr_set(err, -EINVAL, "illegal mba percent %lld", (long long)percent);
    if (!streq(vendor, "AuthenticAMD"))
        *ret = (uint64_t)((percent + 9) / 10 * 10);
    else
        *ret = (uint64_t)(percent == 100 ? AMD_UNLIMITED : AMD_UNITS * percent / 100);
    return 0;
}

static void mask_set(const struct kj_val *setting, uint64_t cbm, struct resctrl_item *item)
{
    const struct kj_val *range = kj_get(setting, "range");
    int64_t start, end;

    if (kj_i64(kj_at(range, 0), &start) == 0 && kj_i64(kj_at(range, 1), &end) == 0)
        resctrl_l3_mask(cbm, start, end, &item->value, NULL);
}

static void bandwidth_set(const struct kj_val *setting, const char *vendor,
                          struct resctrl_item *item)
{
    int64_t percent;

    if (kj_i64(kj_get(setting, "percent"), &percent) == 0)
        resctrl_mb_value(vendor, percent, &item->value, NULL);
}

/* The setting of one cache only; of several for the same, the last. */
static const struct kj_val *own_setting(const struct kj_val *of, int32_t cache)
{
    const struct kj_val *each = kj_get(of, "schemataPerCache"), *found = NULL;

    for (size_t i = 0; i < kj_len(each); i++)
        if (kj_i64_or(kj_get(kj_at(each, i), "cacheID"), 0) == cache)
            found = kj_at(each, i);
    return found;
}

void resctrl_pod_values(const struct kj_val *config, uint64_t cbm, const char *vendor,
                        struct resctrl_item *l3, struct resctrl_item *mb, size_t n)
{
    const struct kj_val *cache = kj_get(config, "llc"), *bandwidth = kj_get(config, "mb");

    for (size_t i = 0; i < n; i++) {
        l3[i].value = mb[i].value = 0;
        mask_set(kj_get(cache, "schemata"), cbm, &l3[i]);
        mask_set(own_setting(cache, l3[i].cache), cbm, &l3[i]);
        bandwidth_set(kj_get(bandwidth, "schemata"), vendor, &mb[i]);
        bandwidth_set(own_setting(bandwidth, mb[i].cache), vendor, &mb[i]);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool all_above_zero(const struct resctrl_item *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (items[i].value == 0)
            return false;
    return true;
}

int resctrl_root_read(const struct host *h, struct schemata *ret, struct kerr *err)
{
    struct str text;
    int r = sysfs_text(h, h->sys_fs_fd, &text, "resctrl/schemata");

    if (r < 0)
        return kerr_set(err, r, "read %sresctrl/schemata: %s", h->roots.sys_fs, strerror(-r));
    r = schemata_parse(text.p, text.n, -1, ret, err);
    if (r < 0)
        return r;
    if (ret->nl3 + ret->nmb == 0)
        return kerr_set(err, -ENODATA, "%sresctrl/schemata has neither L3 masks nor MB values",
                        h->roots.sys_fs);
    if (!all_above_zero(ret->l3, ret->nl3) || !all_above_zero(ret->mb, ret->nmb))
        return kerr_set(err, -ENODATA, "%sresctrl/schemata has an L3 mask or MB value of 0",
                        h->roots.sys_fs);
    return 0;
}

struct usage_walk {
    const struct host *h;
    const char *group;
    struct resctrl_usage *ret;
    size_t cap, n;
};

static int domain_read(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    struct usage_walk *w = arg;
    int32_t cache = sysfs_number(name, "mon_L3_");
    struct str text;

    (void)dirfd, (void)type, (void)err;
    if (cache < 0 || w->n == w->cap)
        return 0;
    struct resctrl_usage *u = &w->ret[w->n++];
    *u = (struct resctrl_usage){ .cache = cache };
    for (int i = 0; i < RESCTRL_COUNTERS; i++)
        u->known[i] = sysfs_text(w->h, w->h->sys_fs_fd, &text, "resctrl/%s/mon_data/%s/%s",
                                 w->group, name, resctrl_counter_files[i]) == 0 &&
                      u64_parse(text.p, text.n, &u->bytes[i]) == 0;
    return 0;
}

int resctrl_usage_read(const struct host *h, const char *group, struct resctrl_usage *ret,
                       size_t cap, size_t *ret_n, struct kerr *err)
{
    struct usage_walk w = { h, *group ? group : ".", ret, cap, 0 };
    char dir[256];

    if (h->sys_fs_fd < 0)
        return kerr_set(err, -ENOENT, "there is no %s", h->roots.sys_fs);
    snprintf(dir, sizeof dir, "resctrl/%s/mon_data", w.group);
    int r = dir_each(h->sys_fs_fd, dir, domain_read, &w, err);
    if (r < 0)
        return r;
    *ret_n = w.n;
    return 0;
}
