/* kjw.c - a stream of JSON tokens straight into a buffer. */
#include "base/ktime.h"
#include "base/num.h"
#include "json/kj.h"

struct kjw kjw_to(struct strbuf *out)
{
    return (struct kjw){ .out = out };
}

/* Level 0 is the top, whose only value needs no comma and no key. */
static void begin_value(struct kjw *w, const char *key)
{
    if (w->depth > 0) {
        uint64_t level = UINT64_C(1) << (w->depth - 1);
        assert(!key == !!(w->is_arr & level)); /* a key in objects, none in arrays */
        if (w->has_items & level)
            strbuf_appendc(w->out, ',');
        w->has_items |= level;
    }
    if (key) {
        kj_append_string(w->out, key, strlen(key));
        strbuf_appendc(w->out, ':');
    }
}

static void open_level(struct kjw *w, const char *key, bool arr)
{
    begin_value(w, key);
    assert(w->depth < 64);
    uint64_t level = UINT64_C(1) << w->depth++;
    w->has_items &= ~level;
    w->is_arr = arr ? w->is_arr | level : w->is_arr & ~level;
    strbuf_appendc(w->out, arr ? '[' : '{');
}

void kjw_obj(struct kjw *w, const char *key)
{
    open_level(w, key, false);
}

void kjw_arr(struct kjw *w, const char *key)
{
    open_level(w, key, true);
}

void kjw_end(struct kjw *w)
{
    assert(w->depth > 0);
    uint64_t level = UINT64_C(1) << --w->depth;
    strbuf_appendc(w->out, w->is_arr & level ? ']' : '}');
}

void kjw_str(struct kjw *w, const char *key, const char *s)
{
    if (s)
        kjw_strn(w, key, s, strlen(s));
    else
        kjw_null(w, key);
}

void kjw_strn(struct kjw *w, const char *key, const char *s, size_t n)
{
    begin_value(w, key);
    kj_append_string(w->out, s, n);
}

void kjw_i64(struct kjw *w, const char *key, int64_t v)
{
    begin_value(w, key);
    strbuf_append_i64(w->out, v);
}

void kjw_f64(struct kjw *w, const char *key, double v)
{
    char text[40];

    if (v - v != 0) { /* JSON has no infinities and no NaN */
        kjw_null(w, key);
        return;
    }
    begin_value(w, key);
    strbuf_appendn(w->out, text, f64_format(v, text, sizeof text));
}

void kjw_bool(struct kjw *w, const char *key, bool v)
{
    begin_value(w, key);
    strbuf_append(w->out, v ? "true" : "false");
}

void kjw_null(struct kjw *w, const char *key)
{
    begin_value(w, key);
    strbuf_appendn(w->out, "null", 4);
}

void kjw_raw(struct kjw *w, const char *key, const char *json, size_t n)
{
    begin_value(w, key);
    strbuf_appendn(w->out, json, n);
}

void kjw_time(struct kjw *w, const char *key, nsec_t wall)
{
    char text[KTIME_TEXT_MAX];
    size_t n = ktime_format(wall, text);
    kjw_strn(w, key, text, n);
}
