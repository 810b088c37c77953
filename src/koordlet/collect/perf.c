/* perf.c - perf_event_open() for cgroups. */
#include "koordlet/collect/perf.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/file.h"

static int kernel_open(int cgroup_fd, int cpu, enum perf_event event, int leader, struct kerr *err)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attr,
        .config = event == PERF_CYCLES ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .disabled = leader < 0, /* a member counts whenever its leader does */
        .exclude_hv = 1,
        .inherit = 1,
    };
    CLEANUP(fd_close)
    int fd = (int)syscall(SYS_perf_event_open, &attr, cgroup_fd, cpu, leader,
                          PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);

    if (fd < 0 && (errno == ENOENT || errno == EOPNOTSUPP || errno == ENODEV || errno == ENOSYS))
        return kerr_set(err, -EOPNOTSUPP,
                        "the CPUs do not count cycles and instructions for us "
                        "(a virtual machine?)");
    if (fd < 0 || (leader < 0 && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0))
        return kerr_set(err, -errno, "perf_event_open: %s", strerror(errno));
    int opened = fd;
    fd = -1;
    return opened;
}

static int kernel_read(int fd, struct perf_value *ret, struct kerr *err)
{
    uint64_t words[3];
    ssize_t n = RETRY_EINTR(read(fd, words, sizeof words));

    if (n != (ssize_t)sizeof words)
        return kerr_set(err, n < 0 ? -errno : -EIO, "read a counter: %s",
                        n < 0 ? strerror(errno) : "too short");
    *ret = (struct perf_value){ words[0], words[1], words[2] };
    return 0;
}

const struct perf_driver perf_kernel = { kernel_open, kernel_read };

double perf_scaled(const struct perf_value *v)
{
    if (v->enabled == 0 || v->running == 0)
        return (double)v->count;
    return (double)v->count * ((double)v->enabled / (double)v->running);
}
