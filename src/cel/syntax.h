/* syntax.h - what is wrong with a text that is no expression, in the words of upstream's parser.
 *
 * The parser (parse.c) stops at the first token that it cannot use and knows no words. This one
 * reads the same text again, the way an LL parser with error recovery does: it drops a token,
 * invents one, or skips to one that some open rule waits for, and goes on, so that it may find
 * several errors; then it judges names, literals and macros of what could be read. Pure; all that
 * it allocates is in the arena or gone when it returns.
 */
#ifndef KOORD_CEL_SYNTAX_H
#define KOORD_CEL_SYNTAX_H
#include "cel/ast.h"

/* Adds at least one problem about problems->source. bind: cel.bind is there. */
void cel_syntax(struct arena *a, bool bind, struct cel_problems *problems);

/* ---- between syntax.c (the rules) and syntax_recover.c (tokens and recovery) ---------------------- */

/* In this order messages list them. */
enum syntax_type {
    T_EOF,
    T_EQ,
    T_NE,
    T_IN,
    T_LT,
    T_LE,
    T_GE,
    T_GT,
    T_AND,
    T_OR,
    T_LBRACKET,
    T_RBRACKET,
    T_LBRACE,
    T_RBRACE,
    T_LPAREN,
    T_RPAREN,
    T_DOT,
    T_COMMA,
    T_MINUS,
    T_NOT,
    T_QUESTION,
    T_COLON,
    T_PLUS,
    T_STAR,
    T_SLASH,
    T_PERCENT,
    T_TRUE,
    T_FALSE,
    T_NULL,
    T_FLOAT,
    T_INT,
    T_UINT,
    T_STRING,
    T_BYTES,
    T_IDENT,
    T_ESCAPED,
    T_END_OF_RULE = 63, /* in sets: the rule may end here */
};
typedef uint64_t type_set;
#define TYPE(t) (UINT64_C(1) << (t))

/* What a primary, an expression, an element of a list and a field of a message begin with. */
#define SYNTAX_PRIMARY                                                                          \
    (TYPE(T_LBRACKET) | TYPE(T_LBRACE) | TYPE(T_LPAREN) | TYPE(T_DOT) | TYPE(T_MINUS) |         \
     TYPE(T_TRUE) | TYPE(T_FALSE) | TYPE(T_NULL) | TYPE(T_FLOAT) | TYPE(T_INT) | TYPE(T_UINT) | \
     TYPE(T_STRING) | TYPE(T_BYTES) | TYPE(T_IDENT))
#define SYNTAX_EXPR    (SYNTAX_PRIMARY | TYPE(T_NOT))
#define SYNTAX_ELEMENT (SYNTAX_EXPR | TYPE(T_QUESTION))
#define SYNTAX_FIELD   (TYPE(T_IDENT) | TYPE(T_ESCAPED) | TYPE(T_QUESTION))

enum syntax_rule {
    R_START,
    R_EXPR,
    R_OR,
    R_AND,
    R_RELATION,
    R_CALC,
    R_UNARY,
    R_MEMBER,
    R_PRIMARY,
    R_ARGS,
    R_LIST,
    R_FIELDS,
    R_FIELD,
    R_ENTRIES,
    R_FIELD_NAME,
    R_ELEMENT,
    R_LITERAL,
    R_COUNT,
};

/* Places in the rules, "rule: what is there". */
enum syntax_place {
    P_START_EXPR,
    P_START_EOF,
    P_EXPR_OR,
    P_EXPR_QUESTION,
    P_EXPR_THEN,
    P_EXPR_COLON,
    P_EXPR_ELSE,
    P_OR_FIRST,
    P_OR_SIGN,
    P_OR_NEXT,
    P_AND_FIRST,
    P_AND_SIGN,
    P_AND_NEXT,
    P_RELATION_CALC,
    P_RELATION_RIGHT,
    P_CALC_UNARY,
    P_CALC_RIGHT,
    P_UNARY,
    P_UNARY_MEMBER,
    P_NOT_SIGN,
    P_NOT_MORE,
    P_MINUS_SIGN,
    P_MINUS_MORE,
    P_MEMBER_PRIMARY,
    P_MEMBER_KIND,
    P_SELECT_DOT,
    P_SELECT_OPTIONAL,
    P_SELECT_QUESTION,
    P_SELECT_NAME,
    P_CALL_DOT,
    P_CALL_NAME,
    P_CALL_OPEN,
    P_CALL_ARGUMENTS,
    P_CALL_ARGS,
    P_CALL_CLOSE,
    P_INDEX_OPEN,
    P_INDEX_OPTIONAL,
    P_INDEX_QUESTION,
    P_INDEX_EXPR,
    P_INDEX_CLOSE,
    P_PRIMARY,
    P_IDENT_OPTIONAL,
    P_IDENT_DOT,
    P_IDENT_NAME,
    P_GLOBAL_OPTIONAL,
    P_GLOBAL_DOT,
    P_GLOBAL_NAME,
    P_GLOBAL_OPEN,
    P_GLOBAL_ARGUMENTS,
    P_GLOBAL_ARGS,
    P_GLOBAL_CLOSE,
    P_NESTED_OPEN,
    P_NESTED_EXPR,
    P_NESTED_CLOSE,
    P_LIST_OPEN,
    P_LIST_OPTIONAL,
    P_LIST_ELEMENTS,
    P_LIST_TRAILING,
    P_LIST_COMMA,
    P_LIST_CLOSE,
    P_MAP_OPEN,
    P_MAP_OPTIONAL,
    P_MAP_ENTRIES,
    P_MAP_TRAILING,
    P_MAP_COMMA,
    P_MAP_CLOSE,
    P_MESSAGE_OPTIONAL,
    P_MESSAGE_DOT,
    P_MESSAGE_NAME,
    P_MESSAGE_LOOP,
    P_MESSAGE_NEXT_DOT,
    P_MESSAGE_NEXT_NAME,
    P_MESSAGE_MORE,
    P_MESSAGE_OPEN,
    P_MESSAGE_FIELDS_OPTIONAL,
    P_MESSAGE_FIELDS,
    P_MESSAGE_TRAILING,
    P_MESSAGE_COMMA,
    P_MESSAGE_CLOSE,
    P_PRIMARY_LITERAL,
    P_ARGS_FIRST,
    P_ARGS_COMMA,
    P_ARGS_NEXT,
    P_ELEMENTS_FIRST,
    P_ELEMENTS_COMMA,
    P_ELEMENTS_NEXT,
    P_FIELDS_NAME,
    P_FIELDS_COLON,
    P_FIELDS_VALUE,
    P_FIELDS_COMMA,
    P_FIELDS_NEXT_NAME,
    P_FIELDS_NEXT_COLON,
    P_FIELDS_NEXT_VALUE,
    P_FIELD_OPTIONAL,
    P_FIELD_QUESTION,
    P_FIELD_NAME,
    P_ENTRIES_KEY,
    P_ENTRIES_COLON,
    P_ENTRIES_VALUE,
    P_ENTRIES_COMMA,
    P_ENTRIES_NEXT_KEY,
    P_ENTRIES_NEXT_COLON,
    P_ENTRIES_NEXT_VALUE,
    P_NAME,
    P_NAME_PLAIN,
    P_NAME_ESCAPED,
    P_ELEMENT_OPTIONAL,
    P_ELEMENT_QUESTION,
    P_ELEMENT_EXPR,
    P_LITERAL,
    P_NUMBER_SIGN,
    P_NUMBER_MINUS,
    P_NUMBER,
    P_COUNT,
};

struct syntax_token {
    uint8_t type, lexed; /* enum syntax_type, enum cel_token */
    struct str text;
};

/* A rule that is open: where in the rule above it was called. */
struct syntax_frame {
    enum syntax_place from;
    const struct syntax_frame *up;
};

enum syntax_fault { FAULT_NONE, FAULT_MISMATCH, FAULT_ALTERNATIVE };

struct syntax {
    struct cel_parser tree; /* its problems: those of names, literals and macros */
    struct cel_problems *problems;
    struct cel_lexer lex;
    struct vec_of(struct syntax_token) tokens; /* as far as somebody looked */
    size_t at;                                 /* the next token to be used */
    enum syntax_place place;
    const struct syntax_frame *frame;
    int depth[R_COUNT];
    enum syntax_fault fault;    /* of the rule that is open, not reported yet */
    size_t from, bad;           /* FAULT_ALTERNATIVE: the tokens that fit no alternative */
    bool recovering;            /* nothing is reported until a token fits again */
    bool too_high;              /* the tree is: what would have to be judged is not */
    bool stopped;               /* given up: nothing more is read or judged */
    size_t last_error;          /* the token at which the last recovery began; SIZE_MAX: none */
    uint8_t recovered[P_COUNT]; /* places where it began since a token fitted last */
    int attempts, reports;
};

const struct syntax_token *syntax_at(struct syntax *s, size_t i);
enum syntax_type syntax_ahead(struct syntax *s, size_t k); /* 0: the next one */
/* At a place with several ways on: drops a token that is on none of them, or sets fault. */
bool syntax_sync(struct syntax *s, enum syntax_place place);
/* Behind a turn of a loop: skips what fits neither into the loop nor behind it. */
void syntax_resync(struct syntax *s, enum syntax_place place);
/* Uses a token of this type, or invents one, whose text is empty. False: fault is set. ret may be
 * NULL. */
bool syntax_match(struct syntax *s, enum syntax_place place, enum syntax_type type,
                  struct syntax_token *ret);
/* Uses the next token, which has been looked at. */
struct syntax_token syntax_take(struct syntax *s);
/* No alternative fits the tokens from s->at to bad. */
void syntax_no_alternative(struct syntax *s, size_t bad);
/* Reports the fault of the rule that ends and skips to what follows it. */
void syntax_recover(struct syntax *s);
/* An error without a place, after which nothing more is read. */
void syntax_stop(struct syntax *s, const char *why);
#endif
