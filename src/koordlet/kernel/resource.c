/* resource.c - paths, checks and texts of cgroup files. */
#include "koordlet/kernel/resource.h"

#include "base/cpuset.h"
#include "base/num.h"
#include "koordlet/kernel/convert.h"

const struct cgroup_resource *cgroup_resource_find(enum cgroup_version v, const char *type,
                                                   struct kerr *err)
{
    const struct cgroup_resource *r;

    for (size_t i = 0; (r = cgroup_resource_at(i)); i++)
        if (r->files[v].name && streq(r->type, type))
            return r;
    kerr_set(err, -ENOENT, "%s not found in cgroup registry", type);
    return NULL;
}

/* Appends "/part", with one slash and not for an empty part. */
static void append_part(struct strbuf *out, const char *part)
{
    while (*part == '/')
        part++;
    if (!*part)
        return;
    if (out->len > 0 && out->data[out->len - 1] != '/')
        strbuf_appendc(out, '/');
    strbuf_append(out, part);
}

void cgroup_resource_path(const struct cgroup_resource *r, enum cgroup_version v, const char *root,
                          const char *parent, struct strbuf *out)
{
    strbuf_append(out, root);
    append_part(out, r->files[v].subsystem);
    append_part(out, parent);
    append_part(out, r->files[v].name);
}

int cgroup_unsupported(enum cgroup_support s, struct kerr *err)
{
    static const char *const reasons[] = {
        [CGROUP_ALWAYS] = "unknown support status",
        [CGROUP_IF_FILE] = "file not exist",
        [CGROUP_IF_KUBEPODS] = "file not exist in kubepods cgroup",
        [CGROUP_IF_ROOT] = "file not exist in root cgroup",
    };
    return kerr_set(err, -EOPNOTSUPP, "resource is unsupported, reason: %s", reasons[s]);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int refuse(const struct cgroup_file *f, const char *value, size_t n, struct kerr *err)
{
    return kerr_set(err, -EINVAL, "value %.*s is not in [min:%lld, max:%lld]",
                    (int)MIN(n, (size_t)128), value, (long long)f->min, (long long)f->max);
}

static int check_range(const struct cgroup_file *f, const char *value, size_t n, struct kerr *err)
{
    int64_t v = INT64_MAX;

    if (!(n == 3 && memcmp(value, "max", 3) == 0) && i64_parse(value, n, &v) < 0)
        return refuse(f, value, n, err);
    return v < f->min || v > f->max ? refuse(f, value, n, err) : 0;
}

/* Fields at single blanks: as many numbers as the form has, in the last fields, after their '='.
 * Other counts of fields are not looked at. */
static int check_fields(const struct cgroup_file *f, const char *value, unsigned fields,
                        unsigned numbers, struct kerr *err)
{
    unsigned n = 1;
    for (const char *p = value; *p; p++)
        n += *p == ' ';
    if (n != fields)
        return 0;
    unsigned at = 0;
    for (const char *p = value;; at++) {
        size_t len = strcspn(p, " ");
        const char *eq = memchr(p, '=', len), *number = eq ? eq + 1 : p;
        if (at >= fields - numbers && check_range(f, number, len - (size_t)(number - p), err) < 0)
            return err ? err->code : -EINVAL;
        if (!p[len])
            return 0;
        p += len + 1;
    }
}

/* A hexadecimal class is read as such; upstream reads its digits as decimal ones. */
static int check_class_id(const char *value, struct kerr *err)
{
    int64_t v = -1;

    if (value[0] == '0' && (value[1] == 'x' || value[1] == 'X')) {
        size_t n = strspn(value + 2, "0123456789abcdefABCDEF");
        if (n >= 1 && n <= 8 && !value[2 + n])
            return 0;
    } else if (i64_parse(value, strlen(value), &v) == 0 && v >= 0 && v <= INT32_MAX) {
        return 0;
    }
    return kerr_set(err, -EINVAL, "value %.128s is not a class id", value);
}

int cgroup_resource_check(const struct cgroup_resource *r, enum cgroup_version v, const char *value,
                          struct kerr *err)
{
    const struct cgroup_file *f = &r->files[v];
    struct cpuset cpus;

    if (r->check == CGROUP_ANY)
        return 0;
    if (!*value && r->check != CGROUP_CPUS)
        return kerr_set(err, -EINVAL, "value is nil");
    switch (r->check) {
    case CGROUP_CPUS: return cpus_parse(value, strlen(value), &cpus, err);
    case CGROUP_BLKIO: return check_fields(f, value, 2, 1, err);
    case CGROUP_BLKIO_QOS: return check_fields(f, value, 7, 4, err);
    case CGROUP_BLKIO_MODEL: return check_fields(f, value, 8, 6, err);
    case CGROUP_CLASS_ID: return check_class_id(value, err);
    default: return check_range(f, value, strlen(value), err);
    }
}

/* ---- texts to write -------------------------------------------------------------------------- */

int cgroup_resource_content(const struct cgroup_resource *r, enum cgroup_version v,
                            const char *value, struct strbuf *out, struct kerr *err)
{
    int64_t weight;

    if (v == CGROUP_V2 && streq(r->type, "cpu.cfs_period_us"))
        return kerr_set(err, -EOPNOTSUPP, "cpu.max takes a period together with a quota only");
    if (v == CGROUP_V2 && streq(r->type, "cpu.shares")) {
        int code = shares_text_to_weight(value, &weight, err);
        if (code == 0)
            strbuf_append_i64(out, weight);
        return code;
    }
    int code = cgroup_resource_check(r, v, value, err);
    if (code < 0)
        return code;
    bool unlimited =
        v == CGROUP_V2 && streq(value, "-1") &&
        (streq(r->type, "cpu.cfs_quota_us") || streq(r->type, "memory.limit_in_bytes"));
    strbuf_append(out, unlimited ? "max" : value);
    return 0;
}
