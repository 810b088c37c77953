/* kj_edit.c - mutable documents. */
#include "json/kj_int.h"

static void *must(void *p)
{
    if (!p) { /* yyjson reports only memory here */
        static const char msg[] = "koord: out of memory in a JSON document\n";
        (void)!fwrite(msg, 1, sizeof msg - 1, stderr);
        abort();
    }
    return p;
}

struct kj_mdoc *kj_mdoc_new(void)
{
    return must(yyjson_mut_doc_new(NULL));
}

struct kj_mdoc *kj_mdoc_free(struct kj_mdoc *d)
{
    yyjson_mut_doc_free(kj_ymdoc(d)); /* accepts NULL */
    return NULL;
}

/* ---- new values ------------------------------------------------------------------------------ */

struct kj_mval *kj_mnull(struct kj_mdoc *d)
{
    return must(yyjson_mut_null(kj_ymdoc(d)));
}

struct kj_mval *kj_mbool(struct kj_mdoc *d, bool b)
{
    return must(yyjson_mut_bool(kj_ymdoc(d), b));
}

struct kj_mval *kj_mi64(struct kj_mdoc *d, int64_t i)
{
    /* Positive numbers as the parser stores them. */
    return must(i < 0 ? yyjson_mut_sint(kj_ymdoc(d), i)
                      : yyjson_mut_uint(kj_ymdoc(d), (uint64_t)i));
}

struct kj_mval *kj_mstrn(struct kj_mdoc *d, const char *s, size_t n)
{
    if (LIKELY(utf8_valid(s, n)))
        return must(yyjson_mut_strncpy(kj_ymdoc(d), n ? s : "", n));
    CLEANUP(strbuf_fini) struct strbuf clean = STRBUF_INIT;
    utf8_sanitise(s, n, &clean);
    return must(yyjson_mut_strncpy(kj_ymdoc(d), clean.data, clean.len));
}

struct kj_mval *kj_mstr(struct kj_mdoc *d, const char *s)
{
    return s ? kj_mstrn(d, s, strlen(s)) : kj_mnull(d);
}

struct kj_mval *kj_mraw(struct kj_mdoc *d, const char *json, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (kj_parse(json, n, KJ_RAW_NUMBERS, &doc, NULL) < 0)
        return NULL;
    return kj_mcopy(d, kj_root(doc));
}

struct kj_mval *kj_mobj(struct kj_mdoc *d)
{
    return must(yyjson_mut_obj(kj_ymdoc(d)));
}

struct kj_mval *kj_marr(struct kj_mdoc *d)
{
    return must(yyjson_mut_arr(kj_ymdoc(d)));
}

/* ---- rings ----------------------------------------------------------------------------------- */

static void set_len(yyjson_mut_val *ctn, size_t n)
{
    unsafe_yyjson_set_len(ctn, n);
}

static void arr_append(yyjson_mut_val *arr, yyjson_mut_val *v)
{
    size_t n = unsafe_yyjson_get_len(arr);
    yyjson_mut_val *last = arr->uni.ptr;

    if (n == 0) {
        v->next = v;
    } else {
        v->next = last->next;
        last->next = v;
    }
    arr->uni.ptr = v;
    set_len(arr, n + 1);
}

void kj_mlink(yyjson_mut_val *obj, yyjson_mut_val *key, yyjson_mut_val *v)
{
    size_t n = unsafe_yyjson_get_len(obj);
    yyjson_mut_val *last = obj->uni.ptr;

    key->next = v;
    if (n == 0) {
        v->next = key;
    } else {
        v->next = last->next->next;
        last->next->next = key;
    }
    obj->uni.ptr = key;
    set_len(obj, n + 1);
}

void kj_madd(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, size_t n, yyjson_mut_val *v)
{
    struct kj_mval *k = kj_mstrn((struct kj_mdoc *)d, key, n);
    kj_mlink(obj, kj_my(k), v);
}

/* ---- copies ---------------------------------------------------------------------------------- */

enum { COPY_MUT = 1 << 0, COPY_BORROW = 1 << 1 }; /* from a mutable value; texts stay its own */
static yyjson_mut_val *copy(yyjson_mut_doc *d, const yyjson_val *v, unsigned how);

static bool has_duplicates(const yyjson_val *obj, bool mut)
{
    size_t n = kj_ylen(obj);

    if (n < 2)
        return false;
    if (n > KJ_SMALL_OBJ) {
        CLEANUP(kj_index_fini) struct kj_index ix = kj_index_of(obj, mut);
        return ix.n != n;
    }
    const yyjson_val *keys[KJ_SMALL_OBJ], *k = kj_first(obj, mut);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            if (kj_key_is(keys[j], k->uni.str, kj_ylen(k)))
                return true;
        keys[i] = k;
        k = kj_sibling(kj_val_of_key(k, mut), mut);
    }
    return false;
}

static int by_pos(const void *a, const void *b)
{
    size_t x = ((const struct kj_member *)a)->pos, y = ((const struct kj_member *)b)->pos;
    return (x > y) - (x < y);
}

static yyjson_mut_val *copy_scalar(yyjson_mut_doc *d, const yyjson_val *v, unsigned how)
{
    yyjson_val *y = (yyjson_val *)(uintptr_t)v;
    bool borrow = how & COPY_BORROW;

    if (yyjson_is_str(y) && !borrow)
        return must(yyjson_mut_strncpy(d, y->uni.str, kj_ylen(y)));
    if (yyjson_is_raw(y) && !borrow)
        return must(yyjson_mut_rawncpy(d, y->uni.str, kj_ylen(y)));
    yyjson_mut_val *to = must(yyjson_mut_null(d));
    to->tag = v->tag;
    to->uni = v->uni;
    return to;
}

/* A mutable object never has a key twice: of duplicates only the last comes along. */
static void copy_members(yyjson_mut_doc *d, yyjson_mut_val *to, const yyjson_val *from,
                         unsigned how)
{
    size_t n = kj_ylen(from);
    bool mut = how & COPY_MUT;

    if (has_duplicates(from, mut)) {
        CLEANUP(kj_index_fini) struct kj_index ix = kj_index_of(from, mut);
        qsort(ix.m, ix.n, sizeof ix.m[0], by_pos);
        for (size_t i = 0; i < ix.n; i++)
            kj_madd(d, to, ix.m[i].key, ix.m[i].key_len, copy(d, ix.m[i].val, how));
        return;
    }
    const yyjson_val *k = n ? kj_first(from, mut) : NULL;
    for (size_t i = 0; i < n; i++) {
        const yyjson_val *v = kj_val_of_key(k, mut);
        kj_mlink(to, copy_scalar(d, k, how), copy(d, v, how));
        k = kj_sibling(v, mut);
    }
}

static yyjson_mut_val *copy(yyjson_mut_doc *d, const yyjson_val *v, unsigned how)
{
    bool mut = how & COPY_MUT;

    if (!kj_is_ctn(v))
        return copy_scalar(d, v, how);
    if (kj_is_obj(v)) {
        yyjson_mut_val *obj = must(yyjson_mut_obj(d));
        copy_members(d, obj, v, how);
        return obj;
    }
    yyjson_mut_val *arr = must(yyjson_mut_arr(d));
    size_t n = kj_ylen(v);
    const yyjson_val *c = n ? kj_first(v, mut) : NULL;
    for (size_t i = 0; i < n; i++, c = kj_sibling(c, mut))
        arr_append(arr, copy(d, c, how));
    return arr;
}

struct kj_mval *kj_mcopy(struct kj_mdoc *d, const struct kj_val *v)
{
    return v ? kj_mfrom(copy(kj_ymdoc(d), kj_y(v), 0)) : kj_mnull(d);
}

struct kj_mval *kj_mborrow(struct kj_mdoc *d, const struct kj_val *v)
{
    return v ? kj_mfrom(copy(kj_ymdoc(d), kj_y(v), COPY_BORROW)) : kj_mnull(d);
}

struct kj_mval *kj_mclone(struct kj_mdoc *d, struct kj_mval *v)
{
    return v ? kj_mfrom(copy(kj_ymdoc(d), kj_my_scalar(v), COPY_MUT)) : kj_mnull(d);
}

void kj_massign(struct kj_mval *v, struct kj_mval *from)
{
    kj_my(v)->tag = kj_my(from)->tag;
    kj_my(v)->uni = kj_my(from)->uni;
}

struct kj_doc *kj_freeze(const struct kj_mval *v)
{
    yyjson_doc *ydoc = must(yyjson_mut_val_imut_copy(kj_my(v), NULL));
    struct kj_doc *doc = xnew0(struct kj_doc);
    doc->ydoc = ydoc;
    doc->root = yyjson_doc_get_root(ydoc);
    return doc;
}

/* How many follow each other in the ring of a container: of an object keys and values. */
static size_t ring_len(const yyjson_mut_val *v)
{
    const yyjson_val *ctn = (const yyjson_val *)v;
    return kj_ylen(ctn) << kj_is_obj(ctn);
}

static bool is_ctn(const yyjson_mut_val *v)
{
    return kj_is_ctn((const yyjson_val *)v);
}

/* Of a value and all inside of it; most are scalars, for which no call is made. */
static size_t count_values(const yyjson_mut_val *v)
{
    const yyjson_mut_val *c = v->uni.ptr;
    size_t left = is_ctn(v) ? ring_len(v) : 0, n = left + 1;

    for (; left; left--, c = c->next)
        if (is_ctn(c))
            n += count_values(c) - 1;
    return n;
}

/* In reading order, as the parser lays them out; returns where the next one goes. */
static yyjson_val *flatten(const yyjson_mut_val *v, yyjson_val *to)
{
    yyjson_val *next = to + 1;

    to->tag = v->tag;
    to->uni = v->uni;
    if (!is_ctn(v))
        return next;
    size_t left = ring_len(v);
    const yyjson_mut_val *c = left ? (const yyjson_mut_val *)kj_first(to, true) : NULL;
    for (; left; left--, c = c->next)
        if (is_ctn(c)) {
            next = flatten(c, next);
        } else {
            next->tag = c->tag;
            next++->uni = c->uni;
        }
    to->uni.ofs = (size_t)(next - to) * sizeof *to;
    return next;
}

struct kj_doc *kj_view(const struct kj_mval *v)
{
    struct kj_doc *doc = xnew0(struct kj_doc);

    doc->root = doc->vals = xmalloc(count_values(kj_my(v)) * sizeof *doc->vals);
    (void)flatten(kj_my(v), doc->vals);
    return doc;
}

/* ---- objects --------------------------------------------------------------------------------- */

/* The member before the one with this key (its key, in the ring); NULL when there is none. */
static yyjson_mut_val *find_before(const struct kj_mval *obj, const char *key, size_t n)
{
    if (kj_mtype(obj) != KJ_OBJ)
        return NULL;
    yyjson_mut_val *prev = kj_my(obj)->uni.ptr;
    for (size_t left = unsafe_yyjson_get_len(kj_my(obj)); left > 0; left--) {
        yyjson_mut_val *k = prev->next->next;
        if (kj_key_is((yyjson_val *)k, key, n))
            return prev;
        prev = k;
    }
    return NULL;
}

struct kj_mval *kj_mgetn(const struct kj_mval *obj, const char *key, size_t n)
{
    yyjson_mut_val *prev = find_before(obj, key, n);
    return prev ? kj_mfrom(prev->next->next->next) : NULL;
}

struct kj_mval *kj_mget(const struct kj_mval *obj, const char *key)
{
    return kj_mgetn(obj, key, strlen(key));
}

void kj_msetn(struct kj_mdoc *d, struct kj_mval *obj, const char *key, size_t n,
              struct kj_mval *value)
{
    yyjson_mut_val *v = kj_my(value);

    if (!v || kj_mtype(obj) != KJ_OBJ)
        return;
    yyjson_mut_val *prev = find_before(obj, key, n);
    if (!prev) {
        kj_madd(kj_ymdoc(d), kj_my(obj), key, n, v);
        return;
    }
    yyjson_mut_val *k = prev->next->next, *old = k->next;
    if (old == v)
        return;
    v->next = old->next; /* in a ring of one this is k itself */
    k->next = v;
}

void kj_mappend(struct kj_mdoc *d, struct kj_mval *obj, const char *key, size_t n,
                struct kj_mval *v)
{
    if (v && kj_mtype(obj) == KJ_OBJ)
        kj_madd(kj_ymdoc(d), kj_my(obj), key, n, kj_my(v));
}

void kj_mset(struct kj_mdoc *d, struct kj_mval *obj, const char *key, struct kj_mval *v)
{
    kj_msetn(d, obj, key, strlen(key), v);
}

bool kj_mdel(struct kj_mval *obj, const char *key, size_t n)
{
    yyjson_mut_val *prev = find_before(obj, key, n), *o = kj_my(obj);

    if (!prev)
        return false;
    yyjson_mut_val *k = prev->next->next;
    prev->next->next = k->next->next;
    if (o->uni.ptr == k)
        o->uni.ptr = prev;
    set_len(o, unsafe_yyjson_get_len(o) - 1);
    return true;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

void kj_mpush(struct kj_mval *arr, struct kj_mval *v)
{
    if (v && kj_mtype(arr) == KJ_ARR)
        arr_append(kj_my(arr), kj_my(v));
}

/* The item before number `at` in the ring. */
static yyjson_mut_val *item_before(yyjson_mut_val *arr, size_t at)
{
    yyjson_mut_val *prev = arr->uni.ptr;
    while (at-- > 0)
        prev = prev->next;
    return prev;
}

void kj_minsert(struct kj_mval *arr, size_t at, struct kj_mval *value)
{
    yyjson_mut_val *a = kj_my(arr), *v = kj_my(value);
    size_t n = kj_mlen(arr);

    if (!v || kj_mtype(arr) != KJ_ARR)
        return;
    if (at >= n) {
        arr_append(a, v);
        return;
    }
    yyjson_mut_val *prev = item_before(a, at);
    v->next = prev->next;
    prev->next = v;
    set_len(a, n + 1);
}

bool kj_mdel_at(struct kj_mval *arr, size_t at)
{
    yyjson_mut_val *a = kj_my(arr);
    size_t n = kj_mlen(arr);

    if (kj_mtype(arr) != KJ_ARR || at >= n)
        return false;
    yyjson_mut_val *prev = item_before(a, at), *gone = prev->next;
    prev->next = gone->next;
    if (a->uni.ptr == gone)
        a->uni.ptr = prev;
    set_len(a, n - 1);
    return true;
}

void kj_mreplace_at(struct kj_mval *arr, size_t at, struct kj_mval *v)
{
    if (v && kj_mdel_at(arr, at))
        kj_minsert(arr, at, v);
}

/* ---- reading --------------------------------------------------------------------------------- */

enum kj_type kj_mtype(const struct kj_mval *v)
{
    return kj_type((const struct kj_val *)v); /* the tags are the same */
}

size_t kj_mlen(const struct kj_mval *v)
{
    return kj_len((const struct kj_val *)v);
}

struct kj_mval *kj_mat(const struct kj_mval *arr, size_t i)
{
    if (kj_mtype(arr) != KJ_ARR || i >= kj_mlen(arr))
        return NULL;
    return kj_mfrom(item_before(kj_my(arr), i)->next);
}

const char *kj_mstr_get(const struct kj_mval *v)
{
    return kj_str((const struct kj_val *)v);
}

int kj_mi64_get(const struct kj_mval *v, int64_t *ret)
{
    return kj_i64((const struct kj_val *)v, ret);
}

struct kj_miter kj_miter(const struct kj_mval *v)
{
    size_t n = kj_mlen(v);

    if (n == 0 || !kj_is_ctn(kj_my_scalar(v)))
        return (struct kj_miter){ 0 };
    return (struct kj_miter){ .cur = (void *)(uintptr_t)kj_first(kj_my_scalar(v), true),
                              .n = n,
                              .is_obj = kj_mtype(v) == KJ_OBJ };
}

bool kj_mnext(struct kj_miter *it, struct str *key, struct kj_mval **val)
{
    if (it->i >= it->n)
        return false;
    yyjson_mut_val *v = it->cur;
    struct str k = { NULL, 0 };
    if (it->is_obj) {
        k = (struct str){ unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v) };
        v = v->next;
    }
    if (key)
        *key = k;
    *val = kj_mfrom(v);
    it->cur = v->next;
    it->i++;
    return true;
}
