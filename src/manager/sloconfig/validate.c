/* validate.c - the checks of the ConfigMap in their order (manager 8.4). */
#include "manager/sloconfig/validate.h"

#include "base/map.h"
#include "manager/sloconfig/validate_int.h"
#include "json/kj.h"

/* The keys that are checked, in this order; the others are not. */
static const struct {
    enum slo_key key;
    const char *subject; /* "Failed to parse <subject> config in configmap ..." */
} checked[] = {
    { SLO_COLOCATION, "colocation" }, { SLO_THRESHOLD, "resourceThreshold" },
    { SLO_QOS, "ResourceQOS" },       { SLO_SYSTEM, "System" },
    { SLO_BURST, "CpuBurst" },
};
enum { CHECKED_SYSTEM = 3 };

/* A JSON string as Go's encoder writes it: safe inside HTML. */
static void append_escaped(struct strbuf *out, const char *text)
{
    CLEANUP(strbuf_fini) struct strbuf plain = STRBUF_INIT;

    kj_append_string(&plain, text, strlen(text));
    for (size_t i = 0; i < plain.len; i++) {
        char c = plain.data[i];
        if (c == '&' || c == '<' || c == '>')
            strbuf_appendf(out, "\\u%04x", c);
        else
            strbuf_appendc(out, c);
    }
}

/* ___{"reason":"ConfigParamInvalid","message":"..."}___ */
static const char *slo_refusal(const char *reason, const char *message, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    strbuf_appendf(&out, "___{\"reason\":\"%s\",\"message\":", reason);
    append_escaped(&out, message);
    strbuf_append(&out, "}___");
    return arena_strndup(a, out.data, out.len);
}

static const char *parse_refusal(const struct slo_change *c, const char *subject, const char *why,
                                 struct arena *a)
{
    return slo_refusal("ParseConfigFail",
                       arena_printf(a, "Failed to parse %s config in configmap %s/%s, err: %s",
                                    subject, c->ns, c->name, why),
                       a);
}

static const char *decode(const struct slo_change *c, size_t at, struct arena *a,
                          struct slo_section *ret)
{
    const char *text = str_or(kstrmap_get(c->data, slo_keys[checked[at].key].key), "");
    struct kerr err = { 0 };

    /* Upstream crashes on null. */
    if (streq(text, "null"))
        kerr_set(&err, -EINVAL, "the value of key %s is null", slo_keys[checked[at].key].key);
    else if (*text == '\0')
        kerr_set(&err, -EINVAL, "unexpected end of JSON input");
    else
        slo_section_decode(checked[at].key, text, a, ret, &err);
    return err.code < 0 ? parse_refusal(c, checked[at].subject, err.text, a) : NULL;
}

/* ---- selectors ------------------------------------------------------------------------------- */

/* As Go prints the struct. */
static void print_requirement(const struct kj_val *r, struct strbuf *out)
{
    const struct kj_val *values = kj_get(r, "values");

    strbuf_appendf(out, "LabelSelectorRequirement{Key:%s,Operator:%s,Values:[",
                   kj_str_or(kj_get(r, "key"), ""), kj_str_or(kj_get(r, "operator"), ""));
    for (size_t i = 0; i < kj_len(values); i++)
        strbuf_appendf(out, "%s%s", i ? " " : "", kj_str_or(kj_at(values, i), ""));
    strbuf_append(out, "],},");
}

static void print_selector(const struct slo_node_entry *e, const struct kj_val *v,
                           struct strbuf *out)
{
    const struct kj_val *expressions = kj_get(v, "matchExpressions");

    strbuf_append(out, "&LabelSelector{MatchLabels:map[string]string{");
    for (uint32_t i = 0; i < e->selector->match_labels.n; i++)
        strbuf_appendf(out, "%s: %s,", e->selector->match_labels.items[i].key,
                       e->selector->match_labels.items[i].value);
    strbuf_append(out, "},MatchExpressions:[]LabelSelectorRequirement{");
    for (size_t i = 0; i < kj_len(expressions); i++)
        print_requirement(kj_at(expressions, i), out);
    strbuf_append(out, "},}");
}

/* The table knows no name for an operator that does not exist: it is in the text. */
static void print_problem(const struct slo_node_entry *e, const struct kj_val *v,
                          struct strbuf *out)
{
    struct labelsel *unused;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kerr err = { 0 };

    labelsel_from(e->selector, a, &unused, &err);
    for (uint32_t i = 0; i < e->selector->match_expressions.n; i++)
        if (e->selector->match_expressions.items[i].op == SELOP_NONE &&
            str_starts(err.text, "\"\"")) {
            const struct kj_val *r = kj_at(kj_get(v, "matchExpressions"), i);
            strbuf_appendf(out, "\"%s\" is not a valid label selector operator",
                           kj_str_or(kj_get(r, "operator"), ""));
            return;
        }
    strbuf_append(out, err.text);
}

static const char *check_selector(enum slo_key key, const struct slo_node_entry *e, struct arena *a)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (!e->selector || (e->selector->match_labels.n == 0 && e->selector->match_expressions.n == 0))
        return slo_refusal("ConfigParamInvalid",
                           arena_printf(a,
                                        "nodeConfigs NodeSelector must not empty error! "
                                        "configType: %s,nodeConfig name:%s",
                                        slo_keys[key].key, e->name),
                           a);
    if (e->labels)
        return NULL;
    kj_parse(e->selector_json, strlen(e->selector_json), 0, &doc, NULL);
    strbuf_append(&out, "failed to parse node selector ");
    print_selector(e, kj_root(doc), &out);
    strbuf_appendf(&out, ",configType: %s,nodeConfig name:%s, err: ", slo_keys[key].key, e->name);
    print_problem(e, kj_root(doc), &out);
    return slo_refusal("ConfigParamInvalid", strbuf_str(&out), a);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *check_names(enum slo_key key, const struct slo_section *s, struct arena *a)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    const char *bad = NULL;

    for (uint32_t i = 0; !bad && i < s->nodes.n; i++) {
        const char *name = s->nodes.items[i].name;
        if (!*name)
            bad = arena_printf(a, "nodeConfig Name need! configType:%s", slo_keys[key].key);
        else if (map_putz(&seen, name, &s->nodes.items[i]))
            bad = arena_printf(a, "nodeConfig Name confilict, configType:%s,nodeConfig Name:%s! ",
                               slo_keys[key].key, name);
    }
    return bad ? slo_refusal("ConfigParamInvalid", bad, a) : NULL;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool takes_part(const struct slo_change *c, enum slo_key key)
{
    const char *text = kstrmap_get(c->data, slo_keys[key].key);
    const char *old = c->old_data ? kstrmap_get(c->old_data, slo_keys[key].key) : NULL;

    return !str_empty(text) && !(old && streq(old, text));
}

static const char *check_key(const struct slo_change *c, size_t at, struct arena *a,
                             struct slo_section *s)
{
    enum slo_key key = checked[at].key;
    struct slo_section system = { 0 };
    const char *bad = decode(c, at, a, s);

    /* Bandwidths are checked against the system strategy: a missing one is refused, as upstream. */
    if (!bad && key == SLO_QOS)
        bad = decode(c, CHECKED_SYSTEM, a, &system);
    for (uint32_t i = 0; !bad && i < s->nodes.n; i++)
        bad = check_selector(key, &s->nodes.items[i], a);
    if (!bad)
        bad = slo_check_ranges(key, s, a);
    if (!bad && key == SLO_QOS)
        bad = slo_check_network(s, &system, a);
    if (!bad && c->names_required)
        bad = check_names(key, s, a);
    return bad ? bad : slo_check_overlap(key, s, a);
}

/* A node under two entries of one of the changed keys. */
static const char *check_nodes(const struct slo_change *c, const struct slo_section *sections,
                               const bool *takes, struct arena *a)
{
    const char *bad = NULL;
    struct slo_node node;
    bool several = false;

    for (size_t k = 0; k < ARRAY_LEN(checked); k++)
        several |= takes[k] && sections[k].nodes.n > 1;
    for (size_t i = 0; !bad && several && c->node_at && c->node_at(c->node_arg, i, &node); i++)
        for (size_t k = 0; !bad && k < ARRAY_LEN(checked); k++)
            if (takes[k])
                bad = slo_check_node(checked[k].key, &sections[k], &node, a);
    return bad;
}

const char *sloconfig_validate(const struct slo_change *c, struct arena *a)
{
    struct slo_section sections[ARRAY_LEN(checked)] = { 0 };
    bool takes[ARRAY_LEN(checked)];
    const char *bad = NULL;

    for (size_t i = 0; !bad && i < ARRAY_LEN(checked); i++) {
        takes[i] = takes_part(c, checked[i].key);
        if (takes[i])
            bad = check_key(c, i, a, &sections[i]);
    }
    return bad ? bad : check_nodes(c, sections, takes, a);
}

const char *sloconfig_validate_node(const kstrmap *data, const struct slo_node *node,
                                    struct arena *a)
{
    const char *bad = NULL;

    for (size_t i = 0; !bad && i < ARRAY_LEN(checked); i++) {
        const char *text = kstrmap_get(data, slo_keys[checked[i].key].key);
        struct kerr ignored = { 0 }; /* what cannot be read binds no node */
        struct slo_section s;
        if (!str_empty(text) && slo_section_decode(checked[i].key, text, a, &s, &ignored) == 0)
            bad = slo_check_node(checked[i].key, &s, node, a);
    }
    return bad;
}
