/* cambricon.c - MLUs, by cnmon. */
#include <errno.h>

#include "devicedaemon/vendor.h"

enum { VENDOR_ID = 0xcabc };

/* ---- what is true of all cards --------------------------------------------------------------- */

static int ask_model(struct survey *s, const struct vendor *v, const char **ret_model,
                     uint32_t *ret_cards, struct kerr *err)
{
    struct str text, model = { "", 0 };
    uint32_t n = 0;

    int e = ASK(s, v, &text, err, "-l");
    if (e < 0)
        return e;
    for (struct str line; text_line(&text, &line);) {
        n += str_has(line, "UUID");
        for (int i = 1; model.n == 0 && line_field(line, i).n > 0; i++)
            if (str_has(line_field(line, i), "MLU"))
                model = line_field(line, i);
    }
    if (model.n == 0)
        return kerr_set(err, -EINVAL, "cnmon -l: no MLU");
    *ret_model = arena_strndup(s->a, model.p, model.n);
    *ret_cards = MIN(n, (uint32_t)CARDS_MAX);
    return 0;
}

static int ask_memory(struct survey *s, const struct vendor *v, const char **ret, struct kerr *err)
{
    struct str text, line;

    int e = ASK(s, v, &text, err, "info");
    if (e < 0)
        return e;
    while (text_line(&text, &line) && !str_has(line, "Physical Memory Usage"))
        ;
    int64_t mib = field_number(line_field(text_line_with(text, "Total"), -2), -1);
    if (mib < 0)
        return kerr_set(err, -EINVAL, "cnmon info: no Total below Physical Memory Usage");
    *ret = arena_printf(s->a, "%" PRId64 "Mi", mib);
    return 0;
}

/* ---- one card -------------------------------------------------------------------------------- */

/* Both a number of the bus address and a verdict on the card are called "Device". */
static void read_device(struct survey *s, struct card *c, struct str text, struct str *ret_number)
{
    c->healthy = false; /* until it says so */
    for (struct str line; text_line(&text, &line);) {
        struct str word = line_field(line, 1), value = line_field(line, -1);
        if (!str_eqz(word, "Device") && !str_eqz(word, "Device:"))
            continue;
        if (field_number(value, -1) >= 0)
            *ret_number = value;
        else if (str_eqz(value, "Good"))
            c->healthy = true;
        else
            c->err_message = arena_printf(s->a, "Device is %.*s", (int)value.n, value.p);
    }
}

static struct str value_of(struct str text, const char *key)
{
    return line_field(text_line_with(text, key), -1);
}

static int look_at_card(struct survey *s, const struct vendor *v, const char *minor,
                        const char *model, const char *memory, struct kerr *err)
{
    struct str text, device = { "", 0 };

    int e = ASK(s, v, &text, err, "info", "-c", minor);
    if (e < 0)
        return e;
    struct str uuid = line_field(text_line_with(text, "UUID"), 3),
               node = value_of(text, "NUMA node id"), domain = value_of(text, "Domain ID"),
               bus = value_of(text, "Bus num"), function = value_of(text, "Function");
    if (uuid.n == 0)
        return kerr_set(err, -EINVAL, "cnmon info -c %s: no UUID", minor);
    struct card *c = survey_card(s, v->name);
    if (!c)
        return kerr_set(err, -E2BIG, "more than %d cards", CARDS_MAX);
    c->model = model;
    c->minor = minor;
    c->uuid = arena_strndup(s->a, uuid.p, uuid.n);
    card_resource(c, "koordinator.sh/gpu-memory", memory);
    card_resource(c, "koordinator.sh/gpu-core", "100");
    read_device(s, c, text, &device);
    if (domain.n && bus.n && device.n && function.n)
        card_place(
            s, c,
            str_of(arena_printf(s->a, "%.*s:%.*s:%.*s.%.*s", (int)domain.n, domain.p, (int)bus.n,
                                bus.p, (int)device.n, device.p, (int)function.n, function.p)));
    if (node.n > 0) /* what the vendor says counts */
        c->node = field_number(node, -1) < 0 ? "0" : arena_strndup(s->a, node.p, node.n);
    return 0;
}

static int look(struct survey *s, const struct vendor *v, struct kerr *err)
{
    const char *model = NULL, *memory = NULL;
    uint32_t n = 0;

    int e = ask_model(s, v, &model, &n, err);
    if (e == 0)
        e = ask_memory(s, v, &memory, err);
    for (uint32_t i = 0; e == 0 && i < n; i++) {
        const char *minor = arena_printf(s->a, "%" PRIu32, i);
        struct kerr why = { 0 };
        if (look_at_card(s, v, minor, model, memory, &why) < 0)
            survey_leave_out(s, v, minor, &why);
    }
    return e;
}

const struct vendor vendor_cambricon = { "cambricon", "cnmon", VENDOR_ID, NULL, look };
