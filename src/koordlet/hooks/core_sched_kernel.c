/* core_sched_kernel.c - prctl(PR_SCHED_CORE).
 *
 * Sharing first takes a cookie onto the calling thread. That thread is made for the purpose and
 * ends: a pool's thread would keep the cookie, and so would everything it runs later.
 */
#include <pthread.h>
#include <sys/prctl.h>

#include "koordlet/hooks/core_sched.h"

enum { CORE = 62 };
enum { GET = 0, CREATE = 1, SHARE_TO = 2, SHARE_FROM = 3 };
enum { THREAD = 0, THREAD_GROUP = 1 };

static int kernel_get(void *arg, pid_t pid, uint64_t *ret)
{
    unsigned long cookie = 0;

    (void)arg;
    if (prctl(CORE, GET, pid, THREAD, &cookie) < 0)
        return -errno;
    *ret = cookie;
    return 0;
}

static int kernel_create(void *arg, pid_t pid)
{
    (void)arg;
    return prctl(CORE, CREATE, pid, THREAD_GROUP, NULL) < 0 ? -errno : 0;
}

struct sharing {
    pid_t from;
    const pid_t *to;
    size_t n;
    bool *ok;
};

static void *on_thread(void *arg)
{
    struct sharing *s = arg;

    if (s->from && prctl(CORE, SHARE_FROM, s->from, THREAD, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < s->n; i++)
        s->ok[i] = prctl(CORE, SHARE_TO, s->to[i], THREAD_GROUP, NULL) == 0;
    return NULL;
}

static void kernel_share(void *arg, pid_t from, const pid_t *to, size_t n, bool *ok)
{
    struct sharing s = { from, to, n, ok };
    pthread_t thread;

    (void)arg;
    for (size_t i = 0; i < n; i++)
        ok[i] = false;
    if (pthread_create(&thread, NULL, on_thread, &s) == 0)
        pthread_join(thread, NULL);
}

const struct core_sched_ops core_sched_ops_kernel = { kernel_get, kernel_create, kernel_share };
