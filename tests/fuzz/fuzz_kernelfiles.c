/* fuzz_kernelfiles.c - files of cgroups, /proc and resctrl.
 *
 * Byte 0 picks the file, the rest is its text. A refusal says why and writes nothing; shares are
 * between 0 and 1, and what is printed is read back.
 */
#include <math.h>

#include "koordlet/facts/resctrl.h"
#include "koordlet/kernel/parse.h"
#include "koordlet/qos/resctrl/resctrl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The result as it was before, to see that a refusal left it alone. */
enum { UNTOUCHED = 0xa5 };
#define FILL(x) memset(&(x), UNTOUCHED, sizeof(x))

static bool is_untouched(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((const unsigned char *)p)[i] != UNTOUCHED)
            return false;
    return true;
}

/* true: it was taken. */
static bool taken(int r, const struct kerr *err, const void *result, size_t n)
{
    assert(r == 0 || (r < 0 && err->code == r && err->text[0]));
    assert(r == 0 || is_untouched(result, n));
    return r == 0;
}

static void check_cpu_max(const char *s, size_t n)
{
    struct kerr err = { 0 };
    int64_t v;

    FILL(v);
    taken(cpu_max_quota(s, n, &v, &err), &err, &v, sizeof v);
    FILL(v);
    taken(cpu_max_period(s, n, &v, &err), &err, &v, sizeof v);
}

static void check_cpu_stat(enum cgroup_version v, const char *s, size_t n)
{
    static const struct cpu_stat zero;
    struct cpu_stat st, both;
    struct kerr err = { 0 };
    uint64_t ns, ns_both;
    bool has_stat;

    FILL(st);
    bool good = taken(cpu_stat_parse(v, s, n, &st, &err), &err, &st, sizeof st);
    if (good) {
        double share = cpu_throttled_ratio(&zero, &st);
        assert(share == share);
        assert(cpu_throttled_ratio(&st, &st) == 0);
    }
    FILL(ns);
    bool good_usage = taken(cpu_usage_parse(v, s, n, &ns, &err), &err, &ns, sizeof ns);
    if (v == CGROUP_V1)
        return;
    FILL(ns_both);
    if (!taken(cpu_both_parse(s, n, &ns_both, &both, &has_stat, &err), &err, &ns_both,
               sizeof ns_both))
        return;
    assert(good_usage && ns == ns_both);
    assert(!has_stat || (good && memcmp(&st, &both, sizeof st) == 0));
}

static void check_proc_stat(const char *s, size_t n)
{
    struct cpu_ticks cpus[16];
    struct kerr err = { 0 };
    uint64_t total;
    size_t count;

    FILL(total);
    taken(proc_stat_total(s, n, &total, &err), &err, &total, sizeof total);
    FILL(count);
    if (taken(proc_stat_cpus(s, n, cpus, ARRAY_LEN(cpus), &count, &err), &err, &count,
              sizeof count))
        assert(count > 0 && count <= ARRAY_LEN(cpus));
}

static void check_memory(enum cgroup_version v, const char *s, size_t n)
{
    struct numa_pages pages[8];
    struct memory_stat st;
    struct kerr err = { 0 };
    size_t count;

    FILL(st);
    if (taken(memory_stat_parse(v, s, n, &st, &err), &err, &st, sizeof st)) {
        memory_stat_usage(&st);
        memory_stat_usage_with_page_cache(&st);
    }
    FILL(count);
    if (!taken(memory_numa_parse(v, s, n, pages, ARRAY_LEN(pages), &count, &err), &err, &count,
               sizeof count))
        return;
    assert(count <= ARRAY_LEN(pages));
    for (size_t i = 0; i < count; i++)
        assert(pages[i].node < NUMA_NODES_MAX);
}

static void check_meminfo(bool of_node, const char *s, size_t n)
{
    struct meminfo m;
    struct kerr err = { 0 };

    FILL(m);
    if (!taken(meminfo_parse(s, n, of_node, &m, &err), &err, &m, sizeof m))
        return;
    meminfo_usage(&m);
    meminfo_usage_with_page_cache(&m);
    meminfo_numa_usage(&m);
}

static bool is_share(const struct psi_line *l)
{
    return isfinite(l->avg10) && isfinite(l->avg60) && isfinite(l->avg300);
}

static void check_psi(const char *s, size_t n)
{
    struct psi p;
    struct kerr err = { 0 };

    FILL(p);
    if (taken(psi_parse(s, n, &p, &err), &err, &p, sizeof p))
        assert(is_share(&p.some) && (!p.full_supported || is_share(&p.full)));
}

/* The root's schemata, perhaps with two lines for L3. */
static void check_layout(const char *s, size_t n)
{
    static struct resctrl_layout l;
    struct kerr err = { 0 };

    if (resctrl_layout_parse((struct str){ s, n }, &l, &err) < 0) {
        assert(err.code < 0 && err.text[0]);
        return;
    }
    assert(l.nl3 <= RESCTRL_CACHES_MAX && l.nmb <= RESCTRL_CACHES_MAX && l.nl3 + l.nmb > 0);
    for (uint32_t i = 1; i < l.nl3; i++)
        assert(l.l3[i - 1] < l.l3[i]);
    for (uint32_t i = 1; i < l.nmb; i++)
        assert(l.mb[i - 1] < l.mb[i]);
}

static void check_schemata(const char *s, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    static struct schemata first, second;
    struct kerr err = { 0 };

    if (schemata_parse(s, n, -1, &first, &err) < 0) {
        assert(err.code < 0 && err.text[0]);
        return;
    }
    assert(first.nl3 <= RESCTRL_CACHES_MAX && first.nmb <= RESCTRL_CACHES_MAX);
    schemata_l3_format(first.l3, first.nl3, &text);
    schemata_mb_format(first.mb, first.nmb, &text);
    int r = schemata_parse(text.data, text.len, -1, &second, &err);
    assert(r == 0 && second.nl3 == first.nl3 && second.nmb == first.nmb);
    for (uint32_t i = 0; i < first.nl3; i++)
        assert(first.l3[i].cache == second.l3[i].cache && first.l3[i].value == second.l3[i].value);
    for (uint32_t i = 0; i < first.nmb; i++)
        assert(first.mb[i].cache == second.mb[i].cache && first.mb[i].value == second.mb[i].value);
    (void)r;
}

static void check_cbm(const char *s, size_t n)
{
    struct kerr err = { 0 };
    uint64_t cbm, mask;

    FILL(cbm);
    if (!taken(resctrl_cbm_parse(s, n, &cbm, &err), &err, &cbm, sizeof cbm))
        return;
    for (int64_t end = 0; end <= 100; end += 10)
        if (resctrl_l3_mask(cbm, 0, end, &mask, &err) == 0)
            assert((mask != 0 || cbm == 0) && (mask & ~cbm) == 0);
        else
            assert(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const char *s = (const char *)data + 1;
    size_t n = size - 1;

    switch (data[0] % 10) {
    case 0: check_cpu_max(s, n); break;
    case 1: check_cpu_stat(CGROUP_V1, s, n); break;
    case 2: check_cpu_stat(CGROUP_V2, s, n); break;
    case 3: check_proc_stat(s, n); break;
    case 4: check_memory(CGROUP_V1, s, n); break;
    case 5: check_memory(CGROUP_V2, s, n); break;
    case 6: check_meminfo(data[0] / 10 % 2, s, n); break;
    case 7: check_psi(s, n); break;
    case 8:
        check_schemata(s, n);
        check_layout(s, n);
        break;
    default: check_cbm(s, n); break;
    }
    return 0;
}
