/* ast.h - the tree of an expression, between text and program. Lives in one arena. */
#ifndef KOORD_CEL_AST_H
#define KOORD_CEL_AST_H
#include "base/vec.h"
#include "cel/lib.h"

enum cel_ast_kind {
    CA_CONST,
    CA_IDENT,  /* name */
    CA_SELECT, /* target . name */
    CA_CALL,   /* target . name (args), target NULL: a function by itself */
    CA_LIST,
    CA_MAP,    /* args: key, value, key, value ... */
    CA_STRUCT, /* name { args }, fields in names */
    CA_FOLD,
    CA_BROKEN, /* what stands where an error was: neither a name nor anything else that macros take
                */
};

/* What a macro over a list becomes: accu = init; for x in range while cond: accu = step; result. */
struct cel_fold {
    struct str var, var2, accu; /* var2.n == 0: one variable */
    struct cel_ast *range, *init, *cond, *step, *result;
    bool bind; /* no loop: a name for init, evaluated where it is used */
};

/* Bounds of a size or a cost. */
struct cel_bounds {
    uint64_t min, max;
};

/* What the estimate knows of a node. */
struct cel_sizes {
    struct cel_bounds size, key, val;
    bool has_size, has_entry;
    uint8_t entry_kind;          /* CT_LIST, CT_MAP */
    const struct cel_type *path; /* the node of a schema that it reads; NULL: none */
    uint32_t depth;              /* how many names lead there */
};

struct cel_ast {
    uint8_t kind;
    bool test_only; /* has() */
    uint32_t pos;   /* byte of the text that messages point to */
    uint32_t n_args;
    uint32_t overloads; /* CA_CALL: the overloads that fit, by bit */
    struct str name;
    struct cel_val value; /* CA_CONST; also of an identifier that names a type */
    struct cel_ast *target;
    struct cel_ast **args;
    bool *optional;    /* CA_LIST, CA_MAP, CA_STRUCT: which entries; NULL: none */
    struct str *names; /* CA_STRUCT: of fields */
    uint32_t *colons;  /* CA_STRUCT: what messages about a field point to */
    struct cel_fold *fold;
    const struct cel_function *fn;
    const struct cel_type *type;
    struct cel_sizes *sizes;
    struct cel_bounds *cost; /* the estimate, once made: macros use some nodes twice */
    struct cel_node *node;   /* of the program, once made */
    bool checked;
    bool mixed;      /* a literal whose elements may have any types */
    uint8_t walked;  /* by which walk last */
    uint16_t height; /* levels that count against CEL_DEPTH_MAX */
};

/* Errors of parsing and checking. The first CEL_PROBLEMS_MAX are kept, all are counted. */
struct cel_problem {
    uint32_t pos;
    const char *text;
};
#define CEL_NOWHERE  (UINT32_MAX - 1) /* -1:0 */
#define CEL_UNPLACED UINT32_MAX       /* 1:0: about a part of which nothing could be read */
struct cel_problems {
    struct arena *a;
    struct str source;
    struct vec_of(struct cel_problem) list;
    size_t left_out;
};
enum { CEL_PROBLEMS_MAX = 100 };
void cel_problem(struct cel_problems *p, uint32_t pos, const char *fmt, ...) PRINTF(3, 4);
/* Forgets those after the first n. */
void cel_problems_cut(struct cel_problems *p, size_t n);
/* Those of from behind those of p. */
void cel_problems_join(struct cel_problems *p, const struct cel_problems *from);
/* "ERROR: <input>:1:5: TEXT\n | SOURCE\n | ....^", one after the other in the order of their
 * places. */
void cel_problems_print(struct cel_problems *p, struct strbuf *out);

/* ---- tokens -------------------------------------------------------------------------------------- */

enum cel_token {
    TOK_END,
    TOK_BAD, /* no token: the text at which the lexer gave up */
    TOK_IDENT,
    TOK_ESCAPED, /* `a name` */
    TOK_INT,
    TOK_UINT,
    TOK_DOUBLE,
    TOK_STRING,
    TOK_BYTES,
    TOK_OR,
    TOK_AND,
    TOK_EQ,
    TOK_NE,
    TOK_LE,
    TOK_GE,
    TOK_SIGN, /* one character: in ch */
};

struct cel_lexer {
    const char *text, *p, *end;
    enum cel_token tok;
    char ch;
    struct str body; /* of the token, quotes and all */
};
void cel_lex_next(struct cel_lexer *l);
/* The value of a string or bytes token; NULL, or what is wrong with it. */
const char *cel_lex_unquote(struct arena *a, struct str body, bool bytes, struct cel_val *ret);

/* ---- parser -------------------------------------------------------------------------------------- */

struct cel_parser {
    struct arena *a;
    struct cel_lexer lex;
    struct cel_problems *problems;
    bool bind;                   /* cel.bind is there */
    bool failed;                 /* an error of syntax, or too deep: nothing more is read */
    int depth, relations, calcs; /* rules of the grammar that are open, by kind */
};
enum { CEL_DEPTH_MAX = 250, CEL_LENGTH_MAX = 100000 };

/* Parts of trees, for both passes of the parser. */
struct nodes vec_of(struct cel_ast *);
void cel_ast_keep(struct arena *a, struct cel_ast *n, struct nodes *list); /* takes the list */
struct cel_ast *cel_ast_call(struct arena *a, const char *fn, uint32_t pos, struct cel_ast *x,
                             struct cel_ast *y);
struct cel_ast *cel_ast_number(struct cel_parser *p, enum cel_token tok, struct str text,
                               bool negative, uint32_t pos);
struct cel_ast *cel_ast_text(struct cel_parser *p, bool bytes, struct str text, uint32_t pos);
bool cel_name_is_reserved(struct str s);
/* The macro, or the call as it is, one level (of the limit) above what it is made from. */
struct cel_ast *cel_ast_called(struct cel_parser *p, struct cel_ast *call);
/* Sets the height: levels above the highest child. */
struct cel_ast *cel_ast_raise(struct cel_ast *n, unsigned levels);

/* NULL: the problems tell. */
struct cel_ast *cel_parse(struct arena *a, bool bind, struct cel_problems *problems);
struct cel_ast *cel_ast_new(struct arena *a, enum cel_ast_kind kind, uint32_t pos);
/* The macro of this call, expanded; the call itself when it is none. */
struct cel_ast *cel_expand(struct cel_parser *p, struct cel_ast *call);

/* ---- checker ------------------------------------------------------------------------------------- */

struct cel_env;
/* Types of all nodes, overloads of all calls. */
void cel_check(const struct cel_env *env, struct arena *a, struct cel_ast *root,
               struct cel_problems *problems);
/* Literals of durations, times, patterns and formats. */
void cel_check_literals(struct arena *a, struct cel_ast *root, struct cel_problems *problems);

/* Calls fn for each node once, parents first. Each walk over a tree has a higher number. */
enum { CEL_WALK_TYPES = 1, CEL_WALK_FORMATS, CEL_WALK_LITERALS };
void cel_ast_walk(struct cel_ast *n, uint8_t walk, void (*fn)(void *arg, struct cel_ast *n),
                  void *arg);

struct cel_cost;
struct cel_cost cel_estimate_tree(const struct cel_env *env, struct arena *a, struct cel_ast *root);
#endif
