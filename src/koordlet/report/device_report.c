/* device_report.c - the devices of a node against the stored Device. */
#include "koordlet/report/device_report.h"

#include "api/protocol/device.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "koordlet/report/object.h"

/* Where GPUs are reported, these are ours: one that is not reported any more goes. The partition
 * table and its policy may be an administrator's, and are only ever overwritten. */
static const char *const own_gpu_labels[] = { LABEL_GPU_VENDOR, LABEL_GPU_MODEL,
                                              LABEL_GPU_DRIVER_VERSION };

/* ---- what was not looked at ------------------------------------------------------------------ */

static bool is_found(const struct device_report_in *in, const struct device_info *d)
{
    for (uint32_t i = 0; i < in->devices.n; i++) {
        const struct device_info *own = &in->devices.items[i];
        if (streq(own->type, d->type) &&
            (own->minor.v == d->minor.v || streq(str_or(own->id, ""), str_or(d->id, ""))))
            return true;
    }
    return false;
}

static bool is_partial(const struct device_report_in *in, const char *type)
{
    for (size_t i = 0; i < ARRAY_LEN(in->partial); i++)
        if (in->partial[i] && streq(in->partial[i], type))
            return true;
    return false;
}

void device_report_keep(struct device_report_in *in, const struct device *stored, struct arena *a)
{
    if (!in->partial[0] || !stored || stored->devices.n == 0)
        return;
    uint32_t n = in->devices.n;
    struct device_info *all = arena_newn0(a, n + stored->devices.n, struct device_info);
    if (n)
        memcpy(all, in->devices.items, n * sizeof *all);
    for (uint32_t i = 0; i < stored->devices.n; i++) {
        const struct device_info *d = &stored->devices.items[i];
        if (!is_partial(in, d->type) || is_found(in, d))
            continue;
        all[n] = *d;
        /* Its own conditions: they get settled, and those of a stored object do not change. */
        all[n].conditions.items = arena_newn0(a, d->conditions.n, struct meta_condition);
        if (d->conditions.n)
            memcpy(all[n].conditions.items, d->conditions.items,
                   d->conditions.n * sizeof *d->conditions.items);
        n++;
    }
    in->devices.items = all;
    in->devices.n = n;
}

/* ---- order and times ------------------------------------------------------------------------- */

static int by_type(const void *a, const void *b)
{
    const struct meta_condition *x = a, *y = b;
    return strcmp(x->type, y->type);
}

static int by_place(const void *a, const void *b)
{
    const struct device_info *x = a, *y = b;
    int c = strcmp(x->type, y->type);
    if (c)
        return c;
    if (x->minor.v != y->minor.v)
        return x->minor.v < y->minor.v ? -1 : 1;
    return strcmp(str_or(x->id, ""), str_or(y->id, ""));
}

static const struct device_info *find_device(const struct device *stored,
                                             const struct device_info *like)
{
    for (uint32_t i = 0; stored && i < stored->devices.n; i++)
        if (by_place(&stored->devices.items[i], like) == 0)
            return &stored->devices.items[i];
    return NULL;
}

static nsec_t time_of(const struct meta_condition *c, const struct device_info *before, nsec_t now)
{
    for (uint32_t i = 0; before && i < before->conditions.n; i++) {
        const struct meta_condition *old = &before->conditions.items[i];
        if (streq(old->type, c->type) && old->status == c->status && old->last_transition_time)
            return old->last_transition_time;
    }
    return now;
}

void device_report_settle(struct device_report_in *in, const struct device *stored, nsec_t now)
{
    if (in->devices.n)
        qsort(in->devices.items, in->devices.n, sizeof *in->devices.items, by_place);
    for (uint32_t i = 0; i < in->devices.n; i++) {
        struct device_info *d = &in->devices.items[i];
        const struct device_info *before = find_device(stored, d);

        if (d->conditions.n)
            qsort(d->conditions.items, d->conditions.n, sizeof *d->conditions.items, by_type);
        for (uint32_t k = 0; k < d->conditions.n; k++)
            d->conditions.items[k].last_transition_time =
                time_of(&d->conditions.items[k], before, now);
    }
}

/* ---- differences ----------------------------------------------------------------------------- */

static bool devices_differ(const device_infolist *own, const device_infolist *stored)
{
    if (own->n != stored->n)
        return true;
    for (uint32_t i = 0; i < own->n; i++)
        if (!kj_struct_equal(&device_info_schema, &own->items[i], &stored->items[i]))
            return true;
    return false;
}

static bool has_gpu(const struct device_report_in *in)
{
    for (uint32_t i = 0; i < in->devices.n; i++)
        if (streq(in->devices.items[i].type, DEVICE_TYPE_GPU))
            return true;
    return false;
}

static bool is_stale(const char *key, const struct device_report_in *in, const kstrmap *stored)
{
    return has_gpu(in) && !is_partial(in, DEVICE_TYPE_GPU) && !kstrmap_get(&in->labels, key) &&
           kstrmap_get(stored, key);
}

static bool labels_differ(const struct device_report_in *in, const kstrmap *stored)
{
    for (size_t i = 0; i < ARRAY_LEN(own_gpu_labels); i++)
        if (is_stale(own_gpu_labels[i], in, stored))
            return true;
    return pairs_differ(&in->labels, stored);
}

bool device_report_differs(const struct device_report_in *in, const struct device *stored)
{
    return devices_differ(&in->devices, &stored->devices) ||
           labels_differ(in, &stored->obj.meta.labels) ||
           pairs_differ(&in->annotations, &stored->obj.meta.annotations);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_spec(struct kjw *w, const device_infolist *l)
{
    kjw_obj(w, "spec");
    object_write_devices(w, l);
    kjw_end(w);
}

static void patch_labels(struct kjw *w, const struct device_report_in *in, const kstrmap *stored)
{
    kjw_obj(w, "labels");
    for (size_t i = 0; i < ARRAY_LEN(own_gpu_labels); i++)
        if (is_stale(own_gpu_labels[i], in, stored))
            kjw_null(w, own_gpu_labels[i]);
    object_patch_pairs(w, &in->labels, stored);
    kjw_end(w);
}

void device_report_patch(const struct device_report_in *in, const struct device *stored,
                         struct strbuf *out)
{
    const struct objmeta *m = &stored->obj.meta;
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", m->resource_version);
    if (labels_differ(in, &m->labels))
        patch_labels(&w, in, &m->labels);
    object_patch_annotations(&w, &in->annotations, &m->annotations);
    kjw_end(&w);
    if (devices_differ(&in->devices, &stored->devices))
        write_spec(&w, &in->devices);
    kjw_end(&w);
}

void device_report_object(const struct device_report_in *in, const struct node *owner,
                          struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    object_write_head(&w, &kind_device);
    kjw_obj(&w, "metadata");
    object_write_owner(&w, owner);
    kjw_obj(&w, "labels");
    object_write_pairs(&w, &in->labels);
    kjw_end(&w);
    kjw_obj(&w, "annotations");
    object_write_pairs(&w, &in->annotations);
    kjw_end(&w);
    kjw_end(&w);
    write_spec(&w, &in->devices);
    kjw_end(&w);
}
