/* caps_try.c - capabilities that only trying tells: performance counters, core scheduling.
 *
 * Each is one call that changes nothing: a counter that is never started, a cookie that is read.
 */
#include <linux/perf_event.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "koordlet/facts/caps_int.h"
#include "koordlet/kernel/sysfs.h"
#include "sys/file.h"

#ifndef PR_SCHED_CORE /* headers before Linux 5.14 */
#define PR_SCHED_CORE     62
#define PR_SCHED_CORE_GET 0
#endif

/* 0, or the errno. CPU-wide, as the collector does it. */
static int counter_try(uint32_t type, uint64_t config)
{
    struct perf_event_attr attr = {
        .type = type, .size = sizeof attr, .config = config, .disabled = 1, .exclude_hv = 1
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return errno;
    fd_close(fd);
    return 0;
}

void caps_try_perf(const struct host *h, struct caps *c)
{
    int64_t paranoid = -1;
    int code = counter_try(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);

    if (code == 0)
        cap_set(c, CAP_PERF_EVENTS, true, "perf_event_open works");
    else if (code == EACCES || code == EPERM)
        cap_set(c, CAP_PERF_EVENTS, false,
                "perf_event_open is not permitted: the agent needs CAP_PERFMON or CAP_SYS_ADMIN%s",
                sysfs_i64(h, h->proc_fd, &paranoid, "sys/kernel/perf_event_paranoid") == 0 &&
                        paranoid > 0
                    ? ", or kernel.perf_event_paranoid at most 0"
                    : "");
    else
        cap_set(c, CAP_PERF_EVENTS, false, "perf_event_open: %s%s", strerror(code),
                code == ENOSYS ? "; the kernel is built without it, or seccomp forbids it" : "");
    if (code != 0) {
        cap_set(c, CAP_HARDWARE_COUNTERS, false, "perf_event_open cannot be used");
        return;
    }
    code = counter_try(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    if (code == 0)
        code = counter_try(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
    cap_set(c, CAP_HARDWARE_COUNTERS, code == 0,
            code == 0 ? "the CPUs count cycles and instructions%s"
                      : "the CPUs do not count cycles or instructions (%s); virtual machines "
                        "usually hide the counters",
            code == 0 ? "" : strerror(code));
}

/* There it is a switch, older kernels have it among the scheduler's features. */
static void core_sched_of_anolis(const struct host *h, struct caps *c)
{
    struct str text;

    if (sysfs_exists(h->proc_fd, "sys/kernel/sched_core"))
        cap_set(c, CAP_CORE_SCHED, true, "%ssys/kernel/sched_core", h->roots.proc);
    else if (sysfs_text(h, h->sys_fd, &text, "kernel/debug/sched_features") == 0 &&
             memmem(text.p, text.n, "CORE_SCHED", strlen("CORE_SCHED")))
        cap_set(c, CAP_CORE_SCHED, true, "CORE_SCHED in %skernel/debug/sched_features",
                h->roots.sys);
    else
        cap_set(c, CAP_CORE_SCHED, false,
                "neither %ssys/kernel/sched_core nor CORE_SCHED in %skernel/debug/sched_features",
                h->roots.proc, h->roots.sys);
}

void caps_try_core_sched(const struct host *h, struct caps *c)
{
    unsigned long long cookie = 0;

    if (caps_has(c, CAP_ANOLIS)) {
        core_sched_of_anolis(h, c);
        return;
    }
    if (prctl(PR_SCHED_CORE, PR_SCHED_CORE_GET, 0, 0, &cookie) == 0)
        cap_set(c, CAP_CORE_SCHED, true, "prctl(PR_SCHED_CORE) works");
    else if (errno == ENODEV)
        cap_set(c, CAP_CORE_SCHED, false, "the CPUs have no hyper-threads, or they are off");
    else if (errno == EINVAL)
        cap_set(c, CAP_CORE_SCHED, false,
                "the kernel is older than 5.14 or built without CONFIG_SCHED_CORE");
    else
        cap_set(c, CAP_CORE_SCHED, false, "prctl(PR_SCHED_CORE): %s", strerror(errno));
}
