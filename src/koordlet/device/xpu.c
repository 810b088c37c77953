/* xpu.c - the source of described accelerators: files, read again when one of them changed. */
#include "koordlet/device/xpu.h"

#include <sys/stat.h>

#include "api/protocol/annotation.h"
#include "base/klog.h"
#include "base/vec.h"
#include "koordlet/collect/collect.h"
#include "loop/loop.h"
#include "sys/file.h"

/* ---- the form of a file ---------------------------------------------------------------------- */

static const struct kfield link_fields[] = {
    KF(struct xpu_link, peers, "peerMinor", KF_STR),
    KF(struct xpu_link, type, "type", KF_STR),
};
static const struct kschema link_schema = KSCHEMA("P2PLink", struct xpu_link, link_fields);

#define F(member, json, type, ...) KF(struct xpu_topology, member, json, type, __VA_ARGS__)
static const struct kfield topology_fields[] = {
    KF_LIST_OF(struct xpu_topology, links, "p2pLinks", KF_OBJ, .sub = &link_schema),
    F(must_honor, "mustHonorPartition", KF_BOOL),
    F(socket, "socketID", KF_STR),
    F(node, "nodeID", KF_STR),
    F(pcie, "pcieID", KF_STR),
    F(bus, "busID", KF_STR),
};
#undef F
static const struct kschema topology_schema =
    KSCHEMA("XPUTopology", struct xpu_topology, topology_fields);

static const struct kfield status_fields[] = {
    KF(struct xpu_status, healthy, "healthy", KF_BOOL),
    KF(struct xpu_status, code, "errCode", KF_STR),
    KF(struct xpu_status, message, "errMessage", KF_STR),
};
static const struct kschema status_schema = KSCHEMA("XPUStatus", struct xpu_status, status_fields);

#define F(member, json, type, ...) KF(struct xpu_device, member, json, type, __VA_ARGS__)
static const struct kfield device_fields[] = {
    F(vendor, "vendor", KF_STR),
    F(model, "model", KF_STR),
    F(uuid, "uuid", KF_STR),
    F(minor, "minor", KF_STR),
    KF_MAP_OF(struct xpu_device, resources, "resources", KF_STR),
    F(topology, "topology", KF_OBJ, .sub = &topology_schema),
    F(status, "status", KF_OBJ, .flags = KF_PTR, .sub = &status_schema),
};
#undef F
static const struct kschema device_schema_ = KSCHEMA("XPUDevice", struct xpu_device, device_fields);

struct file_list {
    xpu_devicelist v;
};
static const struct kfield file_fields[] = {
    KF_LIST_OF(struct file_list, v, "", KF_OBJ, .sub = &device_schema_),
};
static const struct kschema file_schema = BARE_SCHEMA("XPUDevices", struct file_list, file_fields);

/* ---- reading --------------------------------------------------------------------------------- */

struct file {
    char *name;
    uint64_t stamp; /* when it was read */
};
struct xpu_self {
    char *dir; /* without a "/" at its end */
    bool read, failing;
    bool good; /* once all files could be used */
    nsec_t next_try;
    uint64_t dir_stamp;
    struct vec_of(struct file) files;
    struct vec_of(struct xpu_device) found; /* of a reading */
    struct arena *arena, *spare;
    struct kerr err; /* of the last reading */
    struct xpu_infos out;
};

static int check_list(const struct xpu_self *s, const xpu_devicelist *l, struct kerr *err)
{
    if (s->found.n + l->n > XPU_DEVICES_MAX)
        return kerr_set(err, -E2BIG, "more than %d devices", XPU_DEVICES_MAX);
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->items[i].resources.n > XPU_RESOURCES_MAX)
            return kerr_set(err, -E2BIG, "[%u].resources: more than %d", i, XPU_RESOURCES_MAX);
        if (l->items[i].topology.links.n > XPU_LINKS_MAX)
            return kerr_set(err, -E2BIG, "[%u].topology.p2pLinks: more than %d", i, XPU_LINKS_MAX);
    }
    return 0;
}

static int read_file(struct xpu_self *s, int dirfd, const char *name, struct kerr *err)
{
    struct file_list list = { 0 };
    struct str text;

    int r = file_read_arena(dirfd, name, XPU_FILE_BYTES_MAX, s->spare, &text, err);
    if (r == 0)
        r = kj_decode_text(&file_schema, text.p, text.n, KJ_ANY_CASE, s->spare, &list, err);
    if (r == 0)
        r = check_list(s, &list.v, err);
    if (r < 0)
        return kerr_wrap(err, "%s/%s", s->dir, name);
    for (uint32_t i = 0; i < list.v.n; i++)
        vec_push(&s->found, list.v.items[i]);
    return 0;
}

static int visit(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    struct xpu_self *s = arg;
    struct stat st;

    (void)type;
    if (name[0] == '.' || fstatat(dirfd, name, &st, 0) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (s->files.n == XPU_FILES_MAX)
        return kerr_set(err, -E2BIG, "%s: more than %d files", s->dir, XPU_FILES_MAX);
    /* The stamp is older than what is read: a change meanwhile is seen the next time. */
    struct file f = { xasprintf("%s/%s", s->dir, name), file_stamp(dirfd, name) };
    vec_push(&s->files, f);
    return read_file(s, dirfd, name, err);
}

static void forget_files(struct xpu_self *s)
{
    vec_foreach(&s->files, i)
        free(s->files.items[i].name);
    vec_clear(&s->files);
}

static void keep_found(struct xpu_self *s)
{
    size_t n = s->found.n;
    struct arena *before = s->arena;

    struct xpu_device *items = arena_newn0(s->spare, n, struct xpu_device);
    if (n)
        memcpy(items, s->found.items, n * sizeof *items);
    s->arena = s->spare;
    s->spare = before;
    s->out = (struct xpu_infos){ .devices = { items, (uint32_t)n } };
    s->good = true;
}

static int read_all(struct xpu_self *s, struct kerr *err)
{
    forget_files(s);
    vec_clear(&s->found);
    arena_reset(s->spare);
    s->read = true;
    s->dir_stamp = file_stamp(AT_FDCWD, s->dir);
    int r = s->dir_stamp ? dir_each(AT_FDCWD, s->dir, visit, s, &s->err) : 0;
    if (r == 0) {
        if (s->failing)
            KLOG_I(0, "The files of accelerators can be used again", KV_S("directory", s->dir));
        s->failing = false;
        keep_found(s);
        return 0;
    }
    s->failing = true;
    if (!s->good)
        s->out.problem = s->err.text;
    return kerr_set(err, s->err.code, "%s", s->err.text);
}

static bool has_changed(const struct xpu_self *s)
{
    if (!s->read || file_stamp(AT_FDCWD, s->dir) != s->dir_stamp)
        return true;
    vec_foreach(&s->files, i)
        if (file_stamp(AT_FDCWD, s->files.items[i].name) != s->files.items[i].stamp)
            return true;
    return false;
}

/* ---- the source ------------------------------------------------------------------------------ */

static bool xpu_enabled(const struct collect_env *e)
{
    return gates_on(&e->o->gates, GATE_ACCELERATORS);
}

static int xpu_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    struct xpu_self *s = xnew0(struct xpu_self);

    (void)err;
    s->dir = xstrdup(str_or(e->o->xpu_dir, ""));
    for (size_t n = strlen(s->dir); n > 1 && s->dir[n - 1] == '/'; n--)
        s->dir[n - 1] = '\0';
    s->arena = arena_new();
    s->spare = arena_new();
    *ret = s;
    return 0;
}

static void xpu_destroy(void *self)
{
    struct xpu_self *s = self;

    forget_files(s);
    vec_fini(&s->files);
    vec_fini(&s->found);
    arena_free(s->arena);
    arena_free(s->spare);
    free(s->dir);
    free(s);
}

static int xpu_node_round(void *self, struct collect_env *e, int64_t ms, struct kerr *err)
{
    struct xpu_self *s = self;
    nsec_t now = loop_mono(e->loop);

    (void)ms;
    if (!has_changed(s) && !(s->failing && now >= s->next_try))
        return 0;
    s->next_try = now + XPU_RETRY;
    return read_all(s, err);
}

static const void *xpu_infos(const void *self)
{
    const struct xpu_self *s = self;
    return s->read ? &s->out : NULL;
}

const struct device_source device_source_xpu = {
    .type = "XPU",
    .enabled = xpu_enabled,
    .setup = xpu_setup,
    .destroy = xpu_destroy,
    .node_round = xpu_node_round,
    .infos = xpu_infos,
};
