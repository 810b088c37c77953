/* caps.c - looking at the node: cgroup files, procfs, sysfs, sockets. */
#include "koordlet/facts/caps.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "koordlet/facts/caps_int.h"
#include "koordlet/facts/cpuinfo.h"
#include "koordlet/facts/resctrl.h"
#include "koordlet/kernel/naming.h"
#include "koordlet/kernel/parse.h"
#include "koordlet/kernel/sysfs.h"
#include "koordlet/kernel/text.h"
#include "sys/file.h"

static PRINTF(4, 0) void answer(struct caps *c, enum capability which, enum cap_state state,
                                const char *fmt, va_list ap)
{
    c->caps[which].state = state;
    vsnprintf(c->caps[which].reason, sizeof c->caps[which].reason, fmt, ap);
}

void cap_set(struct caps *c, enum capability which, bool yes, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    answer(c, which, yes ? CAP_YES : CAP_NO, fmt, ap);
    va_end(ap);
}

static PRINTF(3, 4) void cap_unknown(struct caps *c, enum capability which, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    answer(c, which, CAP_UNKNOWN, fmt, ap);
    va_end(ap);
}

static bool has_word(struct str text, const char *word)
{
    struct str w;
    while (text_word(&text, &w))
        if (str_eqz(w, word))
            return true;
    return false;
}

/* ---- cgroups --------------------------------------------------------------------------------- */

static void read_cgroup(const struct host *h, struct caps *c)
{
    bool v2 = c->version == CGROUP_V2;

    cap_set(c, CAP_CGROUP_V2, v2, v2 ? "%s is the one hierarchy" : "%s has the hierarchies of v1",
            h->roots.cgroup);
    if (c->driver_known)
        cap_set(c, CAP_KUBEPODS, true, "%s, driver %s", cgroup_kubepods(c->driver),
                c->driver->systemd ? "systemd" : "cgroupfs");
    else
        cap_unknown(c, CAP_KUBEPODS,
                    "%s%s has neither kubepods.slice nor kubepods: no kubelet has run pods here "
                    "yet, or --cgroup-root-dir is not the host's",
                    h->roots.cgroup, v2 ? "" : "cpu/");
}

static void read_controllers(const struct host *h, struct caps *c)
{
    static const struct {
        enum capability cap;
        const char *v1, *v2;
    } controllers[] = {
        { CAP_CPU, "cpu", "cpu" },
        { CAP_CPUSET, "cpuset", "cpuset" },
        { CAP_MEMORY, "memory", "memory" },
        { CAP_BLKIO, "blkio", "io" },
    };
    struct str text = STR("");

    if (c->version == CGROUP_V2 && sysfs_text(h, h->cgroup_fd, &text, "cgroup.controllers") < 0)
        text = STR("");
    for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
        const char *name = c->version == CGROUP_V1 ? controllers[i].v1 : controllers[i].v2;
        bool yes = c->version == CGROUP_V1 ? sysfs_exists(h->cgroup_fd, "%s/", name)
                                           : has_word(text, name);
        if (yes)
            cap_set(c, controllers[i].cap, true, "controller %s", name);
        else
            cap_set(c, controllers[i].cap, false,
                    c->version == CGROUP_V1 ? "%s%s is not mounted"
                                            : "%scgroup.controllers does not list %s",
                    h->roots.cgroup, name);
    }
    bool perf = c->version == CGROUP_V2 || sysfs_exists(h->cgroup_fd, "perf_event/");
    cap_set(c, CAP_PERF_CGROUP, perf,
            perf ? "counters can be bound to cgroups" : "%sperf_event is not mounted",
            h->roots.cgroup);
}

/* Files that only some kernels have. hint: who has them. */
static const struct {
    enum capability cap;
    const char *type, *hint;
} cgroup_files[] = {
    { CAP_CPU_BURST, "cpu.cfs_burst_us", "Linux has it since 5.14" },
    { CAP_CPU_IDLE, "cpu.idle", "Linux has it since 5.15" },
    { CAP_BVT, "cpu.bvt_warp_ns", "only the kernels of Anolis OS and Alibaba Cloud Linux have it" },
    { CAP_MEMORY_MIN, "memory.min", "cgroup v2 has it; v1 on Anolis OS only" },
    { CAP_MEMORY_LOW, "memory.low", "cgroup v2 has it; v1 on Anolis OS only" },
    { CAP_MEMORY_HIGH, "memory.high", "cgroup v2 has it; v1 on Anolis OS only" },
    { CAP_MEMORY_WMARK, "memory.wmark_ratio",
      "only the kernels of Anolis OS and Alibaba Cloud Linux have it" },
    { CAP_MEMORY_WMARK_MIN_ADJ, "memory.wmark_min_adj",
      "only the kernels of Anolis OS and Alibaba Cloud Linux have it" },
    { CAP_MEMORY_PRIORITY, "memory.priority",
      "only the kernels of Anolis OS and Alibaba Cloud Linux have it" },
    { CAP_PSI_CGROUP, "cpu.pressure",
      "cgroup v2 has it when the kernel has pressure stall information; v1 on Anolis OS only" },
    { CAP_BLKIO_THROTTLE, "blkio.throttle.read_bps_device",
      "the kernel is built without CONFIG_BLK_DEV_THROTTLING" },
    { CAP_BLKIO_COST, "blkio.cost.qos",
      "only the kernels of Anolis OS and Alibaba Cloud Linux have it" },
    { CAP_NET_CLS, "net_cls.classid", "the net_cls controller is not mounted" },
};

static void read_cgroup_file(const struct host *h, struct caps *c, enum capability which,
                             const char *type, const char *hint)
{
    const struct cgroup_resource *resource = cgroup_resource_find(c->version, type, NULL);

    if (!resource) {
        cap_set(c, which, false, "koordlet knows %s on cgroup v1 only, and this node has v2", type);
        return;
    }
    const struct cgroup_file *file = &resource->files[c->version];
    const char *dir = file->support == CGROUP_IF_ROOT ? "" : cgroup_kubepods(c->driver);
    const char *slash1 = *file->subsystem ? "/" : "", *slash2 = *dir ? "/" : "";

    if (*dir && !c->driver_known) {
        cap_unknown(c, which, "%s: not known before there is a kubepods cgroup", file->name);
    } else if (sysfs_exists(h->cgroup_fd, "%s%s%s%s%s", file->subsystem, slash1, dir, slash2,
                            file->name)) {
        cap_set(c, which, true, "%s", file->name);
    } else {
        cap_set(c, which, false, "%s%s%s%s%s%s does not exist: %s", h->roots.cgroup,
                file->subsystem, slash1, dir, slash2, file->name, hint);
    }
}

/* The child cgroups of a v1 memory hierarchy, or the root's own CPU file, betray the kernel. */
static int wmark_check(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    (void)arg, (void)err;
    return type == DT_DIR && sysfs_exists(dirfd, "%s/memory.wmark_ratio", name);
}

static void read_anolis(const struct host *h, struct caps *c)
{
    bool v1 = c->version == CGROUP_V1;
    bool bvt = sysfs_exists(h->cgroup_fd, "%scpu.bvt_warp_ns", v1 ? "cpu/" : "");
    bool wmark = dir_each(h->cgroup_fd, v1 ? "memory" : ".", wmark_check, NULL, NULL) == 1;

    cap_set(c, CAP_ANOLIS, bvt || wmark, "%s",
            bvt     ? "cpu.bvt_warp_ns in the root cgroup"
            : wmark ? "memory.wmark_ratio in a cgroup"
                    : "neither cpu.bvt_warp_ns nor memory.wmark_ratio: another kernel");
}

/* ---- procfs and sysfs ------------------------------------------------------------------------ */

static void read_kernel(const struct host *h, struct caps *c)
{
    struct str text;

    if (sysfs_text(h, h->proc_fd, &text, "sys/kernel/osrelease") < 0)
        text = STR("unknown");
    snprintf(c->kernel, sizeof c->kernel, "%.*s", (int)MIN(text.n, sizeof c->kernel - 1), text.p);
}

static void read_psi(const struct host *h, struct caps *c)
{
    struct str text;
    struct psi psi = { 0 };
    struct kerr err = { 0 };
    int r = sysfs_text(h, h->proc_fd, &text, "pressure/cpu");

    if (r == 0)
        r = psi_parse(text.p, text.n, &psi, &err);
    if (r == 0)
        cap_set(c, CAP_PSI, true, "%spressure", h->roots.proc);
    else if (r == -EOPNOTSUPP)
        cap_set(c, CAP_PSI, false, "the kernel has it switched off: boot with psi=1");
    else if (r == -ENOENT)
        cap_set(c, CAP_PSI, false,
                "%spressure does not exist: the kernel is older than 4.20 or "
                "built without CONFIG_PSI",
                h->roots.proc);
    else
        cap_set(c, CAP_PSI, false, "%spressure/cpu: %s", h->roots.proc,
                err.text[0] ? err.text : strerror(-r));
    cap_set(c, CAP_PSI_CPU_FULL, psi.full_supported, "%s",
            psi.full_supported ? "cpu pressure has a line 'full'"
            : r < 0            ? "there is no pressure stall information"
                               : "cpu pressure has no line 'full': Linux has it since 5.13");
}

/* All of these words are flags of the CPUs; else the first that is not. */
static const char *flag_missing(const struct host *h, const char *const *wanted, size_t n)
{
    struct str text, line, flags = STR("");

    if (kernelfile_once(h->proc_fd, "cpuinfo", h->buf, &text, NULL) < 0)
        return wanted[0];
    while (flags.n == 0 && text_line(&text, &line))
        if (text_starts(line, "flags") || text_starts(line, "Features"))
            flags = line;
    for (size_t i = 0; i < n; i++)
        if (!has_word(flags, wanted[i]))
            return wanted[i];
    return NULL;
}

/* Vendors count bandwidth in units of their own. */
static void read_resctrl_control(const struct host *h, struct caps *c)
{
    static const char *const control[] = { "cat_l3", "mba" };
    const char *flag = flag_missing(h, control, ARRAY_LEN(control));
    struct str text = STR("");

    if (kernelfile_once(h->proc_fd, "cpuinfo", h->buf, &text, NULL) < 0)
        text = STR("");
    CLEANUP(mem_free) char *vendor = cpu_vendor(text);
    if (flag)
        cap_set(c, CAP_RESCTRL, false,
                "the CPUs lack the flag %s; virtual machines usually hide it", flag);
    else if (!streq(vendor, "GenuineIntel") && !streq(vendor, "AuthenticAMD"))
        cap_set(c, CAP_RESCTRL, false,
                "the vendor of the CPUs is %s: only GenuineIntel and AuthenticAMD are known",
                vendor);
    else
        cap_set(c, CAP_RESCTRL, true, "the CPUs have cat_l3 and mba");
}

static void read_resctrl(const struct host *h, struct caps *c)
{
    static const char *const monitoring[] = { "cqm_llc", "cqm_occup_llc", "cqm_mbm_total",
                                              "cqm_mbm_local" };
    struct schemata *s = xnew0(struct schemata);
    struct kerr err = { 0 };
    const char *flag = flag_missing(h, monitoring, ARRAY_LEN(monitoring));

    read_resctrl_control(h, c);
    cap_set(c, CAP_RESCTRL_MONITORING, !flag,
            flag ? "the CPUs lack the flag %s; virtual machines usually hide it"
                 : "the CPUs count cache occupancy and memory traffic%s",
            flag ? flag : "");
    int r = resctrl_root_read(h, s, &err);
    if (r == 0)
        cap_set(c, CAP_RESCTRL_MOUNTED, true, "%sresctrl, %u caches%s", h->roots.sys_fs,
                MAX(s->nl3, s->nmb),
                !s->nmb   ? "; it shares no memory bandwidth"
                : !s->nl3 ? "; it shares memory bandwidth only"
                          : "");
    else if (r == -ENOENT)
        cap_set(c, CAP_RESCTRL_MOUNTED, false,
                "%sresctrl is not mounted (mount -t resctrl resctrl /sys/fs/resctrl)",
                h->roots.sys_fs);
    else
        cap_set(c, CAP_RESCTRL_MOUNTED, false, "%s", err.text);
    free(s);
}

static void read_kidled(const struct host *h, struct caps *c)
{
    static const char *const files[] = { "scan_period_in_seconds", "use_hierarchy" };

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (!sysfs_exists(h->sys_fd, "kernel/mm/kidled/%s", files[i])) {
            cap_set(c, CAP_COLD_PAGES, false,
                    "%skernel/mm/kidled/%s does not exist: only the kernels of Anolis OS and "
                    "Alibaba Cloud Linux have kidled",
                    h->roots.sys, files[i]);
            return;
        }
    }
    if (c->version == CGROUP_V2)
        cap_set(c, CAP_COLD_PAGES, false,
                "the kernel has kidled, but memory.idle_page_stats is on cgroup v1 only");
    else
        cap_set(c, CAP_COLD_PAGES, true, "%skernel/mm/kidled", h->roots.sys);
}

static void read_group_identity(const struct host *h, struct caps *c)
{
    bool yes = sysfs_exists(h->proc_fd, "sys/kernel/sched_group_identity_enabled");
    cap_set(c, CAP_GROUP_IDENTITY, yes,
            yes ? "%ssys/kernel/sched_group_identity_enabled"
                : "%ssys/kernel/sched_group_identity_enabled does not exist: only newer kernels of "
                  "Alibaba Cloud Linux have the switch",
            h->roots.proc);
}

static int first_entry(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    (void)dirfd, (void)type, (void)err;
    snprintf(arg, NAME_MAX + 1, "%s", name);
    return 1;
}

static void read_devices(const struct host *h, struct caps *c)
{
    char rdma[NAME_MAX + 1] = "";
    bool has =
        h->sys_fd >= 0 && dir_each(h->sys_fd, "class/infiniband", first_entry, rdma, NULL) == 1;

    cap_set(c, CAP_RDMA, has,
            has ? "%.32s in %sclass/infiniband"
                : "%.0sno device in %sclass/infiniband: no RDMA hardware, or its driver is not "
                  "loaded",
            rdma, h->roots.sys);
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    cap_set(c, CAP_NVML, nvml != NULL, "%s",
            nvml ? "libnvidia-ml.so.1"
                 : "libnvidia-ml.so.1 is not found: no NVIDIA driver, or the container lacks its "
                   "library");
    if (nvml)
        dlclose(nvml);
}

/* ---- sockets --------------------------------------------------------------------------------- */

static bool is_file(const char *dir, const char *name, char *path, size_t size)
{
    struct stat st;

    snprintf(path, size, "%s%s", dir, name);
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* The path below the host's run directory; an endpoint of a flag is a whole one, perhaps a URL. */
static bool endpoint_at(const struct host *h, const char *endpoint, bool from_flag, char *path,
                        size_t size)
{
    static const char scheme[] = "unix://";

    if (str_empty(endpoint))
        return false;
    if (!from_flag)
        return is_file(h->roots.var_run, endpoint, path, size);
    return is_file("", str_starts(endpoint, scheme) ? endpoint + strlen(scheme) : endpoint, path,
                   size);
}

static void read_sockets(const struct host *h, const struct caps_options *o, struct caps *c)
{
    const struct {
        const char *name, *places[2], *flag;
    } runtimes[] = {
        { "containerd",
          { "containerd/containerd.sock", "containerd.sock" },
          o->containerd_endpoint },
        { "docker", { "docker.sock", NULL }, o->docker_endpoint },
        { "pouch", { "pouchcri.sock", NULL }, o->pouch_endpoint },
        { "cri-o", { "crio/crio.sock", "crio.sock" }, o->crio_endpoint },
    };
    const char *nri = str_empty(o->nri_socket) ? "nri/nri.sock" : o->nri_socket;
    char path[512];
    bool found = false;

    for (size_t i = 0; !found && i < ARRAY_LEN(runtimes); i++) {
        found = endpoint_at(h, runtimes[i].places[0], false, path, sizeof path) ||
                endpoint_at(h, runtimes[i].places[1], false, path, sizeof path) ||
                endpoint_at(h, runtimes[i].flag, true, path, sizeof path);
        if (found)
            cap_set(c, CAP_RUNTIME, true, "%s at %.150s", runtimes[i].name, path);
    }
    if (!found)
        cap_set(c, CAP_RUNTIME, false,
                "no socket of containerd, docker, pouch or cri-o in %s, nor where a flag says",
                h->roots.var_run);
    if (is_file(h->roots.var_run, nri, path, sizeof path))
        cap_set(c, CAP_NRI, true, "%.180s", path);
    else
        cap_set(c, CAP_NRI, false,
                "%.60s%.40s does not exist: enable NRI in the runtime's configuration (containerd "
                "1.7: disable = false in [plugins.\"io.containerd.nri.v1.nri\"])",
                h->roots.var_run, nri);
}

void caps_set_nri(struct caps *c, bool connected, const char *status)
{
    if (connected || c->caps[CAP_NRI].state == CAP_YES) /* else the reason why there is no socket */
        cap_set(c, CAP_NRI, connected, "%s", status);
}

void caps_read(const struct host *h, const struct caps_options *o, struct caps *ret)
{
    static const struct caps_options none = { 0 };

    *ret = (struct caps){ .version = h->version,
                          .driver = h->driver,
                          .driver_known = h->driver_known };
    read_kernel(h, ret);
    read_cgroup(h, ret);
    read_controllers(h, ret);
    for (size_t i = 0; i < ARRAY_LEN(cgroup_files); i++)
        read_cgroup_file(h, ret, cgroup_files[i].cap, cgroup_files[i].type, cgroup_files[i].hint);
    read_anolis(h, ret);
    read_psi(h, ret);
    read_resctrl(h, ret);
    read_kidled(h, ret);
    read_group_identity(h, ret);
    read_devices(h, ret);
    read_sockets(h, o ? o : &none, ret);
    caps_try_perf(h, ret);
    caps_try_core_sched(h, ret);
}
