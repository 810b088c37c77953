/* clean.c - pods lose the annotation that names a Reservation which is gone (the gate
 * CleanExpiredReservationAllocated). */
#include "api/protocol/keys.h"
#include "base/strbuf.h"
#include "scheduler/plugins/reservation/controller/control_int.h"
#include "json/kj.h"

void resv_clean_sync(void *self, struct batch *b, const char *uid, struct kobj *unused)
{
    struct resv_control *c = self;
    kobjvec pods = { 0 };

    (void)unused;
    objects_by(c->pods, index_pod_reservation, uid, &pods);
    vec_foreach(&pods, i) {
        CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
        struct kjw w = kjw_to(&body);
        kjw_obj(&w, NULL);
        kjw_obj(&w, "metadata");
        /* Only as we know the pod: it may have got another annotation meanwhile. */
        kjw_str(&w, "resourceVersion", pods.items[i]->meta.resource_version);
        kjw_obj(&w, "annotations");
        kjw_null(&w, ANNO_RESERVATION_ALLOCATED);
        kjw_end(&w);
        kjw_end(&w);
        kjw_end(&w);
        batch_patch(b, pods.items[i], NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
    }
    vec_fini(&pods);
}
