/* tracks.h - the cgroups of all pods and their containers, in step with the kubelet's list.
 *
 * pod_tracks_sync() compares with the newest set of pods: what stayed keeps its open files, rates
 * and series, what left is closed. Between two syncs nothing is allocated.
 */
#ifndef KOORD_KOORDLET_TRACKS_H
#define KOORD_KOORDLET_TRACKS_H
#include "base/vec.h"
#include "koordlet/collect/track.h"
#include "koordlet/states/podset.h"

struct container_track {
    struct track track;
    const struct npod_container *c;
};
struct pod_track {
    struct track track;
    const struct npod *pod;
    struct container_track *containers; /* those whose directory is known */
    uint32_t n;
};
struct pod_tracks {
    struct track_reader reader;
    struct podset *set; /* what the tracks are of; NULL: none yet */
    struct pod_track *pods;
    uint32_t n;
    struct vec_of(uint32_t) pids; /* of device_pod_pids() */
    /* Told before the tracks of a pod that left go. */
    void (*on_gone)(void *arg, const char *uid);
    void *arg;
};

struct pod_tracks *pod_tracks_new(struct host *host, struct loop *loop);
struct pod_tracks *pod_tracks_free(struct pod_tracks *ts);
/* Takes its own reference on a set that is new. Returns whether there was a change. */
bool pod_tracks_sync(struct pod_tracks *ts, struct podset *set);
#endif
