/* klog.h - log lines in klog's format, so that people's tools and eyes work.
 *
 *     KLOG_I(2, "Bound pod", KV_S("pod", key), KV_S("node", node), KV_I("score", score));
 *     KLOG_E(&err, "Failed to apply cpuset", KV_S("pod", key));
 *
 * Return an error or log it, never both; only a loop callback or main logs. Arguments are not
 * evaluated when the level is off. The message is a constant sentence, values are keys.
 * Levels: V0 what an operator must see, V2 the usual level, V4 decisions per pod, V6 per node.
 */
#ifndef KOORD_BASE_KLOG_H
#define KOORD_BASE_KLOG_H
#include "base/base.h"

struct kkv {
    const char *key;
    char type; /* 's' string, 'i' integer, 'f' double, 'b' bool, 'd' nanoseconds as a duration */
    union {
        const char *s;
        int64_t i;
        double f;
    };
};
#define KV_S(k, v)                        \
    {                                     \
        .key = (k), .type = 's', .s = (v) \
    }
#define KV_I(k, v)                                 \
    {                                              \
        .key = (k), .type = 'i', .i = (int64_t)(v) \
    }
#define KV_F(k, v)                        \
    {                                     \
        .key = (k), .type = 'f', .f = (v) \
    }
#define KV_B(k, v)                        \
    {                                     \
        .key = (k), .type = 'b', .i = (v) \
    }
#define KV_D(k, v)                        \
    {                                     \
        .key = (k), .type = 'd', .i = (v) \
    }

#define KLOG_KVS_(...) ((const struct kkv[]){ __VA_ARGS__ __VA_OPT__(, ){ 0 } })
#define KLOG_I(v, msg, ...)                                                               \
    do {                                                                                  \
        if (klog_on(v))                                                                   \
            klog_emit('I', __FILE_NAME__, __LINE__, NULL, (msg), KLOG_KVS_(__VA_ARGS__)); \
    } while (0)
#define KLOG_W(msg, ...) \
    klog_emit('W', __FILE_NAME__, __LINE__, NULL, (msg), KLOG_KVS_(__VA_ARGS__))
/* err: a struct kerr *, printed first as err="..."; NULL when there is none. */
#define KLOG_E(err, msg, ...) \
    klog_emit('E', __FILE_NAME__, __LINE__, (err), (msg), KLOG_KVS_(__VA_ARGS__))

/* A text as it is, with line breaks: tables that somebody asked for. */
#define klog_text(text) klog_text_at(__FILE_NAME__, __LINE__, (text))

extern int klog_level; /* read through klog_on(); the one process-wide setting */

static inline bool klog_on(int v)
{
    return __atomic_load_n(&klog_level, __ATOMIC_RELAXED) >= v;
}
void klog_set_level(int v); /* safe from any thread, at run time */
void klog_emit(char severity, const char *file, int line, const struct kerr *err, const char *msg,
               const struct kkv *kvs);
void klog_text_at(const char *file, int line, const char *text);

/* Where time comes from: simulated runs print simulated time. NULL: the real clock. Lines show UTC.
 * Set the hooks while the program has one thread. */
typedef nsec_t (*klog_clock_fn)(void *arg);
void klog_set_clock(klog_clock_fn now, void *arg);
bool klog_has_clock(void); /* one was set */
/* Where lines go: NULL is stderr. text ends with a newline. */
typedef void (*klog_sink_fn)(void *arg, const char *text, size_t n);
void klog_set_sink(klog_sink_fn sink, void *arg);

#endif
