/* up_clock.c - the clock of koordctl up: --pace, and what a faster clock leaves for the next start.
 *
 * Everything that is stored has times of that clock, so the next run goes on where this one ended:
 * a file says how far ahead of the system's clock it is.
 */
#include "base/klog.h"
#include "base/ktime.h"
#include "base/num.h"
#include "ctl/up.h"
#include "loop/loop.h"
#include "sys/file.h"

#define CLOCK_FILE  "clock"
#define SAVE_EVERY  NSEC_PER_SEC /* of the system's time */
#define AHEAD_MAX_S (INT64_C(100) * 365 * 86400)

static nsec_t read_ahead(const struct up_dir *d)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    int64_t seconds;

    if (file_read_all(d->fd, CLOCK_FILE, 64, &text, NULL) < 0)
        return 0;
    size_t n = strcspn(strbuf_str(&text), "\n");
    if (i64_parse(strbuf_str(&text), n, &seconds) < 0 || seconds < 0 || seconds > AHEAD_MAX_S)
        return 0;
    return seconds * NSEC_PER_SEC;
}

static nsec_t ahead_of_system(const struct up_clock *c)
{
    nsec_t ours = loop_wall(c->loop) - c->wall0, systems = loop_stopwatch(c->loop) - c->began;
    return ours - systems;
}

static void save(struct up_clock *c)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kerr err = { 0 };

    /* Rounded up: what was stored last is in the past of the next start. */
    strbuf_appendf(&text, "%lld\n", (long long)(ahead_of_system(c) / NSEC_PER_SEC + 1));
    if (file_write_atomic(c->dir->fd, CLOCK_FILE, text.data, text.len, 0600, &err) < 0)
        KLOG_E(&err, "Failed to save the clock; the next start may go back in time");
}

static void on_save(struct loop *l, void *arg)
{
    struct up_clock *c = arg;

    save(c);
    c->timer = loop_after(l, loop_outside(l, SAVE_EVERY), on_save, c);
}

void up_clock_start(struct up_clock *c, struct loop *l, const struct up_dir *dir, unsigned pace)
{
    nsec_t ahead = read_ahead(dir);

    *c = (struct up_clock){
        .loop = l, .dir = dir, .pace = pace, .wall0 = loop_wall(l), .began = loop_stopwatch(l)
    };
    if (ahead > 0)
        loop_set_wall(l, c->wall0 + ahead);
    if (pace <= 1)
        return;
    loop_set_pace(l, pace);
    c->timer = loop_after(l, 0, on_save, c);
}

void up_clock_stop(struct up_clock *c)
{
    c->timer = timer_cancel(c->timer);
    if (c->pace > 1)
        save(c);
}

void up_clock_text(const struct up_clock *c, struct strbuf *out)
{
    char now[KTIME_TEXT_MAX];
    nsec_t ahead = ahead_of_system(c) / NSEC_PER_SEC;

    if (c->pace <= 1 && ahead < 60)
        return;
    ktime_format(loop_wall(c->loop), now);
    strbuf_appendf(out, "clock        %s", now);
    if (c->pace > 1)
        strbuf_appendf(out, ", %u times as fast as the system's", c->pace);
    else
        strbuf_appendf(out, ", %lld h %lld min ahead after runs with --pace",
                       (long long)ahead / 3600, (long long)ahead % 3600 / 60);
    strbuf_appendc(out, '\n');
}
