/* show.c - what the executor owns and why, for people and for programs. */
#include <stdio.h>

#include "base/vec.h"
#include "koordlet/executor/executor_int.h"
#include "json/kj.h"

struct shown vec_of(const struct target *);

static int by_path(const void *a, const void *b)
{
    const struct target *x = *(const struct target *const *)a,
                        *y = *(const struct target *const *)b;
    int c = strcmp(x->dir->key, y->dir->key);

    if (c == 0)
        c = (int)file_rules[x->file].rank - (int)file_rules[y->file].rank;
    return c ? c : strcmp(str_or(x->item, ""), str_or(y->item, ""));
}

/* Those that somebody besides the kubelet has a say in, sorted. */
static void collect(const struct executor *e, struct shown *ret)
{
    map_foreach(&e->dirs, en)
        for (const struct target *t = ((struct target_dir *)en->value)->targets; t; t = t->next)
            if (t->owned || target_is_acting(t))
                vec_push(ret, t);
    if (ret->n > 0)
        qsort(ret->items, ret->n, sizeof *ret->items, by_path);
}

static const char *value_text(const struct value *v, char *buf, size_t size)
{
    if (!v->known)
        return "";
    if (v->text)
        snprintf(buf, size, "%.*s", (int)strcspn(v->text, "\n"), v->text);
    else if (v->number == INT64_MAX)
        snprintf(buf, size, "max");
    else
        snprintf(buf, size, "%lld", (long long)v->number);
    return buf;
}

static const struct proposal *deciding(const struct target *t)
{
    const struct proposal *p = t->proposals;

    while (p && p->next)
        p = p->next;
    return p;
}

static const char *rule_name(const struct proposal *p)
{
    static const char *const names[] = {
        [PLAN_SET] = "set", [PLAN_SCALE] = "scale", [PLAN_AT_MOST] = "atMost", [PLAN_ONCE] = "once"
    };
    return names[p->rule];
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_terms(struct kjw *w, const struct proposal *p)
{
    if (p->nterms == 0)
        return;
    kjw_obj(w, "terms");
    for (unsigned i = 0; i < p->nterms; i++) {
        if (p->terms[i].text)
            kjw_str(w, p->terms[i].name, p->terms[i].text);
        else
            kjw_i64(w, p->terms[i].name, p->terms[i].number);
    }
    kjw_end(w);
}

static void write_proposal(struct kjw *w, const struct proposal *p)
{
    const struct value v = { true, p->number, (char *)(uintptr_t)p->text };
    char buf[256];

    kjw_obj(w, NULL);
    kjw_str(w, "owner", plan_owner_name((enum plan_owner)p->owner));
    kjw_str(w, "rule", rule_name(p));
    kjw_str(w, "value", value_text(&v, buf, sizeof buf));
    if (p->rule == PLAN_SCALE)
        kjw_i64(w, "of", p->base);
    write_terms(w, p);
    kjw_end(w);
}

static void write_target(struct kjw *w, struct executor *e, const struct target *t)
{
    const struct proposal *p = deciding(t);
    char buf[256];

    kjw_obj(w, NULL);
    kjw_str(w, "file", target_path(e, t));
    kjw_str(w, "type", plan_file_type((enum plan_file)t->file));
    if (t->item)
        kjw_str(w, "item", t->item);
    kjw_str(w, "value", value_text(&t->want, buf, sizeof buf));
    kjw_str(w, "current", value_text(&t->is, buf, sizeof buf));
    kjw_str(w, "owner", p ? plan_owner_name((enum plan_owner)p->owner) : "restore");
    if (p && p->at.pod) {
        kjw_str(w, "namespace", str_or(p->at.pod->obj->meta.ns, ""));
        kjw_str(w, "pod", p->at.pod->obj->meta.name);
        if (p->at.container)
            kjw_str(w, "container", p->at.container);
    }
    if (t->failures)
        kjw_i64(w, "failures", t->failures);
    kjw_arr(w, "proposals");
    for (p = t->proposals; p; p = p->next)
        write_proposal(w, p);
    kjw_end(w);
    kjw_end(w);
}

void executor_json(struct executor *e, struct strbuf *out)
{
    struct shown all = { 0 };
    struct kjw w = kjw_to(out);

    collect(e, &all);
    kjw_obj(&w, NULL);
    kjw_bool(&w, "dryRun", e->env.dry_run);
    kjw_arr(&w, "files");
    vec_foreach(&all, i)
        write_target(&w, e, all.items[i]);
    kjw_end(&w);
    kjw_end(&w);
    vec_fini(&all);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void terms_text(const struct proposal *p, struct strbuf *out)
{
    for (unsigned i = 0; i < p->nterms; i++) {
        strbuf_appendf(out, "%s%s ", i ? ", " : ": ", p->terms[i].name);
        if (p->terms[i].text)
            strbuf_append(out, p->terms[i].text);
        else
            strbuf_append_i64(out, p->terms[i].number);
    }
}

static void target_table(struct executor *e, const struct target *t, struct strbuf *out)
{
    char want[256], is[256];

    value_text(&t->want, want, sizeof want);
    strbuf_appendf(out, "%s%s%s = %s", target_path(e, t), t->item ? " " : "",
                   t->item ? t->item : "", t->want.known ? want : "(left alone)");
    if (t->is.known && !value_equal(t->file, &t->is, &t->want))
        strbuf_appendf(out, " (now %s)", value_text(&t->is, is, sizeof is));
    if (t->failures)
        strbuf_appendf(out, " (refused %u times)", t->failures);
    strbuf_appendc(out, '\n');
    for (const struct proposal *p = t->proposals; p; p = p->next) {
        const struct value v = { true, p->number, (char *)(uintptr_t)p->text };
        strbuf_appendf(out, "    %s %s %s", plan_owner_name((enum plan_owner)p->owner),
                       rule_name(p), value_text(&v, want, sizeof want));
        if (p->rule == PLAN_SCALE)
            strbuf_appendf(out, "/%lld", (long long)p->base);
        terms_text(p, out);
        strbuf_appendc(out, '\n');
    }
}

void executor_table(struct executor *e, struct strbuf *out)
{
    struct shown all = { 0 };

    collect(e, &all);
    vec_foreach(&all, i)
        target_table(e, all.items[i], out);
    strbuf_appendf(out, "%zu files%s\n", all.n,
                   e->env.dry_run ? " (dry run: none is written)" : "");
    vec_fini(&all);
}
