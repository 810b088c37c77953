/* podresources.h - a proxy before the kubelet's pod resources which adds the devices we gave.
 *
 * The kubelet knows what its device plugins handed out, not what koord-scheduler wrote to a pod's
 * annotation. Who asks on our socket instead of the kubelet's gets both (koordlet-metrics 5.7):
 * List is changed, everything else of the service is passed on, also methods that are yet to be
 * invented. Loop thread only.
 */
#ifndef KOORD_KOORDLET_PODRESOURCES_H
#define KOORD_KOORDLET_PODRESOURCES_H
#include "koordlet/states/snapshot.h"

struct podresources;

struct podresources_env { /* borrowed */
    struct loop *loop;
    struct snapshots
        *snapshots; /* the pods, and so their annotations: nobody else is asked for them */
    const struct host *host;
    const char *dir; /* of our socket, kubelet.sock; it is made */
    struct metrics *internal;
};
struct podresources *podresources_new(const struct podresources_env *env);
struct podresources *podresources_free(struct podresources *p);
DEFINE_CLEANUP(podresources_free, struct podresources *)
/* Listens. When it cannot, or the kubelet's socket is not there, that is tried again and told;
 * calls get UNAVAILABLE meanwhile. */
void podresources_start(struct podresources *p);
/* NULL: nothing. The text is good until the next turn. */
const char *podresources_missing(const struct podresources *p);

/* The kubelet's ListPodResourcesResponse with the devices of the pods' annotations. 0 with the new
 * message in out; 1: it stays as it is; -EBADMSG: it is none. An annotation that cannot be read is
 * left out: ret_bad tells of the first (code 0: none). */
int podresources_edit(struct str list, const struct podset *pods, struct strbuf *out,
                      struct kerr *ret_bad, struct kerr *err);
#endif
