/* common.c - what the collectors share. */
#include "koordlet/collect/collect_int.h"

#include "base/num.h"
#include "base/vec.h"
#include "koordlet/kernel/text.h"

void collect_put(struct collect_env *e, struct series **s, enum metric_kind k,
                 const char *const *labels, double value)
{
    struct kerr err = { 0 };

    if (!*s)
        *s = metriccache_open(e->mc, k, labels);
    if (series_append(*s, e->now_ms, value, &err) < 0)
        collect_complain(e, metric_kind_info(k)->name, &err);
}

void collect_put_track(struct collect_env *e, struct track *t, enum track_series which,
                       const char *pod_uid, const char *container_id, double value)
{
    static const enum metric_kind kinds[2][TRACK_SERIES] = {
        { M_POD_CPU, M_POD_MEMORY, M_POD_MEMORY_PAGE_CACHE, M_POD_MEMORY_HOT, M_POD_MEMORY_COLD,
          M_POD_THROTTLED },
        { M_CONTAINER_CPU, M_CONTAINER_MEMORY, M_CONTAINER_MEMORY_PAGE_CACHE,
          M_CONTAINER_MEMORY_HOT, M_CONTAINER_MEMORY_COLD, M_CONTAINER_THROTTLED },
    };
    const char *label = container_id ? container_id : pod_uid;

    collect_put(e, &t->series[which], kinds[container_id != NULL][which], &label, value);
}

int collect_pods(struct collect_env *e, struct kerr *err)
{
    struct podset *set = e->known->pods;

    if (!set)
        return kerr_set(err, -EAGAIN, "no pods from the kubelet yet");
    pod_tracks_sync(e->pods, set);
    return 0;
}

bool collect_may_record(const struct collect_env *e)
{
    return e->known->node != NULL;
}

/* ---- devices --------------------------------------------------------------------------------- */

int device_pod_pids(const struct device_pod *p, uint32_t container, struct device_pids *ret,
                    struct kerr *err)
{
    struct pod_tracks *ts = p->env->pods;
    const struct npod_container *c = &p->pod->containers[container];
    struct host *h = ts->reader.host;
    struct str rest, word;
    uint64_t pid;

    if (!c->dir)
        return kerr_set(err, -ENOENT, "cgroup.procs: the container has no directory");
    strbuf_reset(&ts->reader.path);
    strbuf_appendf(&ts->reader.path, "%s%s/%s/cgroup.procs", h->version == CGROUP_V1 ? "cpu/" : "",
                   p->pod->cgroup_dir, c->dir);
    int r = kernelfile_once(h->cgroup_fd, strbuf_str(&ts->reader.path), h->buf, &rest, err);
    if (r < 0)
        return r;
    vec_clear(&ts->pids);
    while (text_word(&rest, &word)) {
        if (u64_parse(word.p, word.n, &pid) < 0 || pid > UINT32_MAX)
            return kerr_set(err, -EINVAL, "cgroup.procs: not a number");
        vec_push(&ts->pids, (uint32_t)pid);
    }
    *ret = (struct device_pids){ ts->pids.items, ts->pids.n };
    return 0;
}

const void *collect_device_infos(const struct collect_env *e, const char *type)
{
    for (uint32_t i = 0; e->devices && e->devices[i]; i++)
        if (streq(e->devices[i]->type, type))
            return e->device_selves[i] ? e->devices[i]->infos(e->device_selves[i]) : NULL;
    return NULL;
}

int collect_each_track(struct collect_env *e, collect_track_fn fn, struct kerr *err)
{
    int r = collect_pods(e, err);

    if (r < 0)
        return r;
    COLLECT_EACH_POD(e, p) {
        fn(e, &p->track, p->pod->uid, NULL);
        COLLECT_EACH_CONTAINER(p, c)
            fn(e, &c->track, NULL, c->c->id);
    }
    return 0;
}
