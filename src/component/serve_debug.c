/* serve_debug.c - /debug/flags: settings that may change while the program runs. */
#include "base/klog.h"
#include "base/num.h"
#include "component/serve_int.h"

#define FLAGS_PATH "/debug/flags/"

void serve_add_flag(struct serve *s, const struct serve_flag *f, void *arg)
{
    vec_push(&s->settings, ((struct serve_setting){ f, arg }));
}

/* ---- the log level --------------------------------------------------------------------------- */

static int level_set(void *arg, const char *value, struct kerr *err)
{
    int64_t v;

    (void)arg;
    if (i64_parse(value, strlen(value), &v) < 0 || v < INT32_MIN || v > INT32_MAX)
        return kerr_set(err, -EINVAL, "not a whole number");
    klog_set_level((int)v);
    return 0;
}

static void level_get(void *arg, struct strbuf *out)
{
    (void)arg;
    strbuf_append_i64(out, __atomic_load_n(&klog_level, __ATOMIC_RELAXED));
}

static const struct serve_flag level_flag = { "v", "klog.logging.verbosity", level_set, level_get };

/* ---- requests -------------------------------------------------------------------------------- */

static const struct serve_setting *find(struct serve *s, const char *name)
{
    vec_foreach(&s->settings, i)
        if (streq(s->settings.items[i].flag->name, name))
            return &s->settings.items[i];
    return NULL;
}

static const struct serve_setting *setting_of(struct serve *s, struct httpd_req *r)
{
    CLEANUP(arena_free) struct arena *a = arena_new_sized(512);
    const char *path = serve_path(r, a);
    return path ? find(s, serve_rest(path, FLAGS_PATH)) : NULL;
}

static void on_value(void *arg, struct httpd_req *r, char *body, size_t n)
{
    struct serve *s = arg;
    const struct serve_setting *t = setting_of(s, r);
    struct kerr err = { 0 };

    while (n > 0 && (body[n - 1] == '\n' || body[n - 1] == '\r'))
        body[--n] = '\0';
    if (strlen(body) != n) {
        serve_text(r, 400, "failed set %s: the value contains a NUL", t->flag->what);
        return;
    }
    if (t->flag->set(t->arg, body, &err) < 0) {
        serve_text(r, 400, "failed set %s %.80s: %s", t->flag->what, body, err.text);
        return;
    }
    KLOG_I(0, "Changed a setting on request", KV_S("setting", t->flag->what), KV_S("value", body),
           KV_S("peer", httpd_peer(r)));
    serve_text(r, 200, "successfully set %s to %s", t->flag->what, body);
}

static void put_list(struct serve *s, struct strbuf *out)
{
    strbuf_append(out, "<html>\n<head><title>/debug/flags/</title></head>\n<body>\n"
                       "/debug/flags/<br>\n<br>\nflags:<br>\n<table>\n");
    vec_foreach(&s->settings, i)
        strbuf_appendf(out, "<tr><td>%s<td>%s</tr>\n", s->settings.items[i].flag->name,
                       s->settings.items[i].flag->what);
    strbuf_append(out, "</table>\n<br>\nchange one: PUT the value to /debug/flags/NAME\n"
                       "</body>\n</html>\n");
}

static void on_list(void *arg, struct httpd_req *r)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (!serve_allow(r, "GET, HEAD"))
        return;
    put_list(arg, &out);
    serve_plain(r, 200, "text/html; charset=utf-8", out.data, out.len);
}

static void on_flag(void *arg, struct httpd_req *r)
{
    struct serve *s = arg;
    CLEANUP(arena_free) struct arena *a = arena_new_sized(512);
    CLEANUP(strbuf_fini) struct strbuf value = STRBUF_INIT;
    const char *name = serve_rest(serve_path(r, a), FLAGS_PATH);
    const struct serve_setting *t = find(s, name);

    if (!*name) {
        on_list(s, r);
    } else if (!t) {
        serve_text(r, 404, "404 page not found");
    } else if (streq(httpd_method(r), "PUT")) {
        if (serve_may_change(s, r))
            httpd_read_body(r, on_value, s);
    } else if (t->flag->get && streq(httpd_method(r), "GET")) {
        t->flag->get(t->arg, &value);
        serve_text(r, 200, "%s", strbuf_str(&value));
    } else {
        serve_text(r, 406, "unsupported http method");
    }
}

void serve_debug_init(struct serve *s)
{
    serve_add_flag(s, &level_flag, NULL);
    serve_handle(s, "/debug/flags", on_list, s);
    serve_handle(s, FLAGS_PATH, on_flag, s);
}
