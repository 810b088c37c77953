/* parse_memory.c - memory.stat, memory.numa_stat, meminfo. */
#include "base/num.h"
#include "koordlet/kernel/parse.h"
#include "koordlet/kernel/text.h"

/* ---- memory.stat ----------------------------------------------------------------------------- */

enum { STAT_KEYS = 7 };
/* In the order of struct memory_stat. */
static const struct str stat_keys[2][STAT_KEYS] = {
    { TEXT_KEY("total_cache"), TEXT_KEY("total_rss"), TEXT_KEY("total_inactive_file"),
      TEXT_KEY("total_active_file"), TEXT_KEY("total_inactive_anon"), TEXT_KEY("total_active_anon"),
      TEXT_KEY("total_unevictable") },
    { TEXT_KEY("file"), TEXT_KEY("anon"), TEXT_KEY("inactive_file"), TEXT_KEY("active_file"),
      TEXT_KEY("inactive_anon"), TEXT_KEY("active_anon"), TEXT_KEY("unevictable") },
};

int memory_stat_parse(enum cgroup_version v, const char *s, size_t n, struct memory_stat *ret,
                      struct kerr *err)
{
    struct str found[STAT_KEYS];
    int64_t numbers[STAT_KEYS];

    text_values((struct str){ s, n }, stat_keys[v], STAT_KEYS, found);
    for (int i = 0; i < STAT_KEYS; i++)
        if (!found[i].p || i64_parse(found[i].p, found[i].n, &numbers[i]) < 0)
            return kerr_set(err, -EINVAL, "memory.stat: %s %s", stat_keys[v][i].p,
                            found[i].p ? "is not a number" : "is missing");
    *ret = (struct memory_stat){ numbers[0], numbers[1], numbers[2], numbers[3],
                                 numbers[4], numbers[5], numbers[6] };
    return 0;
}

int64_t memory_stat_usage(const struct memory_stat *m)
{
    return i64_add_sat(i64_add_sat(m->inactive_anon, m->active_anon), m->unevictable);
}

int64_t memory_stat_usage_with_page_cache(const struct memory_stat *m)
{
    return i64_add_sat(i64_add_sat(memory_stat_usage(m), m->active_file), m->inactive_file);
}

/* ---- memory.numa_stat ------------------------------------------------------------------------ */

struct numa_list {
    struct numa_pages *items;
    size_t cap, n;
};

/* "N0=60": the node and its number. */
static int numa_field(struct str word, uint64_t *ret_node, uint64_t *ret_value, struct kerr *err)
{
    const char *eq = memchr(word.p, '=', word.n);

    if (!eq || word.p[0] != 'N' || u64_parse(word.p + 1, (size_t)(eq - word.p) - 1, ret_node) < 0 ||
        u64_parse(eq + 1, word.n - (size_t)(eq - word.p) - 1, ret_value) < 0 ||
        *ret_node >= NUMA_NODES_MAX)
        return kerr_set(err, -EINVAL, "memory.numa_stat: %.*s is not a node's number",
                        (int)MIN(word.n, (size_t)64), word.p);
    return 0;
}

/* Every node of one line goes to the list. */
static int numa_line(struct str line, struct numa_list *l, struct kerr *err)
{
    uint64_t node, value;
    struct str word;

    while (text_word(&line, &word)) {
        int r = numa_field(word, &node, &value, err);
        if (r < 0)
            return r;
        if (l->n == l->cap)
            return kerr_set(err, -E2BIG, "memory.numa_stat: too many nodes");
        l->items[l->n++] = (struct numa_pages){ (uint32_t)node, value };
    }
    if (l->n == 0)
        return kerr_set(err, -EINVAL, "memory.numa_stat: there are no nodes");
    return 0;
}

/* The next line, which begins with this, without its first word. */
static int numa_next(struct str *rest, const char *begin, struct str *ret, struct kerr *err)
{
    struct str first;

    if (!text_line(rest, ret) || !text_starts(*ret, begin) || !text_word(ret, &first))
        return kerr_set(err, -EINVAL, "memory.numa_stat: there is no line %s", begin);
    return 0;
}

/* v2 has bytes on two lines, for the same nodes, counted from 0. */
static int numa_add_file(struct str line, struct numa_list *l, struct kerr *err)
{
    uint64_t node, bytes;
    struct str word;
    size_t i = 0;

    for (; text_word(&line, &word); i++) {
        int r = numa_field(word, &node, &bytes, err);
        if (r < 0)
            return r;
        if (i >= l->n || node != i || l->items[i].node != i)
            return kerr_set(err, -EINVAL, "memory.numa_stat: nodes are not counted from 0");
        l->items[i].pages = l->items[i].pages / NUMA_PAGE_BYTES + bytes / NUMA_PAGE_BYTES;
    }
    return i == l->n ? 0 : kerr_set(err, -EINVAL, "memory.numa_stat: the lines differ in nodes");
}

int memory_numa_parse(enum cgroup_version v, const char *s, size_t n, struct numa_pages *ret,
                      size_t cap, size_t *ret_n, struct kerr *err)
{
    struct numa_list l = { ret, cap, 0 };
    struct str rest = { s, n }, line;

    int r = numa_next(&rest, v == CGROUP_V1 ? "total" : "anon", &line, err);
    if (r == 0)
        r = numa_line(line, &l, err);
    if (r == 0 && v == CGROUP_V2)
        r = numa_next(&rest, "file", &line, err);
    if (r == 0 && v == CGROUP_V2)
        r = numa_add_file(line, &l, err);
    if (r == 0)
        *ret_n = l.n;
    return r;
}

/* ---- meminfo --------------------------------------------------------------------------------- */

static uint64_t *meminfo_member(struct meminfo *m, struct str key)
{
    const struct {
        const char *key;
        uint64_t *member;
    } members[] = {
        { "MemTotal:", &m->total },
        { "MemFree:", &m->free },
        { "MemAvailable:", &m->available },
        { "Buffers:", &m->buffers },
        { "Cached:", &m->cached },
        { "Active(file):", &m->active_file },
        { "Inactive(file):", &m->inactive_file },
        { "SReclaimable:", &m->sreclaimable },
        { "HugePages_Total:", &m->huge_pages },
    };
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (str_eqz(key, members[i].key))
            return members[i].member;
    return NULL;
}

int meminfo_parse(const char *s, size_t n, bool of_numa_node, struct meminfo *ret, struct kerr *err)
{
    struct str rest = { s, n }, line, key, value;
    struct meminfo m = { 0 };

    while (text_line(&rest, &line)) {
        if (of_numa_node && !(text_word(&line, &key) && text_word(&line, &key)))
            continue;
        if (!text_word(&line, &key) || !text_word(&line, &value))
            continue;
        uint64_t *member = meminfo_member(&m, key);
        if (member && u64_parse(value.p, value.n, member) < 0)
            return kerr_set(err, -EINVAL, "meminfo: %.*s is not a number",
                            (int)MIN(key.n, (size_t)64), key.p);
    }
    *ret = m;
    return 0;
}

static uint64_t bytes_without(uint64_t total, uint64_t part)
{
    return part > total ? 0 : (total - part) * 1024;
}

uint64_t meminfo_usage(const struct meminfo *m)
{
    return bytes_without(m->total, m->available);
}

uint64_t meminfo_usage_with_page_cache(const struct meminfo *m)
{
    return bytes_without(m->total, m->free);
}

uint64_t meminfo_numa_usage(const struct meminfo *m)
{
    return bytes_without(m->total, m->free + m->active_file + m->inactive_file + m->sreclaimable);
}
