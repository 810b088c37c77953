/* klog.c - one line, one write. */
#include "base/klog.h"

#include <stdio.h>
#include <unistd.h>

#include "base/ktime.h"
#include "base/num.h"
#include "base/strbuf.h"

int klog_level;

/* Both hooks are set while no other thread logs: before it is started, as that is what makes them
 * known to it, or after it has ended. klog_emit() may then run on any. */
static struct {
    klog_clock_fn now;
    void *arg;
} klog_clock;
static struct {
    klog_sink_fn put;
    void *arg;
} klog_sink;

void klog_set_level(int v)
{
    __atomic_store_n(&klog_level, v, __ATOMIC_RELAXED);
}

void klog_set_clock(klog_clock_fn now, void *arg)
{
    klog_clock.now = now;
    klog_clock.arg = arg;
}

bool klog_has_clock(void)
{
    return klog_clock.now != NULL;
}

void klog_set_sink(klog_sink_fn put, void *arg)
{
    klog_sink.put = put;
    klog_sink.arg = arg;
}

static nsec_t wall_now(void)
{
    struct timespec ts;

    if (klog_clock.now)
        return klog_clock.now(klog_clock.arg);
    /* The one clock read outside loop/: lines printed before a loop exists need a time too. */
    clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* klog prints local time; we print UTC, as the API does: no time zone file is read for a log line
 * and simulated runs print the same text everywhere. */
static void put_header(struct strbuf *b, char severity, const char *file, int line)
{
    struct ktime_civil t = ktime_civil(wall_now());

    strbuf_appendf(b, "%c%02d%02d %02d:%02d:%02d.%06d %7d %s:%d] ", severity, t.month, t.day,
                   t.hour, t.minute, t.second, t.nanos / 1000, (int)getpid(), file, line);
}

/* Lines are indented by a tab and the closing mark by a blank, so that no line of the value can
 * pass for the end. */
static void put_multiline(struct strbuf *b, const char *s)
{
    strbuf_append(b, "<\n");
    while (*s) {
        size_t n = strcspn(s, "\n");
        strbuf_appendc(b, '\t');
        strbuf_appendn(b, s, n);
        strbuf_appendc(b, '\n');
        s += n + (s[n] == '\n');
    }
    strbuf_append(b, " >");
}

static void put_string(struct strbuf *b, const char *s)
{
    if (!s)
        s = "";
    if (strchr(s, '\n'))
        put_multiline(b, s);
    else
        strbuf_append_quoted(b, s, strlen(s));
}

static void put_value(struct strbuf *b, const struct kkv *kv)
{
    char text[KTIME_TEXT_MAX];

    switch (kv->type) {
    case 's': put_string(b, kv->s); break;
    case 'i': strbuf_append_i64(b, kv->i); break;
    case 'b': strbuf_append(b, kv->i ? "true" : "false"); break;
    case 'f': strbuf_appendn(b, text, f64_format(kv->f, text, sizeof text)); break;
    case 'd': strbuf_append_quoted(b, text, kdur_format(kv->i, text)); break;
    default: abort(); /* a kind of value that does not exist */
    }
}

static void put_pair(struct strbuf *b, const struct kkv *kv)
{
    strbuf_appendc(b, ' ');
    strbuf_append(b, kv->key);
    strbuf_appendc(b, '=');
    put_value(b, kv);
}

/* A log that cannot be written is lost: there is nobody left to tell. */
static void write_stderr(const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(STDERR_FILENO, text, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return;
        text += done;
        n -= (size_t)done;
    }
}

static void put_line(struct strbuf *b)
{
    strbuf_appendc(b, '\n');
    if (klog_sink.put)
        klog_sink.put(klog_sink.arg, b->data, b->len);
    else
        write_stderr(b->data, b->len);
}

void klog_emit(char severity, const char *file, int line, const struct kerr *err, const char *msg,
               const struct kkv *kvs)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    int saved = errno; /* callers log between a failure and its strerror() */

    strbuf_reserve(&b, 250);
    put_header(&b, severity, file, line);
    strbuf_append_quoted(&b, msg, strlen(msg));
    if (err)
        put_pair(&b, &(struct kkv)KV_S("err", err->text));
    for (; kvs && kvs->key; kvs++)
        put_pair(&b, kvs);
    put_line(&b);
    errno = saved;
}

void klog_text_at(const char *file, int line, const char *text)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    put_header(&b, 'I', file, line);
    strbuf_append(&b, text);
    put_line(&b);
}
