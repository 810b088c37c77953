/* rdma.c - the source of RDMA cards: who stands in class/infiniband, by PCI device.
 *
 * The state of a port is asked of the card's firmware, which may take a minute not to answer: scans
 * run on a worker, one at a time.
 */
#include "koordlet/device/rdma.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/num.h"
#include "base/vec.h"
#include "koordlet/collect/collect.h"
#include "koordlet/kernel/sysfs.h"
#include "loop/loop.h"
#include "sys/file.h"

static const char class_dir[] = "class/infiniband";

struct rdma_name { /* an RDMA device and whose it is */
    char name[RDMA_NAME_SIZE], address[PCI_ADDRESS_SIZE];
};
struct scan { /* the worker's while it is under way; outlives its owner then */
    const struct rdma_driver *driver;
    struct rdma_self *owner; /* NULL: gone */
    struct host host;        /* the machine's sysfs, with a buffer of its own */
    struct kernelfile_buf buf;
    struct vec_of(struct rdma_name) names;
    struct arena *arena;
    struct rdma_info *cards; /* in the arena */
    uint32_t n;
    bool healthy[RDMA_CARDS_MAX]; /* of cards, until the end: the loop's thread reads those */
    /* The card whose ports are asked for, complete but for its health; NULL: none. */
    _Atomic(const struct rdma_info *) asking;
    struct kerr err; /* code 0: it went well */
};
struct rdma_self {
    struct scan *scan;
    bool known, under_way;
    const struct rdma_info *asking; /* as it was seen last */
    nsec_t asked_at, next;          /* monotonic; asked_at: since when the scan is where it is */
    struct arena *arena;            /* of out */
    struct rdma_infos out;
    struct kerr err; /* of the last scan, for the next round */
};

/* ---- health ---------------------------------------------------------------------------------- */

struct ports {
    const struct host *host;
    const char *device;
    uint32_t n, active;
};

static int look_at_port(int dirfd, const char *name, unsigned char type, void *arg,
                        struct kerr *err)
{
    struct ports *p = arg;
    struct str state;

    (void)dirfd, (void)type, (void)err;
    p->n++;
    if (sysfs_text(p->host, p->host->sys_fd, &state, "%s/%s/ports/%s/state", class_dir, p->device,
                   name) == 0 &&
        memmem(state.p, state.n, "ACTIVE", 6))
        p->active++;
    return 0;
}

static bool is_healthy(const struct host *h, const char *device)
{
    struct ports p = { .host = h, .device = device };
    char dir[128];

    snprintf(dir, sizeof dir, "%s/%s/ports", class_dir, device);
    return dir_each(h->sys_fd, dir, look_at_port, &p, NULL) == 0 && p.n > 0 && p.active == p.n;
}

const struct rdma_driver rdma_kernel = { is_healthy };

/* ---- one card -------------------------------------------------------------------------------- */

/* "mlx5_3" -> 3; -1 for other names. */
static int32_t minor_of(const char *name)
{
    uint64_t generation, minor;
    const char *line = strchr(name, '_');

    if (!str_starts(name, "mlx") || !line ||
        u64_parse(name + 3, (size_t)(line - name) - 3, &generation) < 0 ||
        u64_parse(line + 1, strlen(line + 1), &minor) < 0 || minor > INT32_MAX)
        return -1;
    return (int32_t)minor;
}

static void read_vfs(const struct host *h, struct arena *a, struct rdma_info *ret)
{
    uint32_t cap = (uint32_t)MIN(ret->pci.nvfs, (int32_t)PCI_VFS_MAX);

    if (ret->pci.nvfs <= 0)
        return;
    ret->vfs = arena_zalloc_n(a, cap, sizeof *ret->vfs);
    ret->nvfs = (uint32_t)MIN(pci_virtfns(h, &ret->pci, ret->vfs, cap), (size_t)cap);
}

/* All but its health. false: nothing to report. */
static bool read_card(const struct host *h, const struct rdma_name *n, struct arena *a,
                      struct rdma_info *ret)
{
    *ret = (struct rdma_info){ .minor = minor_of(n->name) };
    if (ret->minor < 0 || pci_device_read(h, n->address, &ret->pci, NULL) < 0 ||
        !pci_is_network(&ret->pci) || ret->pci.physfn[0])
        return false;
    snprintf(ret->name, sizeof ret->name, "%s", n->name);
    read_vfs(h, a, ret);
    return true;
}

/* ---- scan ------------------------------------------------------------------------------------ */

static int add_name(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    struct scan *sc = arg;
    struct rdma_name one = { 0 };
    char address[64];

    (void)dirfd, (void)type, (void)err;
    if (strlen(name) >= sizeof one.name)
        return 0;
    sysfs_link_name(sc->host.sys_fd, address, sizeof address, "%s/%s/device", class_dir, name);
    if (pci_address_parse(address, one.address, NULL) < 0)
        return 0; /* a software device has no card */
    snprintf(one.name, sizeof one.name, "%s", name);
    vec_push(&sc->names, one);
    return 0;
}

/* The names come in order: the first of a card is its smallest. */
static bool is_first(const struct scan *sc, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (streq(sc->names.items[k].address, sc->names.items[i].address))
            return false;
    return true;
}

static void ask_card(struct scan *sc, uint32_t i)
{
    atomic_store(&sc->asking, &sc->cards[i]);
    sc->healthy[i] = sc->driver->is_healthy(&sc->host, sc->cards[i].name);
    atomic_store(&sc->asking, NULL);
}

static void on_worker(void *arg)
{
    struct scan *sc = arg;
    const struct host *h = &sc->host;

    sc->err = (struct kerr){ 0 };
    vec_clear(&sc->names);
    if (sysfs_exists(h->sys_fd, "%s", class_dir) &&
        dir_each(h->sys_fd, class_dir, add_name, sc, &sc->err) < 0) {
        kerr_wrap(&sc->err, "look for RDMA devices");
        return;
    }
    size_t cap = MIN(sc->names.n, (size_t)RDMA_CARDS_MAX);
    arena_reset(sc->arena);
    sc->cards = arena_newn0(sc->arena, cap, struct rdma_info);
    sc->n = 0;
    for (size_t i = 0; i < sc->names.n && sc->n < cap; i++)
        if (is_first(sc, i) && read_card(h, &sc->names.items[i], sc->arena, &sc->cards[sc->n]))
            ask_card(sc, sc->n++);
}

static struct scan *scan_new(struct rdma_self *owner, const struct collect_env *e)
{
    struct scan *sc = xnew0(struct scan);
    const struct host *h = e->host;

    sc->driver = e->rdma ? e->rdma : &rdma_kernel;

    sc->owner = owner;
    sc->arena = arena_new();
    sc->host = (struct host){ .roots = { .sys = "" }, .buf = &sc->buf };
    sc->host.cgroup_fd = sc->host.proc_fd = sc->host.sys_fs_fd = -1;
    sc->host.sys_fd = h->sys_fd < 0 ? -1 : fcntl(h->sys_fd, F_DUPFD_CLOEXEC, 0);
    return sc;
}

static void scan_free(struct scan *sc)
{
    fd_close(sc->host.sys_fd);
    free(sc->buf.p);
    vec_fini(&sc->names);
    arena_free(sc->arena);
    free(sc);
}

static void on_done(struct loop *l, void *arg)
{
    struct scan *sc = arg;
    struct rdma_self *s = sc->owner;

    (void)l;
    if (!s) {
        scan_free(sc);
        return;
    }
    s->under_way = false;
    s->err = sc->err;
    s->known = true;
    if (sc->err.code < 0)
        return;
    struct arena *before = s->arena;
    s->arena = sc->arena;
    sc->arena = before;
    for (uint32_t i = 0; i < sc->n; i++)
        sc->cards[i].healthy = sc->healthy[i];
    s->out = (struct rdma_infos){ .n = sc->n, .items = sc->cards };
}

/* ---- a scan that hangs ----------------------------------------------------------------------- */

/* What is known of other cards stands. The card may be a new one, whose parts are in the arena of
 * the scan: that becomes the arena of the next answer. */
static void mark_silent(struct rdma_self *s, const struct rdma_info *card)
{
    uint32_t n = s->out.n, at = 0;

    while (at < n && !streq(s->out.items[at].pci.address, card->pci.address))
        at++;
    if (at < n && s->out.items[at].silent)
        return;
    struct rdma_info *items = arena_newn0(s->arena, n + 1, struct rdma_info);
    if (n)
        memcpy(items, s->out.items, n * sizeof *items);
    if (at == n)
        items[s->out.n++] = *card;
    items[at].healthy = false;
    items[at].silent = true;
    s->out.items = items;
}

static int wait_on(struct rdma_self *s, nsec_t now, struct kerr *err)
{
    const struct rdma_info *card = atomic_load(&s->scan->asking);

    if (card != s->asking) {
        s->asking = card;
        s->asked_at = now;
    }
    if (now - s->asked_at < RDMA_STUCK_AFTER)
        return 0;
    s->known = true;
    if (!card)
        return kerr_set(err, -ETIMEDOUT, "the scan of %s does not end", class_dir);
    mark_silent(s, card);
    return kerr_set(err, -ETIMEDOUT, "the RDMA card %s (%s) does not say how its ports are",
                    card->name, card->pci.address);
}

/* ---- the source ------------------------------------------------------------------------------ */

static bool rdma_enabled(const struct collect_env *e)
{
    return gates_on(&e->o->gates, GATE_RDMA_DEVICES);
}

static int rdma_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    struct rdma_self *s = xnew0(struct rdma_self);

    (void)err;
    s->arena = arena_new();
    s->out.partial = true;
    s->scan = scan_new(s, e);
    *ret = s;
    return 0;
}

static void rdma_destroy(void *self)
{
    struct rdma_self *s = self;

    if (s->under_way)
        s->scan->owner = NULL;
    else
        scan_free(s->scan);
    arena_free(s->arena);
    free(s);
}

static int rdma_node_round(void *self, struct collect_env *e, int64_t ms, struct kerr *err)
{
    struct rdma_self *s = self;
    nsec_t now = loop_mono(e->loop);

    (void)ms;
    if (s->under_way)
        return wait_on(s, now, err);
    if (now >= s->next) {
        s->next = now + RDMA_SCAN_EVERY;
        s->asked_at = now;
        s->asking = NULL;
        s->under_way = true;
        loop_work(e->loop, on_worker, on_done, s->scan);
    }
    if (s->err.code == 0)
        return 0;
    *err = s->err;
    s->err = (struct kerr){ 0 };
    return err->code;
}

static const void *rdma_infos(const void *self)
{
    const struct rdma_self *s = self;
    return s->known ? &s->out : NULL;
}

const struct device_source device_source_rdma = {
    .type = "RDMA",
    .enabled = rdma_enabled,
    .setup = rdma_setup,
    .destroy = rdma_destroy,
    .node_round = rdma_node_round,
    .infos = rdma_infos,
};
