/* explain_reservation.c - koordctl explain reservation: why it waits, who may use it and who does,
 * what is left of it, when it ends.
 */
#include "api/koord/reservation_life.h"
#include "api/podresources.h"
#include "api/protocol/reservation.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/explain.h"
#include "loop/loop.h"
#include "json/kj.h"

struct story { /* one run of the command */
    struct ctl *c;
    const char *config;
    struct arena *arena;
    struct explain_cluster cluster;
    struct kobj *obj;
    const struct reservation *r;
    struct kj_doc *template; /* NULL: it does not decode */
    struct kj_mdoc *d;
    struct kj_mval *root;
};

static void set_str(struct story *x, struct kj_mval *obj, const char *key, const char *value)
{
    if (!str_empty(value))
        kj_mset(x->d, obj, key, kj_mstr(x->d, value));
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_it(struct story *x, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kube_req r = { .verb = KUBE_GET, .kind = &kind_reservation, .name = name };
    struct kerr err = { 0 };

    if (ctl_call(x->c, &r, &body, &err) < 0)
        return ctl_complain(x->c, &err);
    if (kj_parse(strbuf_str(&body), body.len, 0, &doc, &err) < 0 ||
        kobj_decode(&kind_reservation, kj_root(doc), x->cluster.scratch, &x->obj, &err) < 0)
        return ctl_fail(x->c, "the server's Reservation: %s", err.text);
    x->r = reservation_of(x->obj);
    if (x->r->spec.template)
        (void)kj_parse(x->r->spec.template, strlen(x->r->spec.template), 0, &x->template, &err);
    return CTL_OK;
}

static const char *scheduler_of(const struct story *x)
{
    return kj_str_or(kj_path(kj_root(x->template), "spec.schedulerName"), "default-scheduler");
}

/* ---- why it waits ---------------------------------------------------------------------------- */

static const struct timed_condition *condition(const struct story *x, const char *type)
{
    for (uint32_t i = 0; i < x->r->status.conditions.n; i++)
        if (streq(x->r->status.conditions.items[i].type, type))
            return &x->r->status.conditions.items[i];
    return NULL;
}

static int try_it(struct story *x)
{
    const char *ns = kj_str_or(kj_path(kj_root(x->template), "metadata.namespace"), "default");
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    CLEANUP(kobj_unref) struct kobj *pod = NULL;
    struct kerr err = { 0 };

    int code = explain_read_cluster(&x->cluster, scheduler_of(x), x->config);
    if (code != CTL_OK)
        return code;
    pod =
        explain_template_pod(&x->cluster, kj_root(x->template), ns, x->obj->meta.name, NULL, &err);
    if (!pod ||
        x->cluster.scheduler->try_pod(x->cluster.self, pod, loop_wall(x->c->loop), &json, &err) < 0)
        return ctl_fail(x->c, "%s", err.text);
    kj_mset(x->d, x->root, "attempt", kj_mraw(x->d, json.data, json.len));
    return CTL_OK;
}

static int tell_why_it_waits(struct story *x)
{
    const struct timed_condition *c = condition(x, RESERVATION_CONDITION_SCHEDULED);
    struct kerr err = { 0 };

    if (reservation_check(x->r, x->arena, &err) < 0) {
        set_str(x, x->root, "fault", err.text);
        return CTL_OK;
    }
    set_str(x, x->root, "waits", c ? c->message : "");
    return x->cluster.scheduler ? try_it(x) : CTL_OK;
}

static void tell_faults(struct story *x)
{
    struct kerr err = { 0 };

    if (reservation_check_use(x->r, x->arena, &err) < 0)
        set_str(x, x->root, "fault", err.text);
}

/* ---- who may use it, and who does ------------------------------------------------------------ */

static void put_object(const struct object_ref *o, struct strbuf *out)
{
    strbuf_appendf(out, " %s%s%s", str_or(o->ns, ""), str_empty(o->ns) ? "" : "/",
                   str_empty(o->name) ? "of any name" : o->name);
}

static void put_controller(const struct reservation_controller *k, struct strbuf *out)
{
    strbuf_appendf(out, " of %s%s%s", str_empty(k->name) ? "a " : "",
                   str_empty(k->kind) ? "controller" : k->kind, str_empty(k->name) ? "" : " ");
    strbuf_append(out, str_or(k->name, ""));
    if (!str_empty(k->ns))
        strbuf_appendf(out, " in namespace %s", k->ns);
}

static void put_selector(struct story *x, const struct label_selector *s, struct strbuf *out)
{
    struct labelsel *sel;
    struct kerr err = { 0 };

    if (labelsel_from(s, x->arena, &sel, &err) < 0) {
        strbuf_appendf(out, " by a selector that nobody understands (%s)", err.text);
    } else if (labelsel_is_everything(sel)) {
        strbuf_append(out, " with any labels");
    } else {
        strbuf_append(out, " with ");
        labelsel_format(sel, out);
    }
}

static void tell_who_may(struct story *x)
{
    struct kj_mval *all = kj_marr(x->d);

    for (uint32_t i = 0; i < x->r->spec.owners.n; i++) {
        const struct reservation_owner *o = &x->r->spec.owners.items[i];
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        strbuf_append(&text, o->object ? "pod" : "pods");
        if (o->object)
            put_object(o->object, &text);
        if (o->controller)
            put_controller(o->controller, &text);
        if (o->label_selector)
            put_selector(x, o->label_selector, &text);
        kj_mpush(all, kj_mstr(x->d, strbuf_str(&text)));
    }
    kj_mset(x->d, x->root, "mayUse", all);
}

static bool uses_it(const struct story *x, const struct pod *p)
{
    struct reservation_allocated used;
    struct kerr unread = { 0 };
    char uid[KUID_TEXT_MAX];

    kuid_format(x->obj->meta.uid, uid, sizeof uid);
    return !pod_is_terminal(p) &&
           reservation_allocated_read(&p->obj.meta.annotations, x->arena, &used, &unread) > 0 &&
           streq(str_or(used.uid, ""), uid);
}

static void add_owner(struct story *x, const struct pod *p, struct kj_mval *owners)
{
    struct kj_mval *v = kj_mobj(x->d), *requests = kj_mobj(x->d);
    reslist l = pod_requests(p, NULL, x->arena);

    set_str(x, v, "namespace", p->obj.meta.ns);
    set_str(x, v, "name", p->obj.meta.name);
    for (uint32_t i = 0; i < l.n; i++)
        set_str(x, requests, l.items[i].name, qty_format(l.items[i].value, x->arena));
    kj_mset(x->d, v, "requests", requests);
    kj_mpush(owners, v);
}

/* The pods on its node say what is true; the status follows them. */
static int tell_owners(struct story *x)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *selector = arena_printf(x->arena, "spec.nodeName=%s", x->r->status.node_name);
    struct kube_req q = { .verb = KUBE_LIST, .kind = &kind_pod, .field_selector = selector };
    struct kj_mval *owners = kj_marr(x->d);
    const struct kj_val *item;
    struct kerr err = { 0 };
    struct str key;

    if (ctl_call(x->c, &q, &body, &err) < 0)
        return ctl_complain(x->c, &err);
    if (kj_parse(strbuf_str(&body), body.len, 0, &doc, &err) < 0)
        return ctl_fail(x->c, "the server's list of pods: %s", err.text);
    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items")); kj_next(&it, &key, &item);) {
        CLEANUP(kobj_unref) struct kobj *pod = NULL;
        if (kobj_decode(&kind_pod, item, x->cluster.scratch, &pod, &err) == 0 &&
            uses_it(x, pod_of(pod)))
            add_owner(x, pod_of(pod), owners);
    }
    kj_mset(x->d, x->root, "owners", owners);
    return CTL_OK;
}

static void tell_resources(struct story *x)
{
    const struct reservation_status *s = &x->r->status;
    struct kj_mval *all = kj_marr(x->d);

    for (uint32_t i = 0; i < s->allocatable.n; i++) {
        const struct resqty *q = &s->allocatable.items[i];
        struct qty used = reslist_get(&s->allocated, q->name), left = qty_sub(q->value, used);
        struct kj_mval *v = kj_mobj(x->d);
        if (qty_sign(left) < 0) /* an Aligned owner took more, from the node */
            left = (struct qty){ .format = q->value.format };
        set_str(x, v, "name", q->name);
        set_str(x, v, "reserved", qty_format(q->value, x->arena));
        set_str(x, v, "used", qty_format(used, x->arena));
        set_str(x, v, "left", qty_format(left, x->arena));
        kj_mpush(all, v);
    }
    kj_mset(x->d, x->root, "resources", all);
}

/* ---- when it ends ---------------------------------------------------------------------------- */

static void tell_end(struct story *x)
{
    struct kj_mval *v = kj_mobj(x->d);
    struct reservation_end end;
    char when[KTIME_TEXT_MAX], in[KTIME_TEXT_MAX];

    if (!reservation_end(x->r, &end))
        return;
    nsec_t left = end.when - loop_wall(x->c->loop);
    ktime_format(end.when, when);
    kdur_format(MAX(left - left % NSEC_PER_SEC, (nsec_t)0), in);
    set_str(x, v, "time", when);
    set_str(x, v, "in", in);
    set_str(x, v, "field", end.field);
    kj_mset(x->d, x->root, "ends", v);
}

static void tell_how_it_ended(struct story *x)
{
    const struct timed_condition *c = condition(x, RESERVATION_CONDITION_READY);
    struct kj_mval *v = kj_mobj(x->d), *owners = kj_marr(x->d);
    char when[KTIME_TEXT_MAX];

    if (c) {
        ktime_format(MAX(c->last_probe_time, c->last_transition_time), when);
        set_str(x, v, "reason", c->reason);
        set_str(x, v, "message", c->message);
        set_str(x, v, "time", when);
    }
    kj_mset(x->d, x->root, "ended", v);
    for (uint32_t i = 0; i < x->r->status.current_owners.n; i++) {
        const struct object_ref *o = &x->r->status.current_owners.items[i];
        struct kj_mval *owner = kj_mobj(x->d);
        set_str(x, owner, "namespace", o->ns);
        set_str(x, owner, "name", o->name);
        kj_mpush(owners, owner);
    }
    kj_mset(x->d, x->root, "owners", owners);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void tell_head(struct story *x)
{
    const struct reservation_status *s = &x->r->status;
    uint8_t phase = s->phase == RESERVATION_PHASE_NONE ? RESERVATION_PENDING : s->phase;
    bool restricted = x->r->spec.allocate_policy == ALLOCATE_RESTRICTED;

    set_str(x, x->root, "reservation", x->obj->meta.name);
    set_str(x, x->root, "phase", reservation_phase_names[phase]);
    set_str(x, x->root, "node", s->node_name);
    set_str(x, x->root, "scheduler", scheduler_of(x));
    set_str(x, x->root, "allocatePolicy", restricted ? "Restricted" : "Aligned");
    kj_mset(x->d, x->root, "allocateOnce", kj_mbool(x->d, reservation_is_once(x->r)));
    kj_mset(x->d, x->root, "unschedulable", kj_mbool(x->d, x->r->spec.unschedulable));
}

static int tell(struct story *x)
{
    int code = CTL_OK;

    tell_head(x);
    tell_who_may(x);
    tell_resources(x);
    if (reservation_has_ended(x->r)) {
        tell_how_it_ended(x);
        return CTL_OK;
    }
    tell_end(x);
    if (reservation_has_node(x->r)) {
        tell_faults(x);
        code = tell_owners(x);
    } else {
        code = tell_why_it_waits(x);
    }
    return code;
}

int explain_reservation_run(struct ctl *c, const char *name, const char *config)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct story x = { .c = c, .config = config, .arena = a, .d = d, .root = kj_mobj(d) };
    int code = ctl_connect(c);

    if (code != CTL_OK)
        return code;
    x.cluster = (struct explain_cluster){ .c = c,
                                          .arena = a,
                                          .scheduler = c->parts ? c->parts->explain : NULL,
                                          .scratch = kj_scratch_new(c->strings) };
    code = read_it(&x, name);
    if (code == CTL_OK)
        code = tell(&x);
    if (x.cluster.self)
        x.cluster.scheduler->close(x.cluster.self);
    if (code == CTL_OK) {
        kj_mwrite(x.root, 0, &json);
        code = explain_show(c, &json, explain_reservation_text);
    }
    kj_doc_free(x.template);
    kobj_unref(x.obj);
    kj_scratch_free(x.cluster.scratch);
    return code;
}
