/* metax.c - MetaX GPUs, by mx-smi. */
#include <ctype.h>
#include <errno.h>

#include "devicedaemon/vendor.h"

enum { VENDOR_ID = 0x9999 };

/* The first line of a card that is no virtual part of one. */
static struct str line_of(struct str text, const char *card)
{
    for (struct str line; text_line(&text, &line);)
        if (!str_has(line, "SGPU")) {
            const char *at = memmem(line.p, line.n, card, strlen(card));
            size_t end = at ? (size_t)(at - line.p) + strlen(card) : 0;
            if (at && (end == line.n || !isdigit((unsigned char)line.p[end]))) /* not GPU#10 */
                return line;
        }
    return (struct str){ "", 0 };
}

/* "64GB" or "64 GB" -> "64Gi" */
static int read_memory(struct survey *s, struct str line, const char **ret, struct kerr *err)
{
    struct str field = line_field(line, 4);
    size_t digits = 0;

    while (digits < field.n && isdigit((unsigned char)field.p[digits]))
        digits++;
    struct str unit = { field.p + digits, field.n - digits };
    if (digits == 0 || (unit.n > 0 && !str_eqz(unit, "GB") && !str_eqz(unit, "GiB")))
        return kerr_set(err, -EINVAL, "mx-smi --show-hwinfo: Memory Capacity is \"%.*s\"",
                        (int)field.n, field.p);
    *ret = arena_printf(s->a, "%.*sGi", (int)digits, field.p);
    return 0;
}

/* Errors that memory could not correct. */
static void read_errors(struct survey *s, struct card *c, struct str text)
{
    int64_t errors = 0;

    for (struct str line; text_line(&text, &line);)
        if (str_has(line, "SRAM Uncorrectable") || str_has(line, "DRAM Uncorrectable") ||
            str_has(line, "Double Bit ECC"))
            errors = MAX(errors, field_number(line_field(line, -1), 0));
    if (errors == 0)
        return;
    c->healthy = false;
    c->err_code = "ECC error";
    c->err_message =
        arena_printf(s->a, "uncorrectable memory errors of GPU %s: %" PRId64, c->minor, errors);
}

static int look_at_card(struct survey *s, const struct vendor *v, const char *minor,
                        struct str list, const char *model, const char *memory, struct kerr *err)
{
    const char *name = arena_printf(s->a, "GPU#%s", minor);
    struct str uuid = line_field(line_of(list, name), 6), info, errors;

    while (uuid.n > 0 && strchr("()", uuid.p[0]))
        uuid.p++, uuid.n--;
    while (uuid.n > 0 && strchr("()", uuid.p[uuid.n - 1]))
        uuid.n--;
    if (uuid.n == 0)
        return kerr_set(err, -EINVAL, "mx-smi --list: no UUID of %s", name);
    int e = ASK(s, v, &info, err, "--show-hwinfo", "-i", minor);
    if (e < 0)
        return e;
    struct card *c = survey_card(s, v->name);
    if (!c)
        return kerr_set(err, -E2BIG, "more than %d cards", CARDS_MAX);
    c->model = model;
    c->minor = minor;
    c->uuid = arena_strndup(s->a, uuid.p, uuid.n);
    card_resource(c, "koordinator.sh/gpu-memory", memory);
    card_resource(c, "koordinator.sh/gpu-core", "100");
    card_place(s, c, line_field(line_of(info, name), 3));
    if (ASK(s, v, &errors, NULL, "--count-ecc", "-i", minor) == 0)
        read_errors(s, c, errors);
    return 0;
}

static int look(struct survey *s, const struct vendor *v, struct kerr *err)
{
    struct str info, list, model = { "", 0 };
    const char *memory = NULL;
    uint32_t n = 0;

    int e = ASK(s, v, &info, err, "--show-hwinfo");
    if (e == 0)
        e = ASK(s, v, &list, err, "--list");
    if (e < 0)
        return e;
    struct str rest = info;
    for (struct str line; text_line(&rest, &line);)
        if (str_has(line, "Model Name") && n++ == 0)
            model = line_field(line, 4);
    if (model.n == 0)
        return kerr_set(err, -EINVAL, "mx-smi --show-hwinfo: no Model Name");
    e = read_memory(s, text_line_with(info, "Memory Capacity"), &memory, err);
    if (e < 0)
        return e;
    const char *name = arena_strndup(s->a, model.p, model.n);
    for (uint32_t i = 0; i < MIN(n, (uint32_t)CARDS_MAX); i++) {
        const char *minor = arena_printf(s->a, "%" PRIu32, i);
        struct kerr why = { 0 };
        if (look_at_card(s, v, minor, list, name, memory, &why) < 0)
            survey_leave_out(s, v, minor, &why);
    }
    return 0;
}

const struct vendor vendor_metax = { "metax", "mx-smi", VENDOR_ID, NULL, look };
