/* resctrl.c - schemata of the QoS classes (koordlet-qos 11.2, 11.3). */
#include "koordlet/qos/resctrl/resctrl.h"

#include "koordlet/kernel/sysfs.h"
#include "koordlet/kernel/text.h"

const char *const resctrl_group_names[RESCTRL_GROUPS] = { "LSR", "LS", "BE" };

/* ---- what the kernel has --------------------------------------------------------------------- */

/* The root's line under the name that the parser knows: with CDP both lines have the same IDs. */
int resctrl_layout_parse(struct str text, struct resctrl_layout *ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf plain = STRBUF_INIT;
    CLEANUP(mem_free) struct schemata *s = xnew0(struct schemata);
    struct str line;

    ret->cdp = false;
    while (text_line(&text, &line)) {
        line = text_trim(line);
        if (line.n >= 7 && memcmp(line.p, "L3CODE:", 7) == 0) {
            ret->cdp = true;
            strbuf_appendf(&plain, "L3:%.*s\n", (int)(line.n - 7), line.p + 7);
        } else if (line.n < 7 || memcmp(line.p, "L3DATA:", 7) != 0) {
            strbuf_appendf(&plain, "%.*s\n", (int)line.n, line.p);
        }
    }
    int r = schemata_parse(strbuf_str(&plain), plain.len, -1, s, err);
    if (r < 0)
        return r;
    if (s->nl3 + s->nmb == 0)
        return kerr_set(err, -ENODATA, "resctrl's root has neither L3 masks nor MB values");
    ret->nl3 = s->nl3;
    ret->nmb = s->nmb;
    for (uint32_t i = 0; i < s->nl3; i++)
        ret->l3[i] = s->l3[i].cache;
    for (uint32_t i = 0; i < s->nmb; i++)
        ret->mb[i] = s->mb[i].cache;
    return 0;
}

/* ---- whose settings -------------------------------------------------------------------------- */

const struct resctrl_qos *resctrl_of_group(const struct resource_qos_strategy *s, int group)
{
    const struct resource_qos *class = group == 0 ? s->lsr : group == 1 ? s->ls : s->be;

    return class ? class->resctrl : NULL;
}

int resctrl_group_of(const struct resource_qos_strategy *s, const struct npod *p)
{
    int group = p->qos == QOS_LSE || p->qos == QOS_LSR ? 0
                : p->qos == QOS_LS                     ? 1
                : p->qos == QOS_BE                     ? 2
                                                       : -1;
    const struct resctrl_qos *q = group >= 0 ? resctrl_of_group(s, group) : NULL;

    if (!q || !q->enable.set || !q->enable.v ||
        kstrmap_get(&npod_pod(p)->obj.meta.annotations, ANNO_RESCTRL))
        return -1;
    return group;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* format writes "L3:..." or "MB:..."; name replaces that. */
static void put_line(struct plan *p, struct plan_at at, const char *name, const int32_t *ids,
                     uint32_t n, uint64_t value,
                     void (*format)(const struct resctrl_item *, size_t, struct strbuf *))
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct resctrl_item *items = arena_newn0(p->arena, n, struct resctrl_item);

    for (uint32_t i = 0; i < n; i++)
        items[i] = (struct resctrl_item){ ids[i], value };
    format(items, n, &text);
    plan_item(p, at, PLAN_RESCTRL_SCHEMATA, name,
              arena_printf(p->arena, "%s%s", name, strchr(strbuf_str(&text), ':')));
}

static void note(struct kerr *bad, const struct kerr *err, const char *group)
{
    if (bad->code != 0)
        return;
    *bad = *err;
    kerr_wrap(bad, "resctrl group %s", group);
}

static void propose_l3(const struct resctrl_qos *q, const struct resctrl_layout *l,
                       struct plan_at at, struct plan *p, struct kerr *bad)
{
    struct opt_i64 start = q->cat_range_start_percent, end = q->cat_range_end_percent;
    struct kerr err;
    uint64_t mask;

    if (l->nl3 == 0 || l->cbm == 0 || !start.set || !end.set)
        return;
    if (resctrl_l3_mask(l->cbm, start.v, end.v, &mask, &err) < 0) {
        note(bad, &err, at.dir);
        return;
    }
    if (mask == 0) /* fewer ways than percent: the kernel takes no empty mask */
        return;
    put_line(p, at, l->cdp ? "L3CODE" : "L3", l->l3, l->nl3, mask, schemata_l3_format);
    if (l->cdp)
        put_line(p, at, "L3DATA", l->l3, l->nl3, mask, schemata_l3_format);
}

static void propose_mb(const struct resctrl_qos *q, const struct resctrl_layout *l,
                       const char *vendor, struct plan_at at, struct plan *p, struct kerr *bad)
{
    struct kerr err;
    uint64_t value;

    if (l->nmb == 0 || !q->mba_percent.set)
        return;
    if (resctrl_mb_value(vendor, q->mba_percent.v, &value, &err) < 0)
        note(bad, &err, at.dir);
    else
        put_line(p, at, "MB", l->mb, l->nmb, value, schemata_mb_format);
}

void resctrl_propose(const struct resctrl_qos *const of[RESCTRL_GROUPS],
                     const struct resctrl_layout *l, const char *vendor, struct plan *p,
                     struct kerr *ret_bad)
{
    ret_bad->code = 0;
    for (int i = 0; i < RESCTRL_GROUPS; i++) {
        struct plan_at at = { .dir = resctrl_group_names[i] };
        plan_number(p, at, PLAN_RESCTRL_GROUP, 1);
        if (!of[i])
            continue;
        propose_l3(of[i], l, at, p, ret_bad);
        propose_mb(of[i], l, vendor, at, p, ret_bad);
    }
}
