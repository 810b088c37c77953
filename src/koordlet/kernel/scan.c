/* scan.c - directories of pods. */
#include "koordlet/kernel/scan.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "koordlet/kernel/convert.h"
#include "koordlet/kernel/sysfs.h"
#include "sys/file.h"

static int cpuset_dir_open(const struct host *h, const char *dir, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "%s%s", h->version == CGROUP_V1 ? "cpuset/" : "", dir);
    int fd = openat(h->cgroup_fd, strbuf_str(&path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return kerr_set(err, -errno, "open %s%s: %s", h->roots.cgroup, strbuf_str(&path),
                        strerror(errno));
    return fd;
}

/* ---- the sandbox ----------------------------------------------------------------------------- */

struct sandbox_search {
    const struct cgroup_layout *driver;
    const char *const *known;
    size_t nknown, found;
    struct strbuf *names; /* of the candidates, for people */
    struct strbuf *id;    /* of the first */
};

static bool is_known(const struct sandbox_search *s, struct str id)
{
    for (size_t i = 0; i < s->nknown; i++) {
        struct str runtime, known;
        if (container_id_split(s->known[i], &runtime, &known, NULL) == 0 && str_eq(known, id))
            return true;
    }
    return false;
}

static int sandbox_check(int dirfd, const char *name, unsigned char type, void *arg,
                         struct kerr *err)
{
    struct sandbox_search *s = arg;
    struct str id;

    (void)dirfd, (void)err;
    if (type != DT_DIR || cgroup_container_id(s->driver, name, &id, NULL) < 0 || is_known(s, id))
        return 0;
    /* With a scope it is a container of CRI-O, or its monitor. */
    if (str_starts(name, "crio-") && str_ends(name, ".scope"))
        return 0;
    if (s->found++ == 0)
        strbuf_appendn(s->id, id.p, id.n);
    strbuf_appendf(s->names, "%s%s", s->found > 1 ? " " : "", name);
    return 0;
}

int cgroup_sandbox_id(const struct host *h, const char *pod_dir, const char *const *container_ids,
                      size_t n, struct strbuf *out, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf names = STRBUF_INIT, id = STRBUF_INIT;
    struct sandbox_search s = {
        .driver = h->driver, .known = container_ids, .nknown = n, .names = &names, .id = &id
    };
    struct str runtime, some_id;

    if (n == 0)
        return 0;
    int r = container_id_split(container_ids[0], &runtime, &some_id, err);
    if (r < 0)
        return r;
    CLEANUP(fd_close) int fd = cpuset_dir_open(h, pod_dir, err);
    if (fd < 0)
        return fd;
    r = dir_each(fd, ".", sandbox_check, &s, err);
    if (r < 0)
        return r;
    if (s.found != 1)
        return kerr_set(err, -EAGAIN,
                        "candidates of sandbox id is %zu, some container is not ready, detail [%s]",
                        s.found, strbuf_str(&names));
    strbuf_appendf(out, "%.*s://%s", (int)runtime.n, runtime.p, strbuf_str(&id));
    return 0;
}

/* ---- best effort ----------------------------------------------------------------------------- */

enum { READS_PER_SCAN = 60, READS_PER_LOOK = 10 };

struct be_cpus {
    struct host *h;
    int dirfd; /* of the class; -1: not open */
    nlink_t links;
    struct vec_of(struct kernelfile) files; /* the class's own first */
    struct cpuset own, least;               /* as they were read last */
    unsigned reads;                         /* since the last scan */
    bool stale;
};

struct be_cpus *be_cpus_new(struct host *h)
{
    struct be_cpus *b = xnew0(struct be_cpus);
    *b = (struct be_cpus){ .h = h, .dirfd = -1, .stale = true };
    return b;
}

static void kernelfiles_close(struct be_cpus *b)
{
    vec_foreach(&b->files, i)
        kernelfile_close(&b->files.items[i]);
    vec_clear(&b->files);
}

struct be_cpus *be_cpus_free(struct be_cpus *b)
{
    if (!b)
        return NULL;
    kernelfiles_close(b);
    vec_fini(&b->files);
    fd_close(b->dirfd);
    free(b);
    return NULL;
}

void be_cpus_changed(struct be_cpus *b)
{
    b->stale = true;
}

static int kernelfile_add(struct be_cpus *b, int dirfd, const char *dir, struct kerr *err)
{
    const char *file = b->h->version == CGROUP_V1 ? "cpuset.cpus" : "cpuset.cpus.effective";
    struct kernelfile p = KERNELFILE_INIT;
    char path[NAME_MAX + 32];

    snprintf(path, sizeof path, "%s/%s", dir, file);
    int r = kernelfile_open(&p, dirfd, path, err);
    if (r == 0)
        vec_push(&b->files, p);
    return r;
}

/* A directory that vanishes meanwhile is none. */
static int container_add(int dirfd, const char *name, unsigned char type, void *arg,
                         struct kerr *err)
{
    int r = type == DT_DIR ? kernelfile_add(arg, dirfd, name, err) : 0;
    return r == -ENOENT || r == -ENODEV ? 0 : r;
}

static int pod_add(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    int r = type == DT_DIR ? dir_each(dirfd, name, container_add, arg, err) : 0;
    return r == -ENOENT || r == -ENODEV ? 0 : r;
}

static nlink_t links_of(int dirfd)
{
    struct stat st;
    return fstat(dirfd, &st) == 0 ? st.st_nlink : 0;
}

static int be_scan(struct be_cpus *b, struct kerr *err)
{
    const char *dir = cgroup_qos_dir(b->h->driver, KUBE_QOS_BEST_EFFORT);

    kernelfiles_close(b);
    b->dirfd = fd_close(b->dirfd);
    int fd = cpuset_dir_open(b->h, dir, err);
    if (fd < 0)
        return fd;
    b->dirfd = fd;
    b->links = links_of(fd); /* before the walk: what comes during it is seen next time */
    int r = kernelfile_add(b, fd, ".", err);
    if (r == 0)
        r = dir_each(fd, ".", pod_add, b, err);
    if (r < 0)
        return kerr_wrap(err, "%s", dir);
    b->stale = false;
    b->reads = 0;
    return 0;
}

static bool wants_scan(const struct be_cpus *b)
{
    return b->stale || b->reads >= READS_PER_SCAN || links_of(b->dirfd) != b->links;
}

static int cpus_of(struct be_cpus *b, size_t i, struct cpuset *ret, struct kerr *err)
{
    struct str text;
    int r = kernelfile_read(&b->files.items[i], b->h->buf, &text, err);

    if (r < 0)
        return r;
    text = text_trim(text);
    return cpus_parse(text.p, text.n, ret, err);
}

/* Who narrows best effort narrows the class and its containers in one go: as long as the class has
 * the CPUs it had, a look at all of the others now and then is enough. */
static bool is_as_before(const struct be_cpus *b, const struct cpuset *own)
{
    return b->reads > 0 && b->reads % READS_PER_LOOK != 0 && cpuset_equal(own, &b->own);
}

/* The class itself must be readable; of the others only what is. */
static int be_least(struct be_cpus *b, struct kerr *err)
{
    struct cpuset own, cpus;

    int r = cpus_of(b, 0, &own, err);
    if (r < 0)
        return kerr_wrap(err, "cpuset of best effort");
    if (is_as_before(b, &own))
        return 0;
    b->own = b->least = own;
    for (size_t i = 1; i < b->files.n; i++) {
        r = cpus_of(b, i, &cpus, err);
        b->stale |= r == -ENODEV;
        unsigned n = r == 0 ? cpuset_count(&cpus) : 0, least = cpuset_count(&b->least);
        if (n > 0 && (n < least || least == 0))
            b->least = cpus;
    }
    return 0;
}

int be_cpus_read(struct be_cpus *b, struct cpuset *ret, struct kerr *err)
{
    bool scanned = wants_scan(b);
    int r = scanned ? be_scan(b, err) : 0;

    if (r == 0)
        r = be_least(b, err);
    /* The class was removed and made again, as a restarted kubelet may do. */
    if (r == -ENODEV && !scanned) {
        r = be_scan(b, err);
        if (r == 0)
            r = be_least(b, err);
    }
    if (r < 0) {
        b->stale = true;
        return r;
    }
    b->reads++;
    *ret = b->least;
    return 0;
}
