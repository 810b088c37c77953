/* blkio.c - blocks to lines (koordlet-qos 12). */
#include "koordlet/qos/blkio/blkio.h"

enum { WEIGHT_DEFAULT = 100, LATENCY_DEFAULT_US = 3000, LATENCY_DEFAULT_PERCENT = 95 };

/* ---- disks ----------------------------------------------------------------------------------- */

static const char *disk_of_device(const struct storage_info *s, const char *name)
{
    const char *disk = storage_find(&s->partition_disk, name);

    return disk ? disk : name;
}

/* The name of the volume below the kubelet's directory of the pod. */
static const char *volume_name(const struct blkio_machine *m, const struct pod *p, const char *name)
{
    for (uint32_t i = 0; i < p->volumes.n; i++) {
        const struct pod_volume *v = &p->volumes.items[i];
        if (!streq(v->name, name))
            continue;
        if (v->claim)
            return m->volume(m->arg, p->obj.meta.ns, v->claim->claim_name);
        return v->csi ? v->name : NULL;
    }
    return NULL;
}

static const char *disk_of_volume(const struct blkio_machine *m, const struct pod *p,
                                  const char *name, struct arena *a)
{
    const char *volume = p ? volume_name(m, p, name) : NULL;
    char uid[KUID_TEXT_MAX];

    if (!volume)
        return NULL;
    kuid_format(p->obj.meta.uid, uid, sizeof uid);
    return storage_disk_of_mount(m->storage,
                                 arena_printf(a, "%spods/%s/volumes/kubernetes.io~csi/%s/mount",
                                              m->kubelet_dir, uid, volume));
}

/* "253:16". */
static int disk_number(const struct blkio_machine *m, const struct pod *p,
                       const struct blkio_block *b, struct arena *a, const char **ret,
                       struct kerr *err)
{
    const char *type = b->type ? b->type : "", *name = b->name ? b->name : "", *disk = NULL;

    if (streq(type, "device"))
        disk = disk_of_device(m->storage, name);
    else if (streq(type, "volumegroup"))
        disk = storage_find(&m->storage->vg_disk, name);
    else if (streq(type, "podvolume"))
        disk = disk_of_volume(m, p, name, a);
    else
        return kerr_set(err, -EINVAL, "block %.60s has the type '%.40s'", name, type);
    *ret = disk ? storage_find(&m->storage->disk_number, disk) : NULL;
    return *ret ? 0 : kerr_set(err, -ENOENT, "%s %.100s is on no known disk", type, name);
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct lines {
    struct blkio_line *items;
    uint32_t n;
    struct arena *a;
};

static void put(struct lines *l, enum plan_file f, const char *disk, const char *text)
{
    l->items[l->n++] = (struct blkio_line){ f, disk, text };
}

static void put_number(struct lines *l, enum plan_file f, const char *disk, int64_t v)
{
    put(l, f, disk, arena_printf(l->a, "%s %lld", disk, (long long)v));
}

static long long value(struct opt_i64 v, int64_t otherwise)
{
    return v.set ? v.v : otherwise;
}

static void put_limits(struct lines *l, const char *disk, const struct blkio_config *c)
{
    put_number(l, PLAN_BLKIO_READ_IOPS, disk, value(c->read_iops, 0));
    put_number(l, PLAN_BLKIO_READ_BPS, disk, value(c->read_bps, 0));
    put_number(l, PLAN_BLKIO_WRITE_IOPS, disk, value(c->write_iops, 0));
    put_number(l, PLAN_BLKIO_WRITE_BPS, disk, value(c->write_bps, 0));
    put_number(l, PLAN_BLKIO_COST_WEIGHT, disk, value(c->io_weight_percent, WEIGHT_DEFAULT));
}

static void put_cost(struct lines *l, const char *disk, const struct blkio_config *c)
{
    put(l, PLAN_BLKIO_COST_QOS, disk,
        arena_printf(l->a, "%s enable=1 ctrl=user rpct=%lld rlat=%lld wpct=%lld wlat=%lld", disk,
                     value(c->read_latency_percent, LATENCY_DEFAULT_PERCENT),
                     value(c->read_latency_us, LATENCY_DEFAULT_US),
                     value(c->write_latency_percent, LATENCY_DEFAULT_PERCENT),
                     value(c->write_latency_us, LATENCY_DEFAULT_US)));
    if (!c->enable_user_model.set || !c->enable_user_model.v) {
        put(l, PLAN_BLKIO_COST_MODEL, disk, arena_printf(l->a, "%s ctrl=auto", disk));
        return;
    }
    put(l, PLAN_BLKIO_COST_MODEL, disk,
        arena_printf(l->a,
                     "%s ctrl=user rbps=%lld rseqiops=%lld rrandiops=%lld wbps=%lld wseqiops=%lld "
                     "wrandiops=%lld",
                     disk, value(c->model_read_bps, 0), value(c->model_read_seq_iops, 0),
                     value(c->model_read_rand_iops, 0), value(c->model_write_bps, 0),
                     value(c->model_write_seq_iops, 0), value(c->model_write_rand_iops, 0)));
}

static void put_reset(struct lines *l, const char *disk, bool root)
{
    static const struct blkio_config none = { .read_iops = { .set = false } };

    if (root)
        put(l, PLAN_BLKIO_COST_QOS, disk, arena_printf(l->a, "%s enable=0", disk));
    else
        put_limits(l, disk, &none);
}

static bool is_configured(const struct lines *l, const char *disk, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (streq(l->items[i].disk, disk))
            return true;
    return false;
}

int blkio_lines(const struct blkio_machine *m, const struct blkio_target *t, struct arena *a,
                struct blkio_line **ret, uint32_t *ret_n, struct kerr *err)
{
    struct lines l = {
        .items = arena_newn0(a, 5 * (t->nblocks + (size_t)t->nexisting) + 1, struct blkio_line),
        .a = a,
    };

    for (uint32_t i = 0; i < t->nblocks; i++) {
        const char *disk;
        int r = disk_number(m, t->pod, &t->blocks[i], a, &disk, err);
        if (r < 0)
            return r;
        if (t->root)
            put_cost(&l, disk, &t->blocks[i].io);
        else
            put_limits(&l, disk, &t->blocks[i].io);
    }
    uint32_t configured = l.n;
    for (uint32_t i = 0; i < t->nexisting; i++)
        if (!is_configured(&l, t->existing[i], configured))
            put_reset(&l, t->existing[i], t->root);
    *ret = l.items;
    *ret_n = l.n;
    return 0;
}
