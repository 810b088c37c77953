/* fuzz_device.c - what a Device says of its cards, and pods of those that they hold and want.
 *
 * The input is {"node":{..},"device":{..},"pods":[{..}],"pod":{..},"numa":3,"templates":"yaml"}: a
 * Node, its Device, pods with device-allocated, and a pod that wants devices. However odd they are,
 * a card that is absent or not healthy is never given, no card above what it has, no virtual
 * function twice, and as many cards as were asked for; a refusal says why.
 */
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/intern.h"
#include "scheduler/plugins/deviceshare/allocate.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct kobj *object(struct kj_scratch *s, const struct kind *k, const struct kj_val *v)
{
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    return v && kobj_decode(k, v, s, &o, &err) == 0 ? o : NULL;
}

static void hold(struct kj_scratch *s, const struct kj_val *pod, struct devrow *row,
                 struct arena *a)
{
    CLEANUP(kobj_unref) struct kobj *o = object(s, &kind_pod, pod);
    struct device_allocations d;
    const struct held *items;
    struct kerr err = { 0 };

    if (!o)
        return;
    int r = device_allocations_read(&o->meta.annotations, a, &d, &err);
    assert(r >= 0 || err.text[0] != '\0');
    if (r <= 0)
        return;
    uint32_t n = held_of(&d, a, &items);
    devrow_add(row, items, n);
}

static void check_one(const struct devrow *row, const struct held *x)
{
    uint32_t card = inventory_find(row->inv, (enum device_kind)x->kind, x->minor);

    assert(card != NO_CARD && row->inv->card[card].total.has);
    struct amounts left = devrow_free(row, card);
    for (uint32_t i = 0; i < DEVICE_RESOURCES; i++) /* memory may be completed, and is rounded */
        assert(x->amounts.v[i] <= left.v[i] ||
               (x->kind == DEVICE_GPU && (i == GPU_MEMORY || i == GPU_RATIO)));
    const struct card *c = &row->inv->card[card];
    for (uint32_t v = 0; v < x->nvfs; v++) {
        bool found = false;
        for (uint32_t k = c->vf; k < c->vf + c->nvfs; k++)
            found |= streq(card_vf_bus(&row->inv->vf[k]), x->vfs[v].bus_id) && !row->vf_refs[k];
        assert(found);
    }
}

static void want(struct kobj *pod, const struct devrow *row, const struct kj_val *input,
                 struct arena *a)
{
    struct device_scorer scorer = { .weight = { { 0, 1, 1 }, { 1 }, { 1 } } };
    const char *resources[] = { "huawei.com/npu-core" };
    kstrlist matched = { .items = resources, .n = 1 };
    const char *yaml = kj_str_or(kj_get(input, "templates"), "");
    struct ks_texts why = { .arena = a };
    struct gpu_templates templates = { 0 };
    struct device_result got = { 0 };
    struct wish *w = NULL;
    struct kerr err = { 0 };

    if (gpu_templates_decode(yaml, strlen(yaml), a, &templates, &err) < 0)
        assert(err.text[0] != '\0');
    enum ks_code code = wish_read(pod_of(pod), &matched, a, &w, &why);
    if (code == KS_SUCCESS) {
        const struct device_try t = { .row = row,
                                      .wish = w,
                                      .scorer = &scorer,
                                      .templates = &templates,
                                      .arena = a,
                                      .reserving = true,
                                      .numa = (uint64_t)kj_i64_or(kj_get(input, "numa"), 0) };
        code = devices_allocate(&t, &got, &why);
        assert(devices_score(&t) >= 0);
    }
    assert(code == KS_SUCCESS || code == KS_SKIP || why.n > 0);
    uint32_t gpus = 0;
    for (uint32_t i = 0; code == KS_SUCCESS && i < got.n; i++) {
        check_one(row, &got.items[i]);
        gpus += got.items[i].kind == DEVICE_GPU;
        for (uint32_t k = 0; k < i; k++)
            assert(got.items[k].kind != got.items[i].kind ||
                   got.items[k].minor != got.items[i].minor);
    }
    if (code == KS_SUCCESS && w->of[DEVICE_GPU].asked)
        assert(gpus >= w->of[DEVICE_GPU].count);
    (void)held_format(got.items, got.n, device_of(row->inv->device), a);
}

static void feed(struct kj_scratch *s, const struct kj_val *input, struct arena *a)
{
    CLEANUP(kobj_unref) struct kobj *node = object(s, &kind_node, kj_get(input, "node"));
    CLEANUP(kobj_unref) struct kobj *device = object(s, &kind_device, kj_get(input, "device"));
    CLEANUP(kobj_unref) struct kobj *pod = object(s, &kind_pod, kj_get(input, "pod"));
    const struct kj_val *pods = kj_get(input, "pods");
    const char *bad = NULL;
    struct devrow row;

    if (!device || !pod)
        return;
    devrow_make(&row,
                inventory_new(device_of(device), node ? node_of(node) : NULL, false, a, &bad));
    assert(!bad == !row.inv->bad);
    for (uint32_t i = 1; i < inventory_cards(row.inv); i++)
        assert(row.inv->card[i - 1].kind < row.inv->card[i].kind ||
               (row.inv->card[i - 1].kind == row.inv->card[i].kind &&
                row.inv->card[i - 1].minor < row.inv->card[i].minor));
    for (size_t i = 0; i < kj_len(pods); i++)
        hold(s, kj_at(pods, i), &row, a);
    want(pod, &row, input, a);
    devrow_fini(&row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kj_scratch *s = kj_scratch_new(strings);
    struct arena *a = arena_new();
    struct kerr err = { 0 };

    if (kj_parse((const char *)data, size, KJ_RAW_NUMBERS, &doc, &err) == 0)
        feed(s, kj_root(doc), a);
    arena_free(a);
    kj_scratch_free(s);
    return 0;
}
