/* writer.c - the thread that waits for the disk, so that the loop does not.
 *
 * One batch at a time goes over and comes back; the thread sees nothing else of the store. It says
 * "done" through an eventfd rather than loop_post(): a post cannot be called back when the store is
 * closed with one on its way, a watched descriptor can. The descriptor is watched only while a
 * batch is under way, so an idle store does not keep the loop running.
 */
#include "apiserver/store/internal.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct writer {
    struct loop *loop;
    struct backend *be;
    writer_fn on_done;
    void *arg;
    int fd;
    struct fdwatch *watch;
    pthread_t thread;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t wake;
    struct batch *todo, *done;
    bool stop;
};

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    const uint64_t one = 1;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->todo && !w->stop)
            pthread_cond_wait(&w->wake, &w->lock);
        if (!w->todo)
            break; /* stopped, and nothing under way */
        struct batch *b = take(w->todo);
        pthread_mutex_unlock(&w->lock);
        w->be->ops->commit(w->be, b);
        pthread_mutex_lock(&w->lock);
        w->done = b;
        pthread_mutex_unlock(&w->lock);
        ssize_t n = write(w->fd, &one, sizeof one); /* cannot fail: the counter is far from full */
        (void)n;
        if (w->be->ops->tidy)
            w->be->ops->tidy(w->be);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void on_ready(struct loop *l, int fd, int events, void *arg)
{
    struct writer *w = arg;
    uint64_t count;

    (void)l, (void)events;
    if (read(fd, &count, sizeof count) < 0)
        return;
    pthread_mutex_lock(&w->lock);
    struct batch *b = take(w->done);
    pthread_mutex_unlock(&w->lock);
    if (!b)
        return;
    fdwatch_set(w->watch, 0);
    w->on_done(w->arg, b);
}

void writer_submit(struct writer *w, struct batch *b)
{
    fdwatch_set(w->watch, LOOP_READ);
    pthread_mutex_lock(&w->lock);
    assert(!w->todo && !w->done);
    w->todo = b;
    pthread_mutex_unlock(&w->lock);
    pthread_cond_signal(&w->wake); /* before, it would wake only to wait for the lock */
}

int writer_new(struct loop *l, struct backend *be, writer_fn on_done, void *arg,
               struct writer **ret, struct kerr *err)
{
    struct writer *w = xnew0(struct writer);
    sigset_t all, before;

    w->loop = l;
    w->be = be;
    w->on_done = on_done;
    w->arg = arg;
    w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->watch = w->fd < 0 ? NULL : loop_watch_fd(l, w->fd, LOOP_READ, on_ready, w);
    int e = w->watch ? 0 : errno;
    if (!e) {
        fdwatch_set(w->watch, 0);
        pthread_mutex_init(&w->lock, NULL);
        pthread_cond_init(&w->wake, NULL);
        sigfillset(&all); /* signals are the loop's */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        e = pthread_create(&w->thread, NULL, writer_main, w);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (!e) {
        *ret = w;
        return 0;
    }
    fdwatch_close(w->watch);
    if (w->fd >= 0)
        close(w->fd);
    free(w);
    return kerr_set(err, -e, "start the writer thread: %s", strerror(e));
}

void writer_stop(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    fdwatch_close(w->watch);
    close(w->fd);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->wake);
    free(w);
}
