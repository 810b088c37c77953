/* cell.c - cells of tables that many kinds have: names, ages, containers. */
#include "apiserver/kinds/internal.h"
#include "base/ktime.h"

void cell_text(struct strbuf *out, const char *text)
{
    kj_append_string(out, text, strlen(text));
}

void cell_labels(const struct kj_val *map, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    v_labels_text(map, &b);
    cell_text(out, b.len ? strbuf_str(&b) : "<none>");
}

void cell_name(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_text(out, kj_str_or(kj_path(obj, "metadata.name"), ""));
}

/* Two units at most, and only one when the first is large enough to tell the story. */
void duration_text(nsec_t d, struct strbuf *out)
{
    long long s = d / NSEC_PER_SEC, m = s / 60, h = m / 60, days = h / 24;

    if (d < -NSEC_PER_SEC)
        strbuf_append(out, "<invalid>");
    else if (s <= 0)
        strbuf_append(out, "0s");
    else if (s < 60 * 2)
        strbuf_appendf(out, "%llds", s);
    else if (m < 10)
        strbuf_appendf(out, s % 60 ? "%lldm%llds" : "%lldm", m, s % 60);
    else if (m < 60 * 3)
        strbuf_appendf(out, "%lldm", m);
    else if (h < 8)
        strbuf_appendf(out, m % 60 ? "%lldh%lldm" : "%lldh", h, m % 60);
    else if (h < 48)
        strbuf_appendf(out, "%lldh", h);
    else if (h < 24 * 8)
        strbuf_appendf(out, h % 24 ? "%lldd%lldh" : "%lldd", days, h % 24);
    else if (h < 24 * 365 * 2)
        strbuf_appendf(out, "%lldd", days);
    else if (h < 24 * 365 * 8)
        strbuf_appendf(out, days % 365 ? "%lldy%lldd" : "%lldy", days / 365, days % 365);
    else
        strbuf_appendf(out, "%lldy", days / 365);
}

void age_text(const char *timestamp, nsec_t now, struct strbuf *out)
{
    nsec_t t;

    if (str_empty(timestamp) || ktime_parse(timestamp, strlen(timestamp), &t, NULL) < 0)
        strbuf_append(out, "<unknown>");
    else
        duration_text(now - t, out);
}

void cell_age(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    strbuf_appendc(out, '"');
    age_text(kj_str(kj_path(obj, "metadata.creationTimestamp")), now, out);
    strbuf_appendc(out, '"');
}

static void join(const struct kj_val *list, const char *key, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        strbuf_appendf(&b, "%s%s", b.len ? "," : "", v_str(v, key));
    cell_text(out, strbuf_str(&b));
}

void cell_containers(const struct kj_val *pod_spec, struct strbuf *out)
{
    join(kj_get(pod_spec, "containers"), "name", out);
}

void cell_images(const struct kj_val *pod_spec, struct strbuf *out)
{
    join(kj_get(pod_spec, "containers"), "image", out);
}

void cell_path(const struct kj_val *obj, const char *path, const char *otherwise,
               struct strbuf *out)
{
    const struct kj_val *v = kj_path(obj, path);
    char number[64];

    if (kj_type(v) == KJ_NUM) {
        kj_num_text(v, number, sizeof number);
        cell_text(out, number);
    } else {
        cell_text(out, *kj_str_or(v, "") ? kj_str(v) : otherwise);
    }
}

void cell_template_containers(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_containers(kj_path(obj, "spec.template.spec"), out);
}

void cell_template_images(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_images(kj_path(obj, "spec.template.spec"), out);
}

void cell_selector(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    (void)now;
    v_selector_text(kj_path(obj, "spec.selector"), &b);
    cell_text(out, strbuf_str(&b));
}
