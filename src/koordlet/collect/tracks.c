/* tracks.c - keeping tracks in step with the pods. */
#include "koordlet/collect/tracks.h"

struct pod_tracks *pod_tracks_new(struct host *host, struct loop *loop)
{
    struct pod_tracks *ts = xnew0(struct pod_tracks);

    track_reader_init(&ts->reader, host, loop);
    ts->pods = xnew0(struct pod_track);
    return ts;
}

static void drop_containers(struct pod_tracks *ts, struct container_track *cs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        track_fini(&cs[i].track, &ts->reader);
    free(cs);
}

static void drop_pod(struct pod_tracks *ts, struct pod_track *p)
{
    if (ts->on_gone)
        ts->on_gone(ts->arg, p->pod->uid);
    drop_containers(ts, p->containers, p->n);
    track_fini(&p->track, &ts->reader);
}

struct pod_tracks *pod_tracks_free(struct pod_tracks *ts)
{
    if (!ts)
        return NULL;
    for (uint32_t i = 0; i < ts->n; i++)
        drop_pod(ts, &ts->pods[i]);
    free(ts->pods);
    vec_fini(&ts->pids);
    podset_unref(ts->set);
    track_reader_fini(&ts->reader);
    free(ts);
    return NULL;
}

/* The track of a container among those there were; it is taken out. */
static bool take_container(struct container_track *old, uint32_t n, const char *id,
                           struct container_track *ret)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!old[i].c || !streq(old[i].c->id, id))
            continue;
        *ret = old[i];
        old[i].c = NULL;
        return true;
    }
    return false;
}

/* A container goes by its ID: one that was started again is another. */
static void sync_containers(struct pod_tracks *ts, struct pod_track *p, const struct npod *pod)
{
    struct container_track *old = p->containers;
    uint32_t nold = p->n, kept = 0;

    p->containers = xnewn0(MAX(pod->ncontainers, 1U), struct container_track);
    p->n = 0;
    for (uint32_t i = 0; i < pod->ncontainers; i++) {
        const struct npod_container *c = &pod->containers[i];
        if (!c->dir)
            continue;
        struct container_track *t = &p->containers[p->n++];
        if (!take_container(old, nold, c->id, t))
            track_init(&t->track, pod->cgroup_dir, c->dir);
        track_retry(&t->track);
        t->c = c;
        t->track.dir = pod->cgroup_dir;
        t->track.leaf = c->dir;
    }
    for (uint32_t i = 0; i < nold; i++)
        if (old[i].c)
            old[kept++] = old[i];
    drop_containers(ts, old, kept);
}

static void sync_pod(struct pod_tracks *ts, struct pod_track *p, const struct npod *pod)
{
    if (p->pod == pod)
        return;
    if (!p->pod)
        track_init(&p->track, pod->cgroup_dir, "");
    p->track.dir = pod->cgroup_dir;
    track_retry(&p->track);
    sync_containers(ts, p, pod);
    p->pod = pod;
}

bool pod_tracks_sync(struct pod_tracks *ts, struct podset *set)
{
    if (!set || set == ts->set)
        return false;
    struct pod_track *old = ts->pods;
    uint32_t nold = ts->n, at = 0;

    ts->pods = xnewn0(MAX(set->n, 1U), struct pod_track);
    ts->n = set->n;
    for (uint32_t i = 0; i < set->n; i++) { /* both are sorted by UID */
        const struct npod *pod = set->pods[i];
        int order = -1;
        while (at < nold && (order = strcmp(old[at].pod->uid, pod->uid)) < 0)
            drop_pod(ts, &old[at++]);
        if (at < nold && order == 0)
            ts->pods[i] = old[at++];
        sync_pod(ts, &ts->pods[i], pod);
    }
    while (at < nold)
        drop_pod(ts, &old[at++]);
    free(old);
    podset_unref(ts->set);
    ts->set = podset_ref(set);
    return true;
}
