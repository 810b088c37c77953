/* fuzz_xpu.c - files in which a vendor's program describes its accelerators.
 *
 * A file is refused with a reason, and then there are no devices but the reason again; or there is
 * no more of anything than allowed. A good file in its place is taken.
 */
#include "koordlet/collect/collect.h"
#include "koordlet/device/xpu.h"
#include "loop/loop.h"
#include "tempdir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_devices(const xpu_devicelist *l)
{
    assert(l->n <= XPU_DEVICES_MAX);
    for (uint32_t i = 0; i < l->n; i++) {
        assert(l->items[i].resources.n <= XPU_RESOURCES_MAX);
        assert(l->items[i].topology.links.n <= XPU_LINKS_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct device_source *src = &device_source_xpu;
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    static struct koordlet_options o;
    struct collect_env env = { .loop = l, .o = &o };
    struct kerr err = { 0 };
    void *self = NULL;

    tempdir_make();
    o.xpu_dir = tempdir;
    tempdir_write("devices", data, size);
    int r = src->setup(&env, &self, &err);
    assert(r == 0);
    r = src->node_round(self, &env, 0, &err);
    const struct xpu_infos *infos = src->infos(self);
    assert(infos && (r < 0) == (infos->problem != NULL));
    assert(r == 0 || (err.code == r && err.text[0] && infos->devices.n == 0));
    check_devices(&infos->devices);

    tempdir_write("devices", "[]", 2);
    loop_advance(l, XPU_RETRY);
    r = src->node_round(self, &env, 0, &err);
    infos = src->infos(self);
    assert(r == 0 && !infos->problem);
    (void)r;
    src->destroy(self);
    return 0;
}
