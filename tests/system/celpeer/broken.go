// Texts that are nearly expressions: what the parser says about them.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var token = regexp.MustCompile("[bBrR]*(?:'[^']*'|\"[^\"]*\")|`[^`]*`|[A-Za-z_0-9]+|&&|\\|\\||[=!<>]=|\\s+|.")

var bits = []string{"(", ")", "[", "]", "{", "}", ".", ",", "?", ":", "!", "-", "+", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=",
	"&&", "||", "in", "true", "false", "null", "1", "-1", "2u", "1.5", ".5", "1e9", "0x1F", "99999999999999999999", "9e999", "'a'",
	"\"b\"", "b'c'", "r'd\\'", "br\"e\"", "'''f'''", "\"\"\"", "'''", "a", "b", "x", "if", "for", "has", "all", "map", "sortBy", "optMap",
	"`a b`", "`", "'", "\"", "\\", "&", "|", "=", "@", "#", "$", "~", ";", " ", "\n", "\t", "\r", "// c\n", "é", "😀", "'\\q'", "'\\ud800'",
	".?b", "[?", "{?", "a.b{", "a.b.C{c: 1}", ".a", "x.all(", "has(a)", "[1].map(", "{'k':", "- 1", "--", "!!", "?:", "..", ",,", "()", "[]", "{}", "[,]", "{,}",
	"a{,}"}

// One change: a token less, twice, in another place, exchanged, or a strange one; the end cut off; a sign changed.
func (g *generator) damage(s string) string {
	parts := token.FindAllString(s, -1)
	if len(parts) == 0 {
		return g.pick(bits)
	}
	i, k := g.r.Intn(len(parts)), g.r.Intn(len(parts))
	switch g.r.Intn(9) {
	case 0:
		parts[i] = ""
	case 1:
		parts[i] += parts[i]
	case 2:
		parts[i], parts[k] = parts[k], parts[i]
	case 3, 4:
		parts[i] += g.pick(bits)
	case 5:
		parts[i] = g.pick(bits)
	case 6:
		parts = parts[:i]
	case 7:
		parts[i] += parts[k]
	default:
		return g.spoil(s)
	}
	return strings.Join(parts, "")
}

func (g *generator) broken() string {
	switch g.r.Intn(12) {
	case 0, 1, 2: // no sense at all
		var out strings.Builder
		for n := g.r.Intn(14); n >= 0; n-- {
			out.WriteString(g.pick(bits))
			if g.r.Intn(3) == 0 {
				out.WriteString(" ")
			}
		}
		return out.String()
	case 3: // the limits
		n := g.r.Intn(400)
		return strings.Repeat(g.pick(bits), n) + g.pick(bits) + strings.Repeat(g.pick(bits), g.r.Intn(n+1))
	}
	expr := g.expr(g.pick(g.set.types), 1+g.r.Intn(4))
	for n := g.r.Intn(4); n >= 0; n-- {
		expr = g.damage(expr)
	}
	return expr
}

// ".x" where x is a variable of a macro: there that variable, here only what is global (docs/cel.md).
var globalOnly = regexp.MustCompile(`(^|[^\w)\]}'"\s])\s*\.\s*w\d`)

// What is an expression after all must be one for both; the words about its types are the other generator's business.
func writeBroken(w *bufio.Writer, seed, count int64) {
	env, set := baseEnv(), newSetting(nil, nil)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for n := int64(0); n < count; n++ {
		g := newGenerator(seed+n, set)
		in, out := g.judged(env, g.broken())
		if out == nil || beyondText(in["expr"].(string), out) ||
			(out["error"] != "parse" && globalOnly.MatchString(in["expr"].(string))) {
			continue
		}
		if out["error"] == "check" {
			delete(out, "message")
		}
		_ = enc.Encode(object{"name": fmt.Sprintf("broken-%d", seed+n), "in": in, "out": out})
	}
}
