/* kunlun.c - Baidu's Kunlun XPUs, by xpu_smi: a line of many words for each card. */
#include <errno.h>

#include "devicedaemon/vendor.h"

enum { VENDOR_ID = 0x1d22, FIELD_BUS = 1, FIELD_MEMORY = 19, FIELD_MODEL = 22 };

static int look_at_card(struct survey *s, const struct vendor *v, const char *minor,
                        const char *model, const char *memory, struct kerr *err)
{
    struct str text, line = { "", 0 };
    const char *file = arena_printf(s->a, "/dev/xpu%s", minor);

    int e = ASK(s, v, &text, err, "-m", "-d", file);
    if (e < 0)
        return e;
    text_line(&text, &line);
    struct str bus = line_field(line, FIELD_BUS);
    if (bus.n == 0)
        return kerr_set(err, -EINVAL, "xpu_smi -m -d %s: no bus address", file);
    struct card *c = survey_card(s, v->name);
    if (!c)
        return kerr_set(err, -E2BIG, "more than %d cards", CARDS_MAX);
    c->model = model;
    c->minor = minor;
    c->uuid = arena_printf(s->a, "xpu-%s", minor);
    card_resource(c, "koordinator.sh/gpu-memory", memory);
    card_resource(c, "koordinator.sh/gpu-core", "100");
    card_place(s, c, bus);
    return 0;
}

static int look(struct survey *s, const struct vendor *v, struct kerr *err)
{
    struct str text, first = { "", 0 }, line;
    uint32_t n = 0;

    int e = ASK(s, v, &text, err, "-m");
    if (e < 0)
        return e;
    while (text_line(&text, &line))
        if (n++ == 0)
            first = line;
    struct str model = line_field(first, FIELD_MODEL);
    int64_t mib = field_number(line_field(first, FIELD_MEMORY), -1);
    if (model.n == 0 || mib < 0)
        return kerr_set(err, -EINVAL, "xpu_smi -m: no model or memory in its first line");
    const char *name = arena_strndup(s->a, model.p, model.n),
               *memory = arena_printf(s->a, "%" PRId64 "Mi", mib);
    for (uint32_t i = 0; i < MIN(n, (uint32_t)CARDS_MAX); i++) {
        const char *minor = arena_printf(s->a, "%" PRIu32, i);
        struct kerr why = { 0 };
        if (look_at_card(s, v, minor, name, memory, &why) < 0)
            survey_leave_out(s, v, minor, &why);
    }
    return 0;
}

const struct vendor vendor_kunlun = { "kunlun", "xpu_smi", VENDOR_ID, NULL, look };
