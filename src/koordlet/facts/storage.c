/* storage.c - disks, volumes and mounts. */
#include "koordlet/facts/storage.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "koordlet/kernel/sysfs.h"
#include "koordlet/kernel/text.h"
#include "sys/file.h"

static const char block_root[] = "class/block";

struct pairs vec_of(struct storage_pair);
struct volume { /* of LVM */
    const char *device, *vg;
};
struct reader {
    const struct host *h;
    struct arena *arena;
    struct pairs disk_number, number_disk, partition_disk, vg_disk, lv_vg, mount_source;
    struct vec_of(struct volume) volumes;
};

static void reader_fini(struct reader *r)
{
    struct pairs *const all[] = { &r->disk_number, &r->number_disk, &r->partition_disk,
                                  &r->vg_disk,     &r->lv_vg,       &r->mount_source };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        vec_fini(all[i]);
    vec_fini(&r->volumes);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static int pair_cmp(const void *a, const void *b)
{
    const struct storage_pair *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static int order_cmp(const void *a, const void *b)
{
    const struct storage_pair *const *x = a, *const *y = b;
    int r = pair_cmp(*x, *y);
    return r ? r : *x < *y ? -1 : *x > *y;
}

/* Of equal keys the last counts: what was mounted last is what is seen. */
static struct storage_map map_of(struct arena *a, const struct pairs *p)
{
    struct storage_map m = { arena_newn0(a, p->n + 1, struct storage_pair), 0 };
    CLEANUP(mem_free)
    const struct storage_pair **order = xcalloc(p->n + 1, sizeof(struct storage_pair *));

    for (size_t i = 0; i < p->n; i++)
        order[i] = &p->items[i];
    qsort(order, p->n, sizeof *order, order_cmp);
    for (size_t i = 0; i < p->n; i++)
        if (i + 1 == p->n || pair_cmp(order[i], order[i + 1]) != 0)
            m.items[m.n++] = *order[i];
    return m;
}

const char *storage_find(const struct storage_map *m, const char *key)
{
    const struct storage_pair wanted = { .key = key };
    const struct storage_pair *p =
        m->n > 0 ? bsearch(&wanted, m->items, m->n, sizeof wanted, pair_cmp) : NULL;
    return p ? p->value : NULL;
}

static const char *find_in(const struct pairs *p, const char *key)
{
    vec_foreach(p, i)
        if (streq(p->items[i].key, key))
            return p->items[i].value;
    return NULL;
}

/* ---- block devices --------------------------------------------------------------------------- */

/* "/dev/cciss/c0d0" for "cciss!c0d0". */
static const char *device_path(struct arena *a, const char *name)
{
    char *path = arena_printf(a, "/dev/%s", name);
    for (char *p = path; *p; p++)
        if (*p == '!')
            *p = '/';
    return path;
}

/* A partition's directory is in that of its disk: the last but one name of the link. */
static const char *parent_of(const struct reader *r, const char *name)
{
    char path[NAME_MAX + 32], target[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", block_root, name);
    ssize_t n = readlinkat(r->h->sys_fd, path, target, sizeof target - 1);
    target[MAX(n, (ssize_t)0)] = '\0';
    char *slash = strrchr(target, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    const char *parent = strrchr(target, '/');
    return device_path(r->arena, parent ? parent + 1 : target);
}

/* What lsblk calls a disk: not a loop, a RAM disk, a RAID, a CD drive, a floppy drive nor a path of
 * a device that has several. */
static bool is_disk(const struct reader *r, const char *name)
{
    static const char *const others[] = { "loop", "ram", "md", "sr", "fd", "dm-" };
    int64_t v;

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (sysfs_number(name, others[i]) >= 0)
            return false;
    return sysfs_i64(r->h, r->h->sys_fd, &v, "%s/%s/hidden", block_root, name) < 0 || v == 0;
}

/* The name of a volume is the group's and its own with a "-" between, and each "-" of theirs
 * doubled. */
static const char *group_of_name(struct arena *a, struct str name)
{
    char *vg = arena_alloc(a, name.n + 1, 1);
    size_t n = 0;

    for (size_t i = 0; i < name.n; i++) {
        bool doubled = name.p[i] == '-' && i + 1 < name.n && name.p[i + 1] == '-';
        if (name.p[i] == '-' && !doubled) {
            vg[n] = '\0';
            return n > 0 && i + 1 < name.n ? vg : NULL;
        }
        i += doubled;
        vg[n++] = name.p[i];
    }
    return NULL;
}

/* Volumes that only serve others ("-tpool", "_tdata-...") have something behind the two IDs; a
 * pool, which people see, has "-pool". */
static bool is_volume(struct str uuid)
{
    enum { IDS = 4 + 64 };
    return text_starts(uuid, "LVM-") &&
           (uuid.n == IDS ||
            (uuid.n > IDS && str_eqz((struct str){ uuid.p + IDS, uuid.n - IDS }, "-pool")));
}

static void mapped_add(struct reader *r, const char *device)
{
    struct str text;
    int fd = r->h->sys_fd;

    if (sysfs_text(r->h, fd, &text, "%s/%s/dm/uuid", block_root, device) < 0 || !is_volume(text) ||
        sysfs_text(r->h, fd, &text, "%s/%s/dm/name", block_root, device) < 0)
        return;
    const char *vg = group_of_name(r->arena, text);
    if (!vg)
        return;
    const char *path = arena_printf(r->arena, "/dev/mapper/%.*s", (int)text.n, text.p);
    vec_push(&r->lv_vg, ((struct storage_pair){ path, vg }));
    vec_push(&r->volumes, ((struct volume){ arena_strdup(r->arena, device), vg }));
}

static int block_add(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    struct reader *r = arg;
    const char *path = device_path(r->arena, name);
    struct str number;

    (void)dirfd, (void)type;
    if (sysfs_number(name, "dm-") >= 0) {
        mapped_add(r, name);
        return 0;
    }
    if (sysfs_exists(r->h->sys_fd, "%s/%s/partition", block_root, name)) {
        const char *disk = parent_of(r, name);
        if (disk)
            vec_push(&r->partition_disk, ((struct storage_pair){ path, disk }));
        return 0;
    }
    if (!is_disk(r, name) ||
        sysfs_text(r->h, r->h->sys_fd, &number, "%s/%s/dev", block_root, name) < 0)
        return 0; /* or pulled out a moment ago */
    unsigned major, minor;
    int end = 0;
    if (sscanf(number.p, "%u:%u%n", &major, &minor, &end) != 2 || (size_t)end != number.n)
        return kerr_set(err, -EINVAL, "%s%s/%s/dev is '%.*s'", r->h->roots.sys, block_root, name,
                        (int)MIN(number.n, (size_t)32), number.p);
    const char *text = arena_printf(r->arena, "%u:%u", major, minor);
    vec_push(&r->disk_number, ((struct storage_pair){ path, text }));
    vec_push(&r->number_disk, ((struct storage_pair){ text, path }));
    return 0;
}

/* ---- volume groups --------------------------------------------------------------------------- */

struct below {
    struct reader *r;
    const char *pv; /* what was found; NULL: nothing yet */
    bool several;
    int depth;
};

/* Walks down from a volume to what is no volume of LVM: the physical ones. */
static int slave_add(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    enum { DEEPEST = 8 };
    struct below *b = arg;
    struct reader *r = b->r;
    struct str uuid;
    char path[NAME_MAX + 32];

    (void)dirfd, (void)type, (void)err;
    if (b->depth < DEEPEST &&
        sysfs_text(r->h, r->h->sys_fd, &uuid, "%s/%s/dm/uuid", block_root, name) == 0 &&
        text_starts(uuid, "LVM-")) {
        snprintf(path, sizeof path, "%s/%s/slaves", block_root, name);
        b->depth++;
        dir_each(r->h->sys_fd, path, slave_add, b, NULL);
        b->depth--;
        return 0;
    }
    const char *pv = device_path(r->arena, name);
    b->several |= b->pv && !streq(b->pv, pv);
    b->pv = pv;
    return 0;
}

static void groups_add(struct reader *r)
{
    vec_foreach(&r->volumes, i) {
        const char *vg = r->volumes.items[i].vg;
        struct below b = { .r = r };
        char path[NAME_MAX + 32];
        if (find_in(&r->vg_disk, vg))
            continue;
        for (size_t k = 0; k < r->volumes.n; k++) {
            if (!streq(r->volumes.items[k].vg, vg))
                continue;
            snprintf(path, sizeof path, "%s/%s/slaves", block_root, r->volumes.items[k].device);
            dir_each(r->h->sys_fd, path, slave_add, &b, NULL);
        }
        if (!b.pv || b.several)
            continue;
        const char *disk = find_in(&r->partition_disk, b.pv);
        if (!disk && find_in(&r->disk_number, b.pv))
            disk = b.pv;
        if (disk)
            vec_push(&r->vg_disk, ((struct storage_pair){ vg, disk }));
    }
}

/* ---- mounts ---------------------------------------------------------------------------------- */

/* "\040" is a blank. */
static const char *unescape(struct arena *a, struct str s)
{
    char *out = arena_alloc(a, s.n + 1, 1);
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        unsigned code = 0;
        if (s.p[i] == '\\' && i + 3 < s.n &&
            sscanf((char[]){ s.p[i + 1], s.p[i + 2], s.p[i + 3], 0 }, "%3o", &code) == 1) {
            out[n++] = (char)code;
            i += 3;
        } else {
            out[n++] = s.p[i];
        }
    }
    out[n] = '\0';
    return out;
}

/* "36 35 98:0 /root /mount/point options [optional ...] - type source options" */
static int mount_add(struct reader *r, struct str line, struct kerr *err)
{
    enum { POINT = 4 };
    struct str word, point = { 0 }, rest = line;
    bool split = false;

    for (int field = 0; !split && text_word(&rest, &word); field++) {
        if (field == POINT)
            point = word;
        split = field > POINT && str_eqz(word, "-");
    }
    struct str type, source;
    if (!split || !text_word(&rest, &type) || !text_word(&rest, &source))
        return kerr_set(err, -EINVAL, "mountinfo has the line '%.*s'", (int)MIN(line.n, (size_t)96),
                        line.p);
    vec_push(&r->mount_source,
             ((struct storage_pair){ unescape(r->arena, point), unescape(r->arena, source) }));
    return 0;
}

/* Those of process 1: a container has others. */
static int mounts_text(const struct host *h, struct str *ret, struct kerr *err)
{
    int r = kernelfile_once(h->proc_fd, "1/mountinfo", h->buf, ret, err);
    return r < 0 && err ? kerr_wrap(err, "%s", h->roots.proc) : r;
}

/* ---- all together ---------------------------------------------------------------------------- */

static uint64_t stamp_of(const struct host *h)
{
    struct str text;

    if (kernelfile_once(h->proc_fd, "partitions", h->buf, &text, NULL) < 0)
        return 0;
    uint64_t devices = hash_stable(text.p, text.n);
    if (mounts_text(h, &text, NULL) < 0)
        return 0;
    return devices * 31 + hash_stable(text.p, text.n);
}

static int read_all(struct reader *r, struct kerr *err)
{
    struct str text, line;

    if (r->h->sys_fd < 0)
        return kerr_set(err, -ENOENT, "there is no %s", r->h->roots.sys);
    int code = dir_each(r->h->sys_fd, block_root, block_add, r, err);
    if (code < 0)
        return code;
    groups_add(r);
    code = mounts_text(r->h, &text, err);
    while (code == 0 && text_line(&text, &line))
        code = mount_add(r, line, err);
    return code;
}

int storage_info_read(const struct host *h, struct storage_info *before, struct storage_info **ret,
                      struct kerr *err)
{
    uint64_t stamp = stamp_of(h);

    if (before && stamp && stamp == before->stamp) {
        before->refs++;
        *ret = before;
        return 0;
    }
    CLEANUP(arena_free) struct arena *arena = arena_new();
    struct reader r = { .h = h, .arena = arena };
    int code = read_all(&r, err);
    if (code == 0) {
        struct storage_info *s = xnew0(struct storage_info);
        *s = (struct storage_info){ .refs = 1,
                                    .disk_number = map_of(arena, &r.disk_number),
                                    .number_disk = map_of(arena, &r.number_disk),
                                    .partition_disk = map_of(arena, &r.partition_disk),
                                    .vg_disk = map_of(arena, &r.vg_disk),
                                    .lv_vg = map_of(arena, &r.lv_vg),
                                    .mount_source = map_of(arena, &r.mount_source),
                                    .stamp = stamp };
        s->arena = take(arena);
        *ret = s;
    }
    reader_fini(&r);
    return code;
}

struct storage_info *storage_info_unref(struct storage_info *s)
{
    if (!s || --s->refs > 0)
        return NULL;
    arena_free(s->arena);
    free(s);
    return NULL;
}

const char *storage_disk_of_mount(const struct storage_info *s, const char *mount)
{
    const char *source = storage_find(&s->mount_source, mount);
    if (!source)
        return NULL;
    const char *vg = storage_find(&s->lv_vg, source);
    if (vg)
        return storage_find(&s->vg_disk, vg);
    const char *disk = storage_find(&s->partition_disk, source);
    if (disk)
        return disk;
    return storage_find(&s->disk_number, source) ? source : NULL;
}
