// Random expressions: templates by the type of their result, with holes for parts of other types.
package main

import (
	"fmt"
	"math/rand"
	"strings"
)

// "{int}" is a hole; "@int" a variable of a macro, known to the holes behind it and written as its name; "$s" a string
// literal, "$n" a small number, "$re" a pattern. Binary operators get parentheses.
var templates = map[string][]string{
	"int": {
		"({int} + {int})", "({int} - {int})", "({int} * {int})", "({int} / {int})", "({int} % {int})", "-({int})",
		"size({string})", "{string}.size()", "size({listint})", "{liststring}.size()", "size({map})", "size({bytes})",
		"int({string})", "int({double})", "int({uint})", "int({ts})", "({bool} ? {int} : {int})", "{listint}[{int}]",
		"{listint}[$n]", "{map}[{string}]", "{map}.a", "{string}.indexOf({string})", "{string}.lastIndexOf({string})",
		"{string}.indexOf({string}, {int})", "{listint}.sum()", "{listint}.min()", "{listint}.max()",
		"{listint}.indexOf({int})", "{listint}.lastIndexOf({int})", "{ts}.getFullYear()", "{ts}.getMonth()",
		"{ts}.getDate()", "{ts}.getDayOfWeek()", "{ts}.getDayOfYear()", "{ts}.getHours('+02:30')", "{ts}.getMinutes()",
		"{ts}.getMilliseconds()", "{dur}.getHours()", "{dur}.getMinutes()", "{dur}.getSeconds()",
		"{optint}.orValue({int})", "{optint}.value()", "{semver}.major()", "{semver}.minor()", "{semver}.patch()",
		"{semver}.compareTo({semver})", "{quantity}.compareTo({quantity})", "quantity('12').asInteger()",
		"{quantity}.sign()", "sign({quantity})", "{cidr}.prefixLength()", "{ip}.family()", "{mapint}[{int}]", "dyn({int})",
		"{listlist}[$n][$n]", "{map}.?b.orValue({int})", "{map}[?{string}].orValue($n)", "{listint}[?$n].orValue({int})",
		"{listint}.first().orValue($n)", "{listint}.last().value()", "vx",
	},
	"uint": {"({uint} + {uint})", "({uint} - {uint})", "({uint} * {uint})", "({uint} / {uint})", "({uint} % {uint})",
		"uint({int})", "uint({string})", "uint({double})", "({bool} ? {uint} : {uint})"},
	"double": {"({double} + {double})", "({double} - {double})", "({double} * {double})", "({double} / {double})",
		"-({double})", "double({int})", "double({string})", "double({uint})", "{quantity}.asApproximateFloat()",
		"({bool} ? {double} : {double})"},
	"bool": {
		"({bool} && {bool})", "({bool} || {bool})", "!({bool})", "({int} < {int})", "({int} <= {int})", "({int} > {int})",
		"({int} == {int})", "({int} != {int})", "({string} == {string})", "({string} < {string})", "({bytes} == {bytes})",
		"({double} < {double})", "({double} == {double})", "({uint} >= {uint})", "({int} < {double})", "({uint} == {uint})",
		"({listint} == {listint})", "({map} == {map})", "({ts} < {ts})", "({dur} > {dur})", "({int} in {listint})",
		"({string} in {liststring})", "({string} in {map})", "{string}.contains({string})", "{string}.startsWith({string})",
		"{string}.endsWith({string})", "{string}.matches($re)", "matches({string}, {string})", "has({map}.a)", "has(vm.b)",
		"{listint}.all(@int, {bool})", "{listint}.exists(@int, {bool})", "{listint}.exists_one(@int, {bool})",
		"{liststring}.all(@string, {bool})", "{liststring}.exists(@string, {bool})", "{one}.all(@string, {bool})",
		"{one}.exists(@string, {bool})", "{listint}.all(@int, @int, {bool})", "{liststring}.exists(@int, @string, {bool})",
		"{listint}.existsOne(@int, @int, {bool})", "({bool} ? {bool} : {bool})", "bool({string})", "isIP({string})",
		"isCIDR({string})", "isQuantity({string})", "isURL({string})", "isSemver({string})", "isSemver({string}, {bool})",
		"{ip}.isLoopback()", "{ip}.isUnspecified()", "{ip}.isGlobalUnicast()", "{ip}.isLinkLocalUnicast()",
		"{cidr}.containsIP({ip})", "{cidr}.containsIP($ip)", "{cidr}.containsCIDR({cidr})", "({ip} == {ip})",
		"ip.isCanonical({string})", "quantity('100m').isInteger()", "{quantity}.isLessThan({quantity})",
		"{quantity}.isGreaterThan({quantity})", "({quantity} == quantity($q))", "{semver}.isLessThan({semver})",
		"{semver}.isGreaterThan({semver})", "({semver} == {semver})", "{listint}.isSorted()", "{liststring}.isSorted()",
		"sets.contains({listint}, {listint})", "sets.intersects({listint}, {listint})",
		"sets.equivalent({liststring}, {liststring})", "{optint}.hasValue()", "({optint} == {optint})",
		"format.dns1123Label().validate({string}).hasValue()", "format.uuid().validate({string}).hasValue()",
		"(type({int}) == int)", "(type(dyn({string})) == string)", "(dyn({int}) == dyn({string}))",
		"(dyn({int}) == dyn({double}))", "(dyn({uint}) < dyn({int}))", "({listlist} == {listlist})", "({bool} == {bool})",
		"(vx == {int})", "(vx > {int})", "has(vx.a)", "({int} in dyn({listint}))", "({dur} == {dur})",
	},
	"string": {
		"({string} + {string})", "string({int})", "string({double})", "string({bool})", "string({bytes})", "string({ts})",
		"string({dur})", "string({uint})", "string({ip})", "string({cidr})", "({bool} ? {string} : {string})",
		"{string}.charAt($n)", "{string}.lowerAscii()", "{string}.upperAscii()", "{string}.trim()",
		"{string}.substring($n)", "{string}.substring($n, $n)", "{string}.replace($s, {string})",
		"{string}.replace($s, $s, $n)", "{liststring}.join()", "{liststring}.join({string})", "{string}.find($re)",
		"strings.quote({string})", "'%d and %s'.format([size({string}), {string}])", "'%.2f|%e'.format([{double}, {double}])",
		"'%x %b %o'.format([{int}, {int}, {int}])", "'%s'.format([{listint}])", "'%s'.format([{map}])",
		"'%X'.format([{string}])", "{liststring}[$n]", "{liststring}[{int}]", "{liststring}.min()", "{url}.getHost()",
		"{url}.getHostname()", "{url}.getPort()", "{url}.getScheme()", "{url}.getEscapedPath()",
		"{optstring}.orValue({string})", "dyn({string})", "{liststring}.last().orValue($s)",
		"format.named('dns1123Label').value().validate({string}).orValue(['none']).join(',')",
	},
	"bytes": {"(vy + bytes({string}))", "bytes({string})", "({bool} ? {bytes} : {bytes})"},
	"ts":    {"({ts} + {dur})", "({ts} - {dur})", "timestamp({string})", "timestamp($ts)", "({bool} ? {ts} : {ts})"},
	"dur":   {"({dur} + {dur})", "({dur} - {dur})", "({ts} - {ts})", "duration({string})", "duration($du)"},
	"quantity": {"quantity($q)", "quantity({string})", "{quantity}.add({quantity})", "{quantity}.sub({quantity})",
		"{quantity}.add({int})", "{quantity}.sub($n)"},
	"semver": {"semver($v)", "semver({string})", "semver({string}, true)"},
	"ip":     {"ip($ip)", "ip({string})", "{cidr}.ip()"},
	"cidr":   {"cidr($cidr)", "cidr({string})", "{cidr}.masked()"},
	"url":    {"url($url)", "url({string})"},
	"listint": {
		"[{int}]", "[{int}, {int}]", "[{int}, {int}, {int}]", "({listint} + {listint})", "{listint}.map(@int, {int})",
		"{listint}.map(@int, {bool}, {int})", "{listint}.filter(@int, {bool})", "{liststring}.map(@string, {int})",
		"{listint}.sort()", "{listint}.reverse()", "{listint}.distinct()", "{listint}.slice($n, $n)", "{listlist}.flatten()",
		"lists.range($n)", "({bool} ? {listint} : {listint})", "{listint}.sortBy(@int, {int})",
		"{listint}.transformList(@int, @int, {int})", "{listint}.transformList(@int, @int, {bool}, {int})",
		"[?optional.of({int}), {int}]", "[{optint}].unwrapOpt()", "optional.unwrap([{optint}, {optint}])", "[]",
	},
	"liststring": {
		"[{string}]", "[{string}, {string}]", "({liststring} + {liststring})", "{liststring}.map(@string, {string})",
		"{liststring}.filter(@string, {bool})", "{string}.split($s)", "{string}.split($s, $n)", "{string}.findAll($re)",
		"{string}.findAll($re, $n)", "{liststring}.sort()", "{liststring}.distinct()", "{one}.map(@string, {string})",
		"{listint}.map(@int, {string})", "{liststring}.reverse()", "{liststring}.sortBy(@string, {string})",
	},
	"listlist": {"[{listint}]", "[{listint}, {listint}]", "{listint}.map(@int, {listint})"},
	"map":      {"{$s: {int}}", "{'a': {int}, 'b': {int}}", "({bool} ? {map} : {map})", "{?'a': {optint}, 'c': {int}}"},
	"mapint":   {"{{int}: {int}}", "{1: {int}, 2: {int}}", "{listint}.transformMap(@int, @int, {int})"},
	"one":      {"{$s: {int}}", "{{string}: {int}}"},
	"optint": {"optional.of({int})", "optional.none()", "optional.ofNonZeroValue({int})", "{map}.?a", "{map}[?{string}]",
		"{listint}[?{int}]", "{optint}.or({optint})", "{optint}.optMap(@int, {int})", "{optint}.optFlatMap(@int, {optint})",
		"{listint}.first()"},
	"optstring": {"optional.of({string})", "{liststring}[?$n]", "{liststring}.first()", "{optint}.optMap(@int, {string})"},
}

// Variables, and literals that are as good as one.
var leaves = map[string][]string{
	"int":    {"vi", "vi", "0", "1", "-1", "2", "7", "100", "9223372036854775807", "-9223372036854775808", "0x1f"},
	"uint":   {"vu", "0u", "1u", "18446744073709551615u", "3u"},
	"double": {"vd", "0.0", "1.5", "-2.25", "1e100", "0.1", "1e-7"},
	"bool":   {"vb", "true", "false"},
	"string": {"vs", "vs", "''", "'a'", "'abc'", "'é😀'", "'10.0.0.1'", "'1Gi'", "'1.2.3'", "'true'", "'12'", "'-7'", "' x '",
		"'a,b,c'", "'https://a.b:80/c?d=e'", "'2024-02-29T12:30:00Z'", "'1h30m'", "'10.0.0.0/8'", "'::1'"},
	"bytes":    {"vy", "b''", "b'abc'", "b'\\xff'"},
	"ts":       {"vt", "timestamp('2024-02-29T12:30:00Z')", "timestamp('1969-12-31T23:59:59.5Z')"},
	"dur":      {"vr", "duration('90s')", "duration('-1.5h')", "duration('0s')"},
	"quantity": {"quantity('1Gi')", "quantity('100m')", "quantity('-2')", "quantity('1.5k')"},
	"semver":   {"semver('1.2.3')", "semver('0.1.0-alpha.1')", "semver('2.0.0+build')"},
	"ip":       {"ip('10.0.0.1')", "ip('::1')", "ip('2001:db8::abcd')", "ip('0.0.0.0')"},
	"cidr":     {"cidr('10.0.0.0/8')", "cidr('2001:db8::/32')", "cidr('192.168.1.5/24')"},
	"url":      {"url('https://user@example.com:8080/a%20b?x=1&y=2')", "url('/only/path')", "url('http://[::1]/')"},
	"listint":  {"vl", "[1, 2, 3]", "[3, 1, 2, 1]", "[0]"}, "liststring": {"vt2", "['a', 'b']", "['b', 'a', 'b', 'é']"},
	"listlist": {"[[1, 2], [3]]"}, "map": {"vm", "{'a': 1}", "{'a': 1, 'b': 2}"}, "mapint": {"{1: 2}", "{0: 5, 7: 1}"},
	"one": {"{'k': 1}", "vo"}, "optint": {"optional.of(3)", "optional.none()"}, "optstring": {"optional.of('x')"},
}

var words = map[string][]string{
	"$s": {"'a'", "','", "''", "'b'", "'é'", "'ab'", "' '"}, "$n": {"0", "1", "2", "3", "-1", "5"},
	"$re":   {"'a+'", "'^[a-z]*$'", "'[0-9]+'", "'(a|b)*'", "'.'", "'\\\\w+'", "'(?i)ABC'", "'x{2,3}'", "'é'", "'^$'"},
	"$ts":   {"'2020-01-01T00:00:00Z'", "'9999-12-31T23:59:59Z'", "'0001-01-01T00:00:00Z'", "'2021-06-01T10:00:00.123+05:30'"},
	"$du":   {"'1s'", "'100ms'", "'-3h2m'", "'2562047h'", "'1us'"},
	"$q":    {"'1'", "'1Ki'", "'250m'", "'12e6'", "'-1.5Gi'", "'0'", "'9223372036854775807'"},
	"$v":    {"'1.0.0'", "'1.2.3-rc.1'", "'10.20.30'", "'1.2.3+a'"},
	"$ip":   {"'10.1.2.3'", "'::'", "'fe80::1'", "'127.0.0.1'"},
	"$cidr": {"'10.0.0.0/8'", "'::/0'", "'10.1.0.0/16'", "'fe80::/10'"},
	"$url":  {"'http://a/b'", "'https://example.com:80/'", "'/p?q=1'"},
}
var wordNames = []string{"$re", "$ts", "$du", "$q", "$v", "$ip", "$cidr", "$url", "$s", "$n"}
var typeNames = []string{"int", "uint", "double", "bool", "string", "bytes", "ts", "dur", "quantity", "semver", "ip", "cidr",
	"url", "listint", "liststring", "listlist", "map", "mapint", "one", "optint", "optstring"}

type bound struct{ name, typ string }

type generator struct {
	r     *rand.Rand
	scope []bound
	wrong float64 // how often a hole gets a part of another type
	vars  int
	nodes int
}

func (g *generator) pick(list []string) string { return list[g.r.Intn(len(list))] }

func (g *generator) leaf(typ string) string {
	var own []string
	for _, b := range g.scope {
		if b.typ == typ {
			own = append(own, b.name)
		}
	}
	if len(own) > 0 && g.r.Intn(3) > 0 {
		return g.pick(own)
	}
	return g.pick(leaves[typ])
}

func (g *generator) expr(typ string, depth int) string {
	if g.r.Float64() < g.wrong {
		typ = g.pick(typeNames)
	}
	g.nodes++
	if depth <= 0 || g.nodes > 40 || g.r.Intn(5) == 0 {
		return g.leaf(typ)
	}
	return g.fill(g.pick(templates[typ]), depth-1)
}

func (g *generator) fill(t string, depth int) string {
	var out strings.Builder
	outer := len(g.scope)
	for len(t) > 0 {
		switch {
		case t[0] == '{' && holeEnd(t) > 0:
			end := holeEnd(t)
			out.WriteString(g.expr(t[1:end], depth))
			t = t[end+1:]
		case t[0] == '@':
			end := 1
			for end < len(t) && t[end] >= 'a' && t[end] <= 'z' {
				end++
			}
			g.vars++
			name := fmt.Sprintf("w%d", g.vars)
			g.scope = append(g.scope, bound{name, t[1:end]})
			out.WriteString(name)
			t = t[end:]
		case t[0] == '$':
			for _, w := range wordNames {
				if strings.HasPrefix(t, w) {
					out.WriteString(g.pick(words[w]))
					t = t[len(w):]
					break
				}
			}
		default:
			out.WriteByte(t[0])
			t = t[1:]
		}
	}
	g.scope = g.scope[:outer]
	return out.String()
}

// The end of "{int}"; 0: a brace of the language.
func holeEnd(t string) int {
	end := strings.IndexByte(t, '}')
	if end < 0 || leaves[t[1:end]] == nil {
		return 0
	}
	return end
}

// A sign too many, one too few, or another one.
func (g *generator) spoil(s string) string {
	i := g.r.Intn(len(s) + 1)
	switch g.r.Intn(3) {
	case 0:
		return s[:i] + g.pick(strings.Split("()[]{}.,?:!'\"&|+-*/<>=@#$\\0a ", "")) + s[i:]
	case 1:
		if i < len(s) {
			return s[:i] + s[i+1:]
		}
	}
	return s[:i]
}
