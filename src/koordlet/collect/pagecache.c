/* pagecache.c - PageCacheCollector: memory with the page cache (4.8). */
#include "koordlet/collect/collect_int.h"

struct page_cache_self {
    struct kernelfile meminfo;
    struct series *node;
};

static nsec_t page_cache_interval(const struct collect_env *e)
{
    return e->o->collect.page_cache_on ? e->o->collect.interval : 0;
}

static int page_cache_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    struct page_cache_self *s = xnew0(struct page_cache_self);

    (void)e, (void)err;
    s->meminfo.fd = -1;
    *ret = s;
    return 0;
}

static void page_cache_destroy(void *self)
{
    struct page_cache_self *s = self;

    kernelfile_close(&s->meminfo);
    series_close(s->node);
    free(s);
}

static void one(struct collect_env *e, struct track *t, const char *uid, const char *container)
{
    struct kerr err = { 0 };

    if (track_memory(&e->pods->reader, t, &err) < 0)
        collect_complain(e, container ? container : uid, &err);
    else
        collect_put_track(e, t, SERIES_PAGE_CACHE, uid, container,
                          (double)memory_stat_usage_with_page_cache(&t->memory));
}

static int of_node(struct page_cache_self *s, struct collect_env *e, struct kerr *err)
{
    struct meminfo m;
    struct str text;

    int r = s->meminfo.fd < 0 ? kernelfile_open(&s->meminfo, e->host->proc_fd, "meminfo", err) : 0;
    if (r == 0)
        r = kernelfile_read(&s->meminfo, e->host->buf, &text, err);
    if (r == 0)
        r = meminfo_parse(text.p, text.n, false, &m, err);
    if (r < 0) {
        kernelfile_close(&s->meminfo);
        return kerr_wrap(err, "meminfo");
    }
    collect_put(e, &s->node, M_NODE_MEMORY_PAGE_CACHE, NULL,
                (double)meminfo_usage_with_page_cache(&m));
    return 0;
}

static int page_cache_tick(void *self, struct collect_env *e, struct kerr *err)
{
    int r = of_node(self, e, err);
    int of_pods = collect_each_track(e, one, r < 0 ? NULL : err);
    return r < 0 ? r : of_pods;
}

const struct collector collector_page_cache = {
    .name = "PageCacheCollector",
    .interval = page_cache_interval,
    .setup = page_cache_setup,
    .destroy = page_cache_destroy,
    .tick = page_cache_tick,
};
