/* internal.h - what the files of the store share. Nobody outside includes this.
 *
 *   index.c    keys of each resource in order, with the revision of the newest committed version
 *   history.c  every event since the compaction in revision order, and the documents of the last
 *   write.c    judging writes, the overlay of uncommitted ones, batches and their end
 *   watch.c    cursors over the history, fed in bounded pieces
 *   compact.c  what is too old goes, by age, by count or on demand
 *   turn.c     work for the next turn
 *   memory.c, sqlite.c, writer.c   where documents live: the backends and the writer thread
 *
 * Versions of one key are chained through the history (prev), so a list as of a revision and a
 * watch from one need no index on disk: the disk is asked for documents by revision only.
 */
#ifndef KOORD_APISERVER_STORE_INTERNAL_H
#define KOORD_APISERVER_STORE_INTERNAL_H
#include "apiserver/store/store.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "loop/loop.h"

struct entry;
struct write;

enum {
    HISTORY_MAX = 1 << 18,     /* events kept whatever their age: 6 MB of memory */
    BATCH_WRITES = 2048,       /* one transaction takes no more, nor more bytes than this: */
    BATCH_BYTES = 8 << 20,     /*   its pages stay in memory until the commit */
    BATCH_DROPS = 256,         /* old versions removed along with one transaction */
    PENDING_BYTES = 128 << 20, /* uncommitted documents; beyond: KR_TOO_MANY_REQUESTS */
    DOC_MAX = 16 << 20,        /* the registry's own limit is far lower */
    COMPACT_STEP = 8192,       /* events forgotten per turn */
    WATCH_EVENTS = 256,        /* per watcher and turn: events told, */
    WATCH_FETCHES = 32,        /*   of which documents read from the backend, */
    WATCH_SCAN = 16384,        /*   and events of others looked at */
};
#define PROGRESS_EVERY NSEC_PER_SEC
#define PROBE_FIRST    NSEC_PER_SEC /* after a failed commit; then twice as long each time */
#define PROBE_MAX      (30 * NSEC_PER_SEC)

/* ---- documents: counted on the loop thread; the writer thread only reads the bytes ----------- */

struct doc {
    uint32_t refs, n;
    char data[]; /* NUL-terminated */
};
struct doc *doc_new(const char *p, size_t n);
struct doc *doc_ref(struct doc *d);
struct doc *doc_unref(struct doc *d); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(doc_unref, struct doc *)

/* ---- index ----------------------------------------------------------------------------------- */

struct resource {
    char *name;
    struct chunk **chunks;
    size_t n, cap;
    size_t live;  /* objects that exist (committed) */
    uint64_t rev; /* of the last committed change */
    uint64_t gen; /* changes with every entry that comes or goes */
};

struct entry {
    uint64_t rev : 63; /* of the newest committed version; 0: there is none (a create under way) */
    uint64_t live : 1; /* that version is an object, not a deletion */
    struct write *newest; /* the overlay: the newest write under way, older ones behind it */
    struct resource *res;
    const char *ns; /* interned */
    char name[];
};

struct index {
    struct map resources;
    struct intern *strings; /* namespaces */
};
struct index_pos {
    size_t c, i;
};
void index_init(struct index *x);
void index_fini(struct index *x); /* frees the entries too; nothing may be under way */
struct resource *index_resource(const struct index *x, const char *res); /* NULL: never seen */
struct resource *index_resource_add(struct index *x, const char *res);
struct entry *index_find(const struct index *x, const struct store_key *k);
struct entry *index_add(struct index *x, const struct store_key *k); /* finds or makes it */
void index_remove(struct index *x, struct entry *e);                 /* and frees it */
/* The first entry at or after (ns, name), or after it when `past`. */
struct index_pos index_seek(const struct resource *r, const char *ns, const char *name, bool past);
struct entry *index_at(const struct resource *r, struct index_pos p); /* NULL at the end */
struct index_pos index_next(const struct resource *r, struct index_pos p);

/* ---- history --------------------------------------------------------------------------------- */

struct hist_event {
    uint64_t rev;
    uint64_t prev : 62; /* the version before: an object (modified, deleted) or, when added, the
                         * deletion before it; 0: none that history knows */
    uint64_t type : 2;  /* enum store_event_type */
    struct entry *e;
};
struct hist_docs {         /* the documents of one recent event */
    struct doc *doc, *old; /* old: loaded when first asked for, then shared by all watchers */
};
struct history {
    struct hist_event *events; /* a ring of cap (a power of two), the oldest at head */
    size_t head, n, cap;
    struct hist_docs *docs; /* the same for the newest ndocs events */
    size_t dhead, ndocs, dcap;
    size_t bytes, max_bytes; /* of documents held by docs */
    uint64_t floor;          /* states from this revision on can be read; events after it */
};
void hist_init(struct history *h, size_t max_bytes);
void hist_fini(struct history *h);
/* doc NULL: the document is not in memory (loading), then nor is any before it. */
void hist_push(struct history *h, struct hist_event ev, struct doc *doc);
void hist_pop(struct history *h);                                  /* the oldest */
struct hist_event *hist_at(const struct history *h, size_t i);     /* 0: the oldest */
struct hist_docs *hist_docs_at(const struct history *h, size_t i); /* NULL: not in memory */
size_t hist_after(const struct history *h, uint64_t rev); /* index of the first event after rev */
/* SIZE_MAX: not there. */
size_t hist_find(const struct history *h, uint64_t rev);
void hist_set_old(struct history *h, size_t i, struct doc *old); /* takes a reference */
/* The version of this key that was current at a revision >= floor; 0: it did not exist. */
uint64_t hist_version_at(const struct history *h, const struct entry *e, uint64_t at);

/* ---- backends -------------------------------------------------------------------------------- */

struct write {
    struct write *next;          /* in its queue or batch */
    struct write *older, *newer; /* of the same key, under way */
    struct entry *e;
    struct doc *doc;
    uint64_t rev, prev;
    enum store_event_type type;
    store_done_fn fn;
    void *arg;
};
struct write_list {
    struct write *first, **end;
    size_t n;
};
struct revs vec_of(uint64_t);

struct batch {
    struct write_list writes;
    struct revs drops; /* versions nobody can reach any more */
    uint64_t floor;    /* to be remembered with the drops */
    bool probe;        /* without writes: writes something of its own, to see whether it can */
    int inject;        /* an errno: the commit fails at its very end */
    struct kerr err;   /* the result; code 0: on disk */
};

struct backend;
struct backend_ops {
    /* All or nothing; fills b->err. On the writer thread where there is one. */
    void (*commit)(struct backend *be, struct batch *b);
    /* Housekeeping after the acknowledgement of a commit, on the same thread. May be NULL. */
    void (*tidy)(struct backend *be);
    /* The document of a committed version. Loop thread. The caller owns one reference. */
    struct doc *(*fetch)(struct backend *be, uint64_t rev, struct kerr *err);
    /* Many fetches follow, until the matching false: saves a transaction each. May be NULL. */
    void (*reading)(struct backend *be, bool on);
    struct backend *(*free)(struct backend *be);
};
struct backend {
    const struct backend_ops *ops;
};
struct backend *memory_new(void);
/* Opens, locks and checks the file. *ret_floor: how far it was compacted. */
int sqlite_open(const char *path, struct backend **ret, uint64_t *ret_floor, struct kerr *err);
/* What is found at start, in the order of revisions. */
struct load_row {
    uint64_t rev;
    bool deleted;
    struct store_key key;
};
int sqlite_load(struct backend *be, void (*row)(void *arg, const struct load_row *r), void *arg,
                struct kerr *err);

/* A thread that commits one batch at a time. on_done comes on the loop thread. */
struct writer;
typedef void (*writer_fn)(void *arg, struct batch *b);
int writer_new(struct loop *l, struct backend *be, writer_fn on_done, void *arg,
               struct writer **ret, struct kerr *err);
/* Waits for the batch under way, which is then done; on_done is not called. Frees the writer. */
void writer_stop(struct writer *w);
void writer_submit(struct writer *w, struct batch *b);

/* ---- the store ------------------------------------------------------------------------------- */

struct mark { /* all up to rev was there at `last`; see compact.c */
    nsec_t first, last;
    uint64_t rev;
};
struct link {
    struct link *prev, *next;
};

struct turn {
    unsigned want;
    struct timer *timer; /* NULL: nothing is wanted */
};

struct store {
    struct loop *loop;
    struct turn turn;
    char *path;
    nsec_t history_ns, compact_ns;
    struct backend *be;
    struct writer *writer; /* NULL: batches are committed on the loop, in a later turn */
    unsigned calling;      /* callbacks are running: no store_close() */

    struct index index;
    struct history hist;
    uint64_t revision;   /* committed */
    struct kerr failing; /* of the last commit; code 0: it went well */
    struct timer *probe; /* while it fails: tries again, should nobody write */
    nsec_t probe_wait;   /* of the last one; 0: none yet */
    bool probing;        /* the next batch is one */
    uint64_t last;       /* handed out */

    struct write_list queue; /* judged, not yet in a batch */
    size_t queue_bytes, pending;
    struct batch *batch; /* under way */
    struct timer *disk;  /* the time a batch takes on the virtual loop */
    int inject;

    struct vec_of(struct mark) marks;
    struct timer *compact_timer;
    /* To be removed by the next batches, from dropped on, in this order: an older version before
     * a newer. The other way round a crash could leave an object whose deletion is forgotten. */
    struct revs drops;
    size_t dropped;
    uint64_t compact_goal;

    struct link watches;
    size_t nwatches;
    struct timer *progress;
    bool pumping;

    uint64_t writes, batches, conflicts, failed;
};

/* turn.c */
enum { TURN_BATCH = 1, TURN_PUMP = 2, TURN_COMPACT = 4 };
void turn_fini(struct store *s);
void turn_ask(struct store *s, unsigned what); /* in the next turn */

/* The document of a committed version: from the recent ones or from the backend. */
struct doc *store_doc(struct store *s, uint64_t rev, struct kerr *err);

void store_reading(struct store *s, bool on); /* see backend_ops.reading */

/* write.c */
void write_start(struct store *s);
void write_kick(struct store *s);   /* something is there to be committed */
void write_finish(struct store *s); /* at the end: commits all that is under way, tells nobody */
void write_on_thread_done(void *store, struct batch *b); /* a writer_fn */
void write_unused(struct store *s, struct entry *e); /* frees an entry that stands for nothing */

/* compact.c */
void compact_continue(struct store *s);
void compact_committed(struct store *s); /* after each commit */

/* watch.c */
void watch_pump(struct store *s); /* tells what is new, in bounded pieces */
void watch_wake(struct store *s); /* the same in the next turn */
void watch_end_all(struct store *s);
#endif
