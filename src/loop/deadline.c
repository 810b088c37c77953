/* deadline.c - the end of a process that waits for what may never come. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "loop/loop.h"

struct deadline {
    struct timespec after;
    void (*last_words)(void *arg);
    void *arg;
    int exit_code;
};

static void *deadline_main(void *arg)
{
    struct deadline *d = arg;

    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &d->after, &d->after) == EINTR)
        ;
    d->last_words(d->arg);
    _exit(d->exit_code);
}

int process_end_within(nsec_t after, void (*last_words)(void *arg), void *arg, int exit_code)
{
    struct deadline *d = xnew0(struct deadline);
    pthread_t thread;

    *d = (struct deadline){
        { after / NSEC_PER_SEC, (long)(after % NSEC_PER_SEC) }, last_words, arg, exit_code
    };
    int e = pthread_create(&thread, NULL, deadline_main, d);
    if (e != 0) {
        free(d);
        return -e;
    }
    pthread_detach(thread);
    return 0;
}
