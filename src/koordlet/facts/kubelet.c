/* kubelet.c - the cgroup driver of the kubelet that runs here, by its process. */
#include <dirent.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "koordlet/kernel/host.h"
#include "koordlet/kernel/sysfs.h"
#include "koordlet/kernel/text.h"
#include "sys/file.h"
#include "json/kj.h"

enum { CONFIG_MAX = 1 << 20 };

/* ---- who listens ----------------------------------------------------------------------------- */

/* "   0: 00000000:280A 00000000:0000 0A ... uid timeout inode": the inode when this line is a
 * socket that listens on the port. */
static bool listener_of_line(struct str line, uint16_t port, uint64_t *ret_inode)
{
    enum { LOCAL = 1, STATE = 3, INODE = 9 };
    struct str word;
    char text[64];
    unsigned local_port = 0;

    for (int field = 0; field <= INODE && text_word(&line, &word); field++) {
        snprintf(text, sizeof text, "%.*s", (int)MIN(word.n, sizeof text - 1), word.p);
        if (field == LOCAL) {
            const char *colon = strrchr(text, ':');
            if (!colon || sscanf(colon + 1, "%4x", &local_port) != 1 || local_port != port)
                return false;
        } else if (field == STATE && !streq(text, "0A")) {
            return false;
        } else if (field == INODE) {
            char *end;
            *ret_inode = strtoull(text, &end, 10);
            return *end == '\0' && *ret_inode > 0;
        }
    }
    return false;
}

static int listener_find(struct host *h, uint16_t port, uint64_t *ret_inode, struct kerr *err)
{
    /* Those of process 1 count when the agent has a network of its own. */
    static const char *const tables[] = { "net/tcp6", "net/tcp", "1/net/tcp6", "1/net/tcp" };
    struct str text, line;

    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        if (kernelfile_once(h->proc_fd, tables[i], h->buf, &text, NULL) < 0)
            continue;
        while (text_line(&text, &line))
            if (listener_of_line(line, port, ret_inode))
                return 0;
    }
    return kerr_set(err, -ENOENT, "nothing listens on port %u, where the kubelet should be", port);
}

static bool process_holds(int proc_fd, const char *pid, const char *socket)
{
    char path[64], target[64];

    snprintf(path, sizeof path, "%s/fd", pid);
    int fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        fd_close(fd);
        return false;
    }
    bool found = false;
    for (struct dirent *e; !found && (e = readdir(dir));) {
        ssize_t n = readlinkat(fd, e->d_name, target, sizeof target - 1);
        target[MAX(n, (ssize_t)0)] = '\0';
        found = n > 0 && streq(target, socket);
    }
    closedir(dir);
    return found;
}

struct search {
    char socket[40];
    int32_t pid;
};

static int process_check(int dirfd, const char *name, unsigned char type, void *arg,
                         struct kerr *err)
{
    struct search *s = arg;
    int32_t pid = sysfs_number(name, "");

    (void)type, (void)err;
    if (pid <= 0 || !process_holds(dirfd, name, s->socket))
        return 0;
    s->pid = pid;
    return 1;
}

/* ---- how it was started ---------------------------------------------------------------------- */

/* The value of a flag in a command line of NUL-terminated words; the last one counts. */
static bool flag_value(const struct strbuf *cmdline, const char *name, struct str *ret)
{
    const char *p = strbuf_str(cmdline), *end = p + cmdline->len;
    size_t n = strlen(name);
    bool found = false;

    for (; p < end; p += strlen(p) + 1) {
        size_t dashes = strspn(p, "-");
        const char *word = p + dashes;
        if (dashes < 1 || dashes > 2 || strncmp(word, name, n) != 0)
            continue;
        if (word[n] == '=') {
            *ret = str_of(word + n + 1);
            found = true;
        } else if (word[n] == '\0' && p + strlen(p) + 1 < end) {
            *ret = str_of(p + strlen(p) + 1);
            found = true;
        }
    }
    return found;
}

static int driver_parse(struct str name, const char *where, bool *ret_systemd, struct kerr *err)
{
    if (str_eqz(name, "systemd"))
        *ret_systemd = true;
    else if (str_eqz(name, "cgroupfs"))
        *ret_systemd = false;
    else
        return kerr_set(err, -EINVAL, "%s: there is no cgroup driver '%.*s'", where,
                        (int)MIN(name.n, (size_t)64), name.p);
    return 0;
}

struct settings {
    bool has_driver; /* a flag gives it */
    bool systemd;
    char *root; /* cgroupRoot; NULL: not said */
};

/* Links in the path are followed as the kubelet sees them, not as this process would. */
static int open_in_root(int rootfd, const char *path)
{
    struct open_how how = { .flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
    int fd = (int)syscall(SYS_openat2, rootfd, path, &how, sizeof how);

    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = openat(rootfd, path + strspn(path, "/"), O_RDONLY | O_CLOEXEC);
    return fd;
}

static int config_open(int pidfd, const char *path)
{
    CLEANUP(fd_close) int root = openat(pidfd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char dir[PATH_MAX], whole[2 * PATH_MAX];

    if (path[0] == '/')
        return open_in_root(root, path);
    ssize_t n = readlinkat(pidfd, "cwd", dir, sizeof dir - 1);
    if (n <= 0) {
        n = readlinkat(pidfd, "exe", dir, sizeof dir - 1);
        while (n > 0 && dir[n - 1] != '/')
            n--;
    }
    snprintf(whole, sizeof whole, "%.*s/%s", (int)MAX(n, (ssize_t)0), dir, path);
    return open_in_root(root, whole);
}

/* What its file says; a flag that was given beside it counts. */
static int settings_of_config(int pidfd, const char *path, struct settings *ret, struct kerr *err)
{
    CLEANUP(fd_close) int fd = config_open(pidfd, path);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (fd < 0)
        return kerr_set(err, -errno, "open the kubelet's configuration %s: %s", path,
                        strerror(errno));
    int r = fd_read_all(fd, path, CONFIG_MAX, &text, err);
    if (r == 0)
        r = kj_parse_yaml(strbuf_str(&text), text.len, 0, &doc, err);
    if (r < 0)
        return kerr_wrap(err, "the kubelet's configuration %s", path);
    if (!ret->root)
        ret->root = xstrdup(kj_str_or(kj_get(kj_root(doc), "cgroupRoot"), ""));
    if (ret->has_driver)
        return 0;
    const char *name = kj_str_or(kj_get(kj_root(doc), "cgroupDriver"), "");
    return driver_parse(str_of(*name ? name : "cgroupfs"), path, &ret->systemd, err);
}

static int settings_read(int pidfd, const struct strbuf *cmdline, struct settings *ret,
                         struct kerr *err)
{
    struct str value;

    if (flag_value(cmdline, "cgroup-root", &value) && value.n > 0)
        ret->root = xstrndup(value.p, value.n);
    if (flag_value(cmdline, "cgroup-driver", &value)) {
        ret->has_driver = true;
        if (driver_parse(value, "--cgroup-driver of the kubelet", &ret->systemd, err) < 0)
            return err->code;
    }
    if (!flag_value(cmdline, "config", &value))
        return 0; /* cgroupfs is the kubelet's own default */
    int r = settings_of_config(pidfd, value.p, ret, err);
    return r < 0 && ret->has_driver ? 0 : r; /* the driver is known all the same */
}

int host_driver_of_kubelet(struct host *h, uint16_t port, const struct cgroup_layout **ret,
                           struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf cmdline = STRBUF_INIT;
    struct search search = { .pid = 0 };
    struct settings settings = { 0 };
    uint64_t inode = 0;
    char dir[16];

    int r = listener_find(h, port, &inode, err);
    if (r < 0)
        return r;
    snprintf(search.socket, sizeof search.socket, "socket:[%llu]", (unsigned long long)inode);
    r = dir_each(h->proc_fd, ".", process_check, &search, err);
    if (r < 0)
        return r;
    if (search.pid == 0)
        return kerr_set(err, -ENOENT,
                        "no process in %s holds the socket that listens on port %u "
                        "(is hostPID set?)",
                        h->roots.proc, port);
    snprintf(dir, sizeof dir, "%d", search.pid);
    CLEANUP(fd_close) int pidfd = openat(h->proc_fd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (pidfd < 0)
        return kerr_set(err, -errno, "open %s%s: %s", h->roots.proc, dir, strerror(errno));
    r = file_read_all(pidfd, "cmdline", CONFIG_MAX, &cmdline, err);
    if (r < 0)
        return kerr_wrap(err, "process %d", search.pid);
    r = settings_read(pidfd, &cmdline, &settings, err);
    if (r == 0)
        *ret = host_layout(h, settings.systemd, str_or(settings.root, ""));
    free(settings.root);
    return r;
}
