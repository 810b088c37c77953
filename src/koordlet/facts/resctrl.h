/* resctrl.h - shares of the last-level cache and of memory bandwidth: texts, masks, counters.
 *
 * Texts and masks are pure; the readers use the host's sys_fs root (koordlet-metrics 2.7).
 */
#ifndef KOORD_KOORDLET_FACTS_RESCTRL_H
#define KOORD_KOORDLET_FACTS_RESCTRL_H
#include "base/strbuf.h"
#include "koordlet/kernel/host.h"

struct kj_val;

enum { RESCTRL_CACHES_MAX = 256 };

struct resctrl_item {
    int32_t cache;
    uint64_t value;
};
struct schemata { /* by cache */
    struct resctrl_item l3[RESCTRL_CACHES_MAX], mb[RESCTRL_CACHES_MAX];
    uint32_t nl3, nmb;
};
/* Lines other than L3 and MB and items that are no "number=value" do not count; of a cache that
 * repeats, the last. caches >= 0: each line that is there must have that many. -EINVAL: a value is
 * no number, or a mask of more than 32 bits; -E2BIG. */
int schemata_parse(const char *s, size_t n, int caches, struct schemata *ret, struct kerr *err);
/* "L3:0=fff;8=fff;\n", "MB:0=100;8=100;\n": by cache, in whatever order they come. */
void schemata_l3_format(const struct resctrl_item *items, size_t n, struct strbuf *out);
void schemata_mb_format(const struct resctrl_item *items, size_t n, struct strbuf *out);

/* info/L3/cbm_mask: hexadecimal without a prefix, at most 32 bits; blanks around it are fine. */
int resctrl_cbm_parse(const char *s, size_t n, uint64_t *ret, struct kerr *err);
/* The ways of the cache between two percentages. -EINVAL with upstream's words. */
int resctrl_l3_mask(uint64_t cbm, int64_t start_percent, int64_t end_percent, uint64_t *ret,
                    struct kerr *err);
/* What to write for a percentage of the bandwidth: Intel takes steps of 10 %, AMD units of 1/8
 * GB/s. -EINVAL outside of 1 to 100. */
int resctrl_mb_value(const char *vendor, int64_t percent, uint64_t *ret, struct kerr *err);

/* What a pod's annotation asks for, cache by cache: the setting for all, or the cache's own when
 * that is a valid one; 0: neither. l3 and mb come with the ids of the caches. */
void resctrl_pod_values(const struct kj_val *config, uint64_t cbm, const char *vendor,
                        struct resctrl_item *l3, struct resctrl_item *mb, size_t n);

/* Mounted, and what the schemata of the root has is above 0: masks, bandwidths, or both. A CPU may
 * share only one of the two. */
int resctrl_root_read(const struct host *h, struct schemata *ret, struct kerr *err);

enum resctrl_counter { RESCTRL_LLC_OCCUPANCY, RESCTRL_MBM_LOCAL, RESCTRL_MBM_TOTAL };
enum { RESCTRL_COUNTERS = RESCTRL_MBM_TOTAL + 1 };
extern const char *const resctrl_counter_files[RESCTRL_COUNTERS]; /* "llc_occupancy" ... */
struct resctrl_usage {
    int32_t cache;
    uint64_t bytes[RESCTRL_COUNTERS];
    bool known[RESCTRL_COUNTERS]; /* the kernel says "Unavailable" while it has no number */
};
/* Of a group ("": the root), one a cache, at most cap. -ENOENT: there is no such group. */
int resctrl_usage_read(const struct host *h, const char *group, struct resctrl_usage *ret,
                       size_t cap, size_t *ret_n, struct kerr *err);
#endif
