/* wish.c - what a pod asks for in the way of devices (sched-device 2, 4). */
#include "scheduler/plugins/deviceshare/wish.h"

#include <stdio.h>

#include "api/pod.h"
#include "api/podresources.h"
#include "api/protocol/hint.h"
#include "api/protocol/keys.h"
#include "api/protocol/reservation.h"
#include "base/arena.h"
#include "base/klog.h"

struct reading {
    const struct pod *p;
    struct arena *arena;
    struct wish *w;
    struct ks_texts *why;
};

static enum ks_code PRINTF(2, 3) refuse(struct reading *r, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ks_texts_add(r->why, arena_strdup(r->arena, text));
    return KS_UNRESOLVABLE;
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool is_matched(const reslist *each, const kstrlist *matched)
{
    for (uint32_t i = 0; matched && i < matched->n; i++)
        if (reslist_has(each, matched->items[i]))
            return true;
    return false;
}

static void read_kind(struct wish *w, enum device_kind kind, const reslist *l)
{
    w->of[kind].asked = l->n > 0;
    w->of[kind].each = amounts_of(kind, l, NULL);
}

static enum ks_code read_requests(struct reading *r, const kstrlist *matched)
{
    reslist all = pod_requests(r->p, NULL, r->arena);
    struct device_requests d;
    struct kerr err = { 0 };

    reslist_rename_old(&all, r->arena, &all);
    if (device_requests_parse(&all, r->arena, &d, &err) < 0)
        return refuse(r, "%s", err.text);
    if (d.gpu.n + d.rdma.n + d.fpga.n == 0)
        return KS_SKIP;
    read_kind(r->w, DEVICE_GPU, &d.gpu_per_instance);
    read_kind(r->w, DEVICE_RDMA, &d.rdma);
    read_kind(r->w, DEVICE_FPGA, &d.fpga);
    r->w->of[DEVICE_GPU].asked = d.gpu.n > 0;
    r->w->of[DEVICE_GPU].count = d.gpu_count;
    r->w->gpu_each = d.gpu_per_instance;
    r->w->shared = d.gpu.n > 0 && d.gpu_shared;
    r->w->templated = r->w->shared && is_matched(&d.gpu_per_instance, matched);
    return KS_SUCCESS;
}

/* ---- annotations ----------------------------------------------------------------------------- */

static enum ks_code read_selector(struct reading *r, const char *type, const char *what,
                                  const struct label_selector *from, struct labelsel **ret)
{
    struct kerr err = { 0 };

    if (from && labelsel_from(from, r->arena, ret, &err) < 0)
        return refuse(r, "invalid %s of DeviceHint, deviceType: %s, err: %s", what, type, err.text);
    return KS_SUCCESS;
}

static enum ks_code read_hints(struct reading *r)
{
    enum ks_code code = KS_SUCCESS;
    struct device_hints hints;
    struct kerr err = { 0 };

    if (device_hints_read(&r->p->obj.meta.annotations, r->arena, &hints, &err) < 0)
        return refuse(r, "invalid DeviceAllocateHint annotation, err: %s", err.text);
    const char *unknown =
        hints.v.n ? device_hints_unknown(&r->p->obj.meta.annotations, r->arena) : NULL;
    if (unknown)
        KLOG_W("A word of the device hint is not known and is ignored",
               KV_S("namespace", r->p->obj.meta.ns), KV_S("pod", r->p->obj.meta.name),
               KV_S("annotation", ANNO_DEVICE_HINT), KV_S("field", unknown));
    for (uint32_t i = 0; i < hints.v.n && code == KS_SUCCESS; i++) {
        const struct device_type_hint *from = &hints.v.items[i];
        int kind = device_kind_of(from->type);
        struct kind_wish unread = { 0 }, *to = kind < 0 ? &unread : &r->w->of[kind];
        code = read_selector(r, from->type, "Selector", from->hint.selector, &to->selector);
        if (code == KS_SUCCESS)
            code = read_selector(r, from->type, "VFSelector", from->hint.vf_selector,
                                 &to->vf_selector);
        to->strategy = from->hint.strategy;
        to->scope = from->hint.required_scope;
        to->exclusive = from->hint.exclusive;
    }
    return code;
}

/* Kinds that are asked for, and not on all devices of the node; each once. */
static enum ks_code read_joint(struct reading *r)
{
    struct wish *w = r->w;
    struct device_joint joint;
    struct kerr err = { 0 };
    bool seen[DEVICE_KINDS] = { false };

    if (device_joint_read(&r->p->obj.meta.annotations, r->arena, &joint, &err) < 0)
        return refuse(r, "invalid DeviceJointAllocate annotation, err: %s", err.text);
    for (uint32_t i = 0; i < joint.device_types.n; i++) {
        int kind = device_kind_of(joint.device_types.items[i]);
        if (kind < 0 || seen[kind] || !w->of[kind].asked ||
            w->of[kind].strategy == DEVICE_APPLY_FOR_ALL)
            continue;
        seen[kind] = true;
        w->joint[w->njoint++] = (uint8_t)kind;
    }
    w->same_pcie = streq(str_or(joint.required_scope, ""), "SamePCIe");
    return KS_SUCCESS;
}

static enum ks_code read_partition(struct reading *r)
{
    struct gpu_partition_spec spec;
    struct kerr err = { 0 };

    r->w->bandwidth = -1;
    int found = gpu_partition_spec_read(&r->p->obj.meta.annotations, r->arena, &spec, &err);
    if (found < 0)
        return refuse(r, "invalid GPUPartitionSpec annotation, err: %s", err.text);
    if (found == 0)
        return KS_SUCCESS;
    r->w->partition = true;
    r->w->restricted = spec.restricted;
    if (spec.ring_bus_bandwidth)
        r->w->bandwidth = qty_value(*spec.ring_bus_bandwidth);
    return KS_SUCCESS;
}

/* What a scheduling hint designates stands in the annotation that a placed pod would have. */
static enum ks_code read_designated(struct reading *r)
{
    const kstrmap *annotations = &r->p->obj.meta.annotations;
    struct scheduling_hint hint;
    struct device_allocations d;
    struct kerr err = { 0 };

    if (scheduling_hint_get(annotations, r->arena, &hint, &err) <= 0 ||
        !scheduling_hint_extension(&hint, "DeviceShare"))
        return KS_SUCCESS;
    int found = device_allocations_read(annotations, r->arena, &d, &err);
    if (found < 0)
        return refuse(r, "%s", err.text);
    if (found > 0)
        r->w->ndesignated = held_of(&d, r->arena, &r->w->designated);
    return KS_SUCCESS;
}

static void read_labels(struct reading *r)
{
    const kstrmap *labels = &r->p->obj.meta.labels;
    const char *isolation = kstrmap_get(labels, LABEL_GPU_ISOLATION_PROVIDER);
    struct reservation_affinity affinity;
    struct kerr err = { 0 };

    r->w->isolation =
        r->w->shared && !str_empty(isolation) ? arena_strdup(r->arena, isolation) : NULL;
    r->w->ignores = reservation_is_ignored(labels);
    r->w->required =
        label_is_true(labels, LABEL_PRE_ALLOCATION_REQUIRED) ||
        reservation_affinity_read(&r->p->obj.meta.annotations, r->arena, &affinity, &err) > 0;
}

static bool is_plain(const struct wish *w)
{
    const uint8_t usual = 1u << GPU_CORE | 1u << GPU_MEMORY | 1u << GPU_RATIO;
    bool plain = !w->partition && !w->templated && !w->isolation && !w->ndesignated &&
                 !(w->njoint > 1 && w->same_pcie) && !(w->of[DEVICE_GPU].each.has & ~usual);

    for (uint32_t k = 0; k < DEVICE_KINDS; k++)
        plain = plain && !w->of[k].scope && !w->of[k].strategy && !w->of[k].selector &&
                !w->of[k].vf_selector && w->of[k].exclusive != DEVICE_EXCLUSIVE_PCIE;
    return plain;
}

static int32_t quick_amount(const struct amounts *x, uint32_t resource)
{
    return amounts_has(x, resource) ? (int32_t)MIN(x->v[resource], INT32_MAX) : -2;
}

static void make_quick(struct wish *w)
{
    for (uint32_t k = 0; k < DEVICE_KINDS; k++) {
        const struct kind_wish *from = &w->of[k];
        struct quick_wish *to = &w->quick[k];
        if (!from->asked)
            continue;
        *to = (struct quick_wish){ .count = k == DEVICE_GPU ? from->count : 1,
                                   .memory = -2,
                                   .first = quick_amount(&from->each, 0),
                                   .ratio = -2 };
        if (k == DEVICE_GPU) {
            to->ratio = quick_amount(&from->each, GPU_RATIO);
            to->memory = amounts_has(&from->each, GPU_MEMORY) ? from->each.v[GPU_MEMORY] : -2;
        } else if (to->first > 100 && to->first % 100 == 0) {
            to->count = to->first / 100;
            to->first = 100;
        }
    }
}

enum ks_code wish_read(const struct pod *p, const kstrlist *matched, struct arena *a,
                       struct wish **ret, struct ks_texts *why)
{
    struct reading r = { .p = p, .arena = a, .w = arena_new0(a, struct wish), .why = why };

    enum ks_code code = read_requests(&r, matched);
    if (code == KS_SUCCESS)
        code = read_hints(&r);
    if (code == KS_SUCCESS)
        code = read_joint(&r);
    if (code == KS_SUCCESS)
        code = read_partition(&r);
    if (code == KS_SUCCESS)
        code = read_designated(&r);
    if (code != KS_SUCCESS)
        return code;
    read_labels(&r);
    r.w->plain = is_plain(r.w);
    make_quick(r.w);
    *ret = r.w;
    return KS_SUCCESS;
}
