/* deadline.c - the end of a process that waits for what may never come. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "loop/loop.h"

#define WORDS_WITHIN NSEC_PER_SEC

struct deadline {
    nsec_t after;
    void (*last_words)(void *arg);
    void *arg;
    int exit_code;
};

static void sleep_for(nsec_t t)
{
    struct timespec left = { t / NSEC_PER_SEC, (long)(t % NSEC_PER_SEC) };

    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
        ;
}

static void *words_main(void *arg)
{
    struct deadline *d = arg;

    d->last_words(d->arg);
    _exit(d->exit_code);
}

/* Words may block as well: nobody reads the log, or a lock is held by who hangs. */
static void *deadline_main(void *arg)
{
    struct deadline *d = arg;
    pthread_t words;

    sleep_for(d->after);
    if (pthread_create(&words, NULL, words_main, d) == 0)
        sleep_for(WORDS_WITHIN);
    _exit(d->exit_code);
}

int process_end_within(nsec_t after, void (*last_words)(void *arg), void *arg, int exit_code)
{
    struct deadline *d = xnew0(struct deadline);
    pthread_t thread;

    *d = (struct deadline){ after, last_words, arg, exit_code };
    int e = pthread_create(&thread, NULL, deadline_main, d);
    if (e != 0) {
        free(d);
        return -e;
    }
    pthread_detach(thread);
    return 0;
}
