/* table.c - meta.k8s.io/v1 Table: what kubectl get prints. */
#include "apiserver/registry/table.h"

#include "apiserver/crd/jsonpath.h"
#include "apiserver/registry/registry.h"
#include "base/ktime.h"
#include "base/num.h"
#include "loop/loop.h"

/* ---- ages ---------------------------------------------------------------------------------------
 */

/* "3m", or "3m25s" when the rest is not zero. */
static void two_units(struct strbuf *out, int64_t n, char unit, int64_t rest, char rest_unit)
{
    strbuf_appendf(out, "%lld%c", (long long)n, unit);
    if (rest)
        strbuf_appendf(out, "%lld%c", (long long)rest, rest_unit);
}

void table_duration(nsec_t d, struct strbuf *out)
{
    int64_t s = d / NSEC_PER_SEC, m = s / 60, h = m / 60;

    if (s < -1)
        strbuf_append(out, "<invalid>");
    else if (s < 0)
        strbuf_append(out, "0s");
    else if (s < 60 * 2)
        strbuf_appendf(out, "%llds", (long long)s);
    else if (m < 10)
        two_units(out, m, 'm', s % 60, 's');
    else if (m < 60 * 3)
        strbuf_appendf(out, "%lldm", (long long)m);
    else if (h < 8)
        two_units(out, h, 'h', m % 60, 'm');
    else if (h < 48)
        strbuf_appendf(out, "%lldh", (long long)h);
    else if (h < 24 * 8)
        two_units(out, h / 24, 'd', h % 24, 'h');
    else if (h < 24 * 365 * 2)
        strbuf_appendf(out, "%lldd", (long long)(h / 24));
    else if (h < 24 * 365 * 8)
        two_units(out, h / 24 / 365, 'y', h / 24 % 365, 'd');
    else
        strbuf_appendf(out, "%lldy", (long long)(h / 24 / 365));
}

void table_age(const char *timestamp, nsec_t now, struct strbuf *out)
{
    nsec_t t;

    if (str_empty(timestamp))
        strbuf_append(out, "<unknown>");
    else if (ktime_parse(timestamp, strlen(timestamp), &t, NULL) < 0)
        strbuf_append(out, "<invalid>");
    else
        table_duration(i64_sub_sat(now, t), out);
}

/* ---- cells of custom resources ------------------------------------------------------------------
 */

static void cell_text(const struct kj_val *v, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    if (kj_str(v)) {
        kj_append_string(out, kj_str(v), kj_len(v));
        return;
    }
    kj_write(v, KJ_SORTED, &json);
    kj_append_string(out, json.data, json.len);
}

static void cell_date(const struct kj_val *v, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf age = STRBUF_INIT;
    if (!kj_str(v)) {
        strbuf_append(out, "null");
        return;
    }
    table_age(kj_str(v), now, &age);
    kj_append_string(out, age.data, age.len);
}

static void cell_by_path(const struct res_column *col, const struct kj_val *obj, nsec_t now,
                         struct strbuf *out)
{
    const struct kj_val *v = jsonpath_first(col->json_path, obj);
    enum kj_type t = kj_type(v);
    double d;

    if (t <= KJ_NULL) /* a bookmark has no name, but a cell for it */
        strbuf_append(out, streq(col->json_path, ".metadata.name") ? "\"\"" : "null");
    else if (streq(col->type, "string"))
        cell_text(v, out);
    else if (streq(col->type, "date"))
        cell_date(v, now, out);
    else if (streq(col->type, "integer") && t == KJ_NUM && kj_f64(v, &d) == 0)
        strbuf_append_i64(out, kj_i64_or(v, i64_from_f64(d)));
    else if ((streq(col->type, "number") && t == KJ_NUM) ||
             (streq(col->type, "boolean") && t == KJ_BOOL))
        kj_write(v, 0, out);
    else
        strbuf_append(out, "null");
}

/* ---- columns ------------------------------------------------------------------------------------
 */

/* Kinds without columns of their own. */
static const struct res_column plain_columns[] = {
    { .name = "Name", .type = "string", .json_path = ".metadata.name" },
    { .name = "Created At", .type = "string", .json_path = ".metadata.creationTimestamp" },
};

static const struct res_column *columns_of(const struct resource *r, size_t *n)
{
    *n = r->ncolumns ? r->ncolumns : ARRAY_LEN(plain_columns);
    return r->ncolumns ? r->columns : plain_columns;
}

static const char *describe(const struct res_column *col)
{
    if (col->description)
        return col->description;
    if (streq(col->name, "Name"))
        return "Name of the object, unique in its namespace.";
    if (streq(col->name, "Age") || streq(col->name, "Created At"))
        return "When the object was created.";
    return "";
}

static void write_columns(const struct resource *r, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    size_t n;
    const struct res_column *cols = columns_of(r, &n);

    kjw_arr(&w, NULL);
    for (size_t i = 0; i < n; i++) {
        bool created = cols == plain_columns && i == 1;
        kjw_obj(&w, NULL);
        kjw_str(&w, "name", cols[i].name);
        kjw_str(&w, "type", created ? "date" : cols[i].type);
        kjw_str(&w, "format", i == 0 && streq(cols[i].name, "Name") ? "name" : "");
        kjw_str(&w, "description", describe(&cols[i]));
        kjw_i64(&w, "priority", cols[i].priority);
        kjw_end(&w);
    }
    kjw_end(&w);
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static void write_metadata(const struct kj_val *obj, struct strbuf *out)
{
    const struct kj_val *meta = kj_get(obj, "metadata");
    strbuf_append(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
                       "\"metadata\":");
    if (meta)
        kj_write(meta, 0, out);
    else
        strbuf_append(out, "{}");
    strbuf_appendc(out, '}');
}

/* The whole object, in the version that was asked for. */
static void write_object(const struct resource *r, const struct kj_val *obj, struct strbuf *out)
{
    struct kj_iter it = kj_iter(obj);
    const struct kj_val *v;
    struct str key;

    strbuf_appendf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\"", r->kind, r->group,
                   *r->group ? "/" : "", r->version);
    while (kj_next(&it, &key, &v)) {
        if (str_eqz(key, "kind") || str_eqz(key, "apiVersion"))
            continue;
        strbuf_appendc(out, ',');
        kj_append_string(out, key.p, key.n);
        strbuf_appendc(out, ':');
        kj_write(v, 0, out);
    }
    strbuf_appendc(out, '}');
}

void table_row(const struct api_call *c, const struct kj_val *obj, struct strbuf *rows)
{
    nsec_t now = loop_wall(apiserver_loop(c->s));
    size_t n;
    const struct res_column *cols = columns_of(c->res, &n);

    strbuf_append(rows, "{\"cells\":[");
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_appendc(rows, ',');
        if (cols[i].cell)
            cols[i].cell(obj, now, rows);
        else
            cell_by_path(&cols[i], obj, now, rows);
    }
    strbuf_append(rows, "],\"object\":");
    switch (c->include) {
    case API_INCLUDE_METADATA: write_metadata(obj, rows); break;
    case API_INCLUDE_OBJECT: write_object(c->res, obj, rows); break;
    case API_INCLUDE_NONE: strbuf_append(rows, "null"); break;
    }
    strbuf_appendc(rows, '}');
}

void table_open(const struct api_call *c, const char *metadata, bool columns, struct strbuf *out)
{
    strbuf_appendf(out,
                   "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":%s,"
                   "\"columnDefinitions\":",
                   str_empty(metadata) ? "{}" : metadata);
    if (columns)
        write_columns(c->res, out);
    else
        strbuf_append(out, "null");
    strbuf_append(out, ",\"rows\":[");
}

void table_wrap(const struct api_call *c, const char *metadata, const struct strbuf *rows,
                bool columns, struct strbuf *out)
{
    strbuf_reserve(out, rows->len + 512);
    table_open(c, metadata, columns, out);
    strbuf_appendn(out, strbuf_str(rows), rows->len);
    strbuf_append(out, "]}");
}
