/* hollow_script.c - reading the commands of containers. */
#include "cluster/hollow_script.h"

#include <ctype.h>

#include "base/map.h"
#include "base/num.h"
#include "json/kj.h"

#define FOR_EVER (365 * 24 * 3600 * NSEC_PER_SEC)
enum { NESTING_MAX = 4, FILES_MAX = 1024 };

struct script {
    const struct kj_val *pod, *container;
    struct hfiles *files;
    int32_t restarts;
    uint64_t seed;
    nsec_t run;
    int32_t code; /* of the last command */
    bool over;    /* exit was reached */
};

/* ---- words --------------------------------------------------------------------------------- */

static struct str trim(struct str s)
{
    while (s.n && isspace((unsigned char)s.p[0]))
        s.p++, s.n--;
    while (s.n && isspace((unsigned char)s.p[s.n - 1]))
        s.n--;
    return s;
}

static struct str first_word(struct str *rest)
{
    struct str s = trim(*rest), w = { s.p, 0 };

    while (w.n < s.n && !isspace((unsigned char)s.p[w.n]))
        w.n++;
    *rest = trim((struct str){ s.p + w.n, s.n - w.n });
    return w;
}

static bool is_word(struct str w, const char *text)
{
    return w.n == strlen(text) && memcmp(w.p, text, w.n) == 0;
}

/* What follows the first occurrence of a text; p NULL: it does not occur. */
static struct str after(struct str s, const char *text)
{
    size_t n = strlen(text);

    for (size_t i = 0; i + n <= s.n; i++)
        if (memcmp(s.p + i, text, n) == 0)
            return (struct str){ s.p + i + n, s.n - i - n };
    return (struct str){ NULL, 0 };
}

static bool ends_word(char c)
{
    return isspace((unsigned char)c) || c == ';';
}

/* What follows the first occurrence of a whole word; p NULL: it does not occur. */
static struct str after_word(struct str s, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= s.n; i++)
        if (memcmp(s.p + i, word, n) == 0 && (i == 0 || ends_word(s.p[i - 1])) &&
            (i + n == s.n || ends_word(s.p[i + n])))
            return (struct str){ s.p + i + n, s.n - i - n };
    return (struct str){ NULL, 0 };
}

/* What stands before a word whose end is where `rest` begins. */
static struct str before_word(struct str s, struct str rest, const char *word)
{
    return (struct str){ s.p, (size_t)(rest.p - s.p) - strlen(word) };
}

/* ---- numbers ------------------------------------------------------------------------------- */

static bool read_number(const struct script *s, struct str w, int64_t *ret)
{
    const struct kj_val *annotations = kj_path(s->pod, "metadata.annotations");
    const char *index =
        kj_str_or(kj_get(annotations, "batch.kubernetes.io/job-completion-index"), "");

    if (is_word(w, "${JOB_COMPLETION_INDEX}") || is_word(w, "$JOB_COMPLETION_INDEX"))
        return i64_parse(index, strlen(index), ret) == 0;
    if (is_word(w, "$RANDOM") || is_word(w, "${RANDOM}")) {
        *ret = (int64_t)((s->seed + (uint64_t)s->restarts * UINT64_C(0x9e3779b97f4a7c15)) >> 17 &
                         0x7fff);
        return true;
    }
    return w.n > 0 && w.n < 12 && i64_parse(w.p, w.n, ret) == 0 && *ret >= 0;
}

/* "1", "$(expr ${JOB_COMPLETION_INDEX} % 2)", "$(( $RANDOM / 16384 ))". */
static bool read_expression(const struct script *s, struct str e, int64_t *ret)
{
    static const char *const wraps[][2] = { { "$((", "))" }, { "$(expr ", ")" }, { "$(", ")" } };
    int64_t right;

    e = trim(e);
    for (size_t i = 0; i < ARRAY_LEN(wraps); i++) {
        size_t a = strlen(wraps[i][0]), b = strlen(wraps[i][1]);
        if (e.n > a + b && memcmp(e.p, wraps[i][0], a) == 0 &&
            memcmp(e.p + e.n - b, wraps[i][1], b) == 0) {
            e = trim((struct str){ e.p + a, e.n - a - b });
            break;
        }
    }
    if (!read_number(s, first_word(&e), ret))
        return false;
    if (e.n == 0)
        return true;
    struct str op = first_word(&e);
    if (!read_number(s, first_word(&e), &right) || e.n > 0 || right == 0 || op.n != 1)
        return false;
    *ret = *op.p == '%' ? *ret % right : *op.p == '/' ? *ret / right : *ret;
    return *op.p == '%' || *op.p == '/';
}

static bool read_time(struct str w, nsec_t *ret)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
    int64_t n, each = 1;

    if (is_word(w, "infinity") || is_word(w, "inf")) {
        *ret = FOR_EVER;
        return true;
    }
    for (size_t i = 0; w.n && i < ARRAY_LEN(units); i++)
        if (w.p[w.n - 1] == units[i].unit) {
            each = units[i].seconds;
            w.n--;
            break;
        }
    if (w.n == 0 || w.n > 12 || i64_parse(w.p, w.n, &n) < 0 || n < 0)
        return false;
    *ret = MIN(i64_mul_sat(n, each * NSEC_PER_SEC), FOR_EVER);
    return true;
}

/* ---- files --------------------------------------------------------------------------------- */

static const char *host_path_of(const struct script *s, const char *volume)
{
    struct kj_iter it = kj_iter(kj_path(s->pod, "spec.volumes"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (streq(kj_str_or(kj_get(v, "name"), ""), volume))
            return kj_str_or(kj_path(v, "hostPath.path"), NULL);
    return NULL;
}

/* Variables that may stand in a file's name. */
static void expand(const struct script *s, struct str w, struct strbuf *out)
{
    struct str rest = after(w, "$");
    int64_t n;

    if (!rest.p) {
        strbuf_appendn(out, w.p, w.n);
        return;
    }
    struct str variable = { rest.p - 1, rest.n + 1 };
    strbuf_appendn(out, w.p, (size_t)(variable.p - w.p));
    if (read_number(s, variable, &n))
        strbuf_appendf(out, "%lld", (long long)n);
    else
        strbuf_appendn(out, variable.p, variable.n);
}

/* Identifies a file that the node keeps; false: it goes with its pod. */
static bool host_file(const struct script *s, struct str name, uint64_t *ret)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT, host = STRBUF_INIT;
    struct kj_iter it = kj_iter(kj_get(s->container, "volumeMounts"));
    const struct kj_val *m;

    expand(s, name, &path);
    while (kj_next(&it, NULL, &m)) {
        const char *mount = kj_str_or(kj_get(m, "mountPath"), "");
        const char *dir = host_path_of(s, kj_str_or(kj_get(m, "name"), ""));
        if (!dir || !*mount || !str_starts(strbuf_str(&path), mount))
            continue;
        strbuf_appendf(&host, "%s/%s", dir, strbuf_str(&path) + strlen(mount));
        *ret = hash_stable(host.data, host.len);
        return true;
    }
    return false;
}

static bool file_is_there(const struct script *s, struct str name)
{
    uint64_t id;

    if (!host_file(s, name, &id))
        return s->restarts > 0; /* what a first try made is there for the next */
    for (size_t i = 0; i < s->files->made.n; i++)
        if (s->files->made.items[i] == id)
            return true;
    return false;
}

static void make_file(struct script *s, struct str name)
{
    struct hfiles *f = s->files;
    uint64_t id;

    if (!host_file(s, name, &id) || file_is_there(s, name))
        return;
    if (f->made.n < FILES_MAX)
        vec_push(&f->made, id);
    else
        f->made.items[f->next++ % FILES_MAX] = id;
}

void hfiles_fini(struct hfiles *f)
{
    vec_fini(&f->made);
}

/* ---- commands ------------------------------------------------------------------------------ */

static bool run_simple(struct script *s, struct str text)
{
    static const char *const harmless[] = { "true", ":", "echo", "touch", "date", "mkdir", "set" };
    struct str word = first_word(&text);
    int64_t code = 0;
    nsec_t time;

    if (is_word(word, "exit")) {
        if (text.n && !read_expression(s, text, &code))
            return false;
        s->code = text.n ? (int32_t)(code & 255) : s->code;
        s->over = true;
        return true;
    }
    if (is_word(word, "sleep")) {
        if (!read_time(text, &time))
            return false;
        s->run = MIN(s->run + time, FOR_EVER);
        s->code = 0;
        return true;
    }
    if (is_word(word, "touch"))
        make_file(s, text);
    s->code = is_word(word, "false") ? 1 : 0;
    bool known = is_word(word, "false");
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
        known = known || is_word(word, harmless[i]);
    return known;
}

static bool run_script(struct script *s, struct str text, int depth);

/* "[ A -ne B ]", "[[ -r FILE ]]", brackets and all. */
static bool run_test(const struct script *s, struct str t, bool *ret)
{
    static const char *const ops[] = { " -eq ", " -ne ", " -lt ", " -le ", " -gt ", " -ge " };
    int64_t a, b;

    while (t.n && (t.p[0] == '[' || isspace((unsigned char)t.p[0])))
        t.p++, t.n--;
    while (t.n && (t.p[t.n - 1] == ']' || ends_word(t.p[t.n - 1])))
        t.n--;
    if (t.n > 3 && t.p[0] == '-' && strchr("ref", t.p[1]) && t.p[2] == ' ') {
        *ret = file_is_there(s, trim((struct str){ t.p + 3, t.n - 3 }));
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        struct str right = after(t, ops[i]);
        if (!right.p)
            continue;
        if (!read_expression(s, before_word(t, right, ops[i]), &a) ||
            !read_expression(s, right, &b))
            return false;
        const bool results[] = { a == b, a != b, a<b, a <= b, a> b, a >= b };
        *ret = results[i];
        return true;
    }
    return false;
}

/* "TEST ; then A ; else B ; fi", on one line or on several. */
static bool run_if(struct script *s, struct str text, int depth)
{
    struct str yes = after_word(text, "then"), no = after_word(yes, "else"), end;
    bool is;

    if (!yes.p || !no.p || !(end = after_word(no, "fi")).p)
        return false;
    if (!run_test(s, before_word(text, yes, "then"), &is))
        return false;
    struct str a = before_word(yes, no, "else"), b = before_word(no, end, "fi");
    return run_script(s, is ? a : b, depth + 1);
}

static struct str next_statement(struct str *rest, bool *ret_if_good)
{
    struct str s = trim(*rest), out = { s.p, 0 };

    *ret_if_good = false;
    while (out.n < s.n && s.p[out.n] != ';' && s.p[out.n] != '\n' && s.p[out.n] != '&')
        out.n++;
    size_t used = MIN(out.n + 1, s.n);
    if (out.n + 1 < s.n && s.p[out.n] == '&' && s.p[out.n + 1] == '&') {
        *ret_if_good = true;
        used++;
    }
    *rest = (struct str){ s.p + used, s.n - used };
    return trim(out);
}

static bool run_script(struct script *s, struct str text, int depth)
{
    text = trim(text);
    if (depth > NESTING_MAX)
        return false;
    if (text.n > 3 && memcmp(text.p, "if ", 3) == 0)
        return run_if(s, (struct str){ text.p + 3, text.n - 3 }, depth);
    if (after(text, "while true").p == text.p + 10 || after(text, "while :").p == text.p + 7) {
        s->run = FOR_EVER;
        s->over = true;
        return true;
    }
    while (text.n && !s->over) {
        bool if_good;
        struct str one = next_statement(&text, &if_good);
        if (one.n && !run_simple(s, one))
            return false;
        if (if_good && s->code != 0)
            return true;
        text = trim(text);
    }
    return true;
}

/* ---- containers ---------------------------------------------------------------------------- */

static bool is_shell(const char *program)
{
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
    return streq(name, "sh") || streq(name, "bash") || streq(name, "ash") || streq(name, "dash");
}

static bool run_container(struct script *s, const struct kj_val *c)
{
    CLEANUP(strbuf_fini) struct strbuf words = STRBUF_INIT;
    const struct kj_val *lists[2] = { kj_get(c, "command"), kj_get(c, "args") };
    const char *argv[3] = { NULL };
    size_t n = 0;

    if (kj_len(lists[0]) == 0)
        return false; /* whatever the image starts */
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; i < kj_len(lists[l]); i++, n++) {
            const char *word = kj_str_or(kj_at(lists[l], i), "");
            if (n < 3)
                argv[n] = word;
            strbuf_appendf(&words, "%s%s", n ? " " : "", word);
        }
    if (n >= 3 && is_shell(argv[0]) && streq(argv[1], "-c"))
        return run_script(s, (struct str){ argv[2], strlen(argv[2]) }, 0);
    const char *slash = strrchr(argv[0], '/');
    size_t skip = slash ? (size_t)(slash + 1 - argv[0]) : 0;
    return run_simple(s, (struct str){ words.data + skip, words.len - skip });
}

bool hscript_read(const struct kj_val *pod, int32_t restarts, uint64_t seed, struct hfiles *files,
                  struct hscript *ret)
{
    const struct kj_val *containers = kj_path(pod, "spec.containers");
    struct hscript all = { 0 };

    for (size_t i = 0; i < kj_len(containers); i++) {
        struct script s = { .pod = pod,
                            .container = kj_at(containers, i),
                            .files = files,
                            .restarts = restarts,
                            .seed = seed + i };
        if (!run_container(&s, s.container))
            return false;
        all.run = MAX(all.run, s.run);
        all.exit_code = all.exit_code ? all.exit_code : s.code;
    }
    *ret = all;
    return kj_len(containers) > 0;
}

bool hscript_image_is_missing(const char *image)
{
    static const char *const parts[] = { "non-existent",   "nonexistent",  "non-existing",
                                         "does-not-exist", "doesnotexist", "invalid.registry" };
    const char *tag = strrchr(image, ':');

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (strstr(image, parts[i]))
            return true;
    return tag && streq(tag, ":404");
}
