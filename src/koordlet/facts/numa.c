/* numa.c - NUMA nodes and their memory. */
#include "base/num.h"
#include "base/vec.h"
#include "koordlet/facts/cpuinfo.h"
#include "koordlet/kernel/parse.h"
#include "koordlet/kernel/sysfs.h"
#include "sys/file.h"

static const char root[] = "bus/node/devices";

struct reader {
    const struct host *h;
    bool huge_pages;
    struct cpuset initiators; /* nodes that are devices */
    struct vec_of(struct numa_info_node) nodes;
    int32_t max;
};

static uint64_t huge_pages(const struct reader *r, const char *node, unsigned kb)
{
    int64_t v;
    int got = sysfs_i64(r->h, r->h->sys_fd, &v, "%s/%s/hugepages/hugepages-%ukB/nr_hugepages", root,
                        node, kb);
    return got < 0 || v < 0 ? 0 : (uint64_t)v;
}

static int node_read(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    struct reader *r = arg;
    struct numa_info_node node = { .id = sysfs_number(name, "node") };
    struct meminfo memory;
    struct str text;

    (void)dirfd, (void)type, (void)err;
    if (node.id < 0 || cpuset_has(&r->initiators, (unsigned)node.id))
        return 0;
    if (sysfs_text(r->h, r->h->sys_fd, &text, "%s/%s/meminfo", root, name) < 0 ||
        meminfo_parse(text.p, text.n, true, &memory, NULL) < 0)
        return 0;
    node.mem_total_kb = memory.total;
    if (r->huge_pages) {
        node.huge_1g = huge_pages(r, name, 1048576);
        node.huge_2m = huge_pages(r, name, 2048);
    }
    r->max = MAX(r->max, node.id);
    vec_push(&r->nodes, node);
    return 0;
}

static int node_cmp(const void *a, const void *b)
{
    const struct numa_info_node *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

int numa_info_read(const struct host *h, bool with_huge_pages, struct numa_info **ret,
                   struct kerr *err)
{
    struct reader r = { .h = h, .huge_pages = with_huge_pages };

    if (h->sys_fd < 0)
        return kerr_set(err, -ENOENT, "there is no %s (--sys-root-dir)", h->roots.sys);
    if (sysfs_list(h, h->sys_fd, &r.initiators, "devices/system/node/has_generic_initiator") < 0)
        r.initiators = (struct cpuset){ 0 };
    int code = dir_each(h->sys_fd, root, node_read, &r, err);
    if (code < 0) {
        vec_fini(&r.nodes);
        return err ? kerr_wrap(err, "%s%s", h->roots.sys, root) : code;
    }
    if (r.nodes.n != (size_t)r.max + 1) {
        code = kerr_set(err, -EINVAL, "unexpected number of NUMA node, max ID %d, parsed %zu",
                        r.max, r.nodes.n);
        vec_fini(&r.nodes);
        return code;
    }
    qsort(r.nodes.items, r.nodes.n, sizeof *r.nodes.items, node_cmp);
    struct numa_info *i = xnew0(struct numa_info);
    *i = (struct numa_info){ .refs = 1, .nodes = r.nodes.items, .n = (uint32_t)r.nodes.n };
    *ret = i;
    return 0;
}

struct numa_info *numa_info_ref(struct numa_info *i)
{
    i->refs++;
    return i;
}

struct numa_info *numa_info_unref(struct numa_info *i)
{
    if (!i || --i->refs > 0)
        return NULL;
    free(i->nodes);
    free(i);
    return NULL;
}
