/* gpus.c - the scheduler's part of koordctl gpus. */
#include "ctl/gpus.h"

#include "main/koordctl.h"
#include "scheduler/observe/explain/whatif.h"
#include "scheduler/plugins/deviceshare/cardmap.h"

int main_gpus(void *self, const char *node, struct strbuf *json, struct kerr *err)
{
    struct holdings *h = whatif_service(main_explain_whatif(self), &holdings_service);

    if (!h)
        return kerr_set(err, -ENOTSUP, "the profile of koord-scheduler has no DeviceShare");
    return cardmap_write(h, node, json, err);
}
