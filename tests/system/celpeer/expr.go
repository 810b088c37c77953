// Random expressions: templates by the type of their result, with holes for parts of other types.
package main

import (
	"fmt"
	"math/rand"
	"sort"
	"strings"
)

// "{int}" is a hole; "@int" a variable of a macro, known to the holes behind it and written as its name; "$s" a string
// literal, "$n" a small number, "$re" a pattern. "~int" is a variable that only what is behind the next "^" knows. Binary
// operators get parentheses.
var templates = map[string][]string{
	"int": {
		"({int} + {int})", "({int} - {int})", "({int} * {int})", "({int} / {int})", "({int} % {int})", "-({int})",
		"size({string})", "{string}.size()", "size({listint})", "{liststring}.size()", "size({map})", "size({bytes})",
		"int({string})", "int({double})", "int({uint})", "int({ts})", "({bool} ? {int} : {int})", "{listint}[{int}]",
		"{listint}[$n]", "{map}[{string}]", "{map}.a", "{string}.indexOf({string})", "{string}.lastIndexOf({string})",
		"{string}.indexOf({string}, {int})", "{listint}.sum()", "{listint}.min()", "{listint}.max()",
		"{listint}.indexOf({int})", "{listint}.lastIndexOf({int})", "{ts}.getFullYear()", "{ts}.getMonth()",
		"{ts}.getDate()", "{ts}.getDayOfWeek()", "{ts}.getDayOfYear()", "{ts}.getHours('+02:30')", "{ts}.getMinutes()",
		"{ts}.getMilliseconds()", "{ts}.getHours($tz)", "{ts}.getDayOfYear($tz)", "{ts}.getMinutes($tz)", "{ts}.getDate({string})",
		"{dur}.getHours()", "{dur}.getMinutes()", "{dur}.getSeconds()",
		"{optint}.orValue({int})", "{optint}.value()", "{semver}.major()", "{semver}.minor()", "{semver}.patch()",
		"{semver}.compareTo({semver})", "{quantity}.compareTo({quantity})", "quantity('12').asInteger()",
		"{quantity}.sign()", "sign({quantity})", "{cidr}.prefixLength()", "{ip}.family()", "{mapint}[{int}]", "dyn({int})",
		"{listlist}[$n][$n]", "{map}.?b.orValue({int})", "{map}[?{string}].orValue($n)", "{listint}[?$n].orValue({int})",
		"{listint}.first().orValue($n)", "{listint}.last().value()", "vx", "size({url}.getQuery())", "{ts}.getDayOfMonth()",
		"{dur}.getMilliseconds()", "(google.protobuf.Int64Value{value: {int}} + 0)", "(google.protobuf.Int32Value{value: {int}} + 0)",
		"(google.protobuf.Int32Value{value: dyn({double})} + 0)", "google.protobuf.NullValue.NULL_VALUE",
		"size(google.protobuf.ListValue{values: [dyn({ts}), dyn({bytes}), dyn({dur}), {optint}, dyn({quantity})]})",
	},
	"uint": {"({uint} + {uint})", "({uint} - {uint})", "({uint} * {uint})", "({uint} / {uint})", "({uint} % {uint})",
		"uint({int})", "uint({string})", "uint({double})", "({bool} ? {uint} : {uint})", "(google.protobuf.UInt32Value{value: {uint}} + 0u)",
		"(google.protobuf.UInt64Value{?value: optional.of({uint})} + 0u)", "(google.protobuf.UInt64Value{value: dyn({int})} + 0u)"},
	"double": {"({double} + {double})", "({double} - {double})", "({double} * {double})", "({double} / {double})",
		"-({double})", "double({int})", "double({string})", "double({uint})", "{quantity}.asApproximateFloat()",
		"({bool} ? {double} : {double})", "double($number)", "double($number)", "(google.protobuf.FloatValue{value: {double}} * 1.0)",
		"(google.protobuf.DoubleValue{value: dyn({uint})} * 1.0)", "(google.protobuf.DoubleValue{} * 1.0)"},
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
		"{ip}.isLinkLocalMulticast()", "{cidr}.containsIP({ip})", "{cidr}.containsIP($ip)", "{cidr}.containsIP({string})",
		"{cidr}.containsCIDR({cidr})", "{cidr}.containsCIDR($cidr)", "{cidr}.containsCIDR({string})", "({ip} == {ip})",
		"({cidr} == {cidr})", "({url} == {url})", "({string} in {url}.getQuery())",
		"ip.isCanonical({string})", "quantity('100m').isInteger()", "{quantity}.isLessThan({quantity})",
		"{quantity}.isGreaterThan({quantity})", "({quantity} == quantity($q))", "{semver}.isLessThan({semver})",
		"{semver}.isGreaterThan({semver})", "({semver} == {semver})", "{listint}.isSorted()", "{liststring}.isSorted()",
		"sets.contains({listint}, {listint})", "sets.intersects({listint}, {listint})",
		"sets.equivalent({liststring}, {liststring})", "{optint}.hasValue()", "({optint} == {optint})",
		"format.$format().validate({string}).hasValue()", "format.$format().validate($odd).hasValue()", "isIP($odd)", "isURL($odd)",
		"isSemver($short, true)", "(google.protobuf.BoolValue{value: dyn({string})} && true)", "(google.protobuf.BoolValue{value: {bool}} && true)",
		"({listint} == google.protobuf.ListValue{values: {listint}})", "(google.protobuf.Struct{fields: {map}} == {one})",
		"({string} in google.protobuf.Struct{fields: dyn({map})})",
		"(type({int}) == int)", "(type(dyn({string})) == string)", "(dyn({int}) == dyn({string}))",
		"(dyn({int}) == dyn({double}))", "(dyn({uint}) < dyn({int}))", "({listlist} == {listlist})", "({bool} == {bool})",
		"(vx == {int})", "(vx > {int})", "has(vx.a)", "has(vx.a.b)", "has(({bool} ? {map} : {map}).a)", "has(({bool} ? vx : vm).a.b)",
		"({int} in dyn({listint}))", "({dur} == {dur})",
	},
	"string": {
		"({string} + {string})", "string({int})", "string({double})", "string({bool})", "string({bytes})", "string({ts})",
		"string({dur})", "string({uint})", "string({ip})", "string({cidr})", "({bool} ? {string} : {string})",
		"{string}.charAt($n)", "{string}.lowerAscii()", "{string}.upperAscii()", "{string}.trim()",
		"{string}.substring($n)", "{string}.substring($n, $n)", "{string}.replace($s, {string})",
		"{string}.replace($s, $s, $n)", "{liststring}.join()", "{liststring}.join({string})", "{string}.find($re)",
		"strings.quote({string})", "'%d and %s'.format([{int}, {string}])", "'%d'.format([vx])", "'%d|%x'.format([dyn({int}), vx])",
		"'%d'.format([[][0]])", "'%f %e'.format([vx, dyn({double})])", "'%s'.format([[{int}, vx]])", "'%s'.format([[{double}, {bytes}, type({int}), {ts}, {dur}, null]])", "'%s'.format([{mapint}])", "'%d'.format([{optint}.value()])",
		"'%.2f|%e'.format([{double}, {double}])",
		"'%x %b %o'.format([{int}, {int}, {int}])", "'%s'.format([{listint}])", "'%s'.format([{map}])",
		"'%X'.format([{string}])", "{liststring}[$n]", "{liststring}[{int}]", "{liststring}.min()", "{url}.getHost()",
		"{url}.getHostname()", "{url}.getPort()", "{url}.getScheme()", "{url}.getEscapedPath()",
		"{optstring}.orValue({string})", "dyn({string})", "{liststring}.last().orValue($s)",
		"format.named('$format').value().validate({string}).orValue(['none']).join(',')",
		"format.$format().validate($odd).orValue(['none']).join(',')", "format.$format().validate($odd).orValue(['none']).join(',')",
		"'%f|%e'.format([dyn($nan), {double}])", "'%.3f %.9e'.format([{double}, dyn($nan)])", "'%f'.format([{string}])", "'%$clause'.format([{double}])",
		"['%$clause'][0].format([dyn({int})])", "'%s'.format([google.protobuf.Struct{fields: {map}}])",
		"'%s'.format([google.protobuf.ListValue{values: [dyn({uint}), dyn({bytes}), dyn({dur}), dyn({string}), dyn({listint})]}])",
		"string(google.protobuf.StringValue{value: {string}})", "string(google.protobuf.StringValue{value: dyn({quantity})})", "string(google.protobuf.StringValue{value: dyn({ts})})",
		"string(google.protobuf.Value{string_value: {string}})", "string(google.protobuf.Value{number_value: {double}})",
	},
	"bytes": {"(vy + bytes({string}))", "bytes({string})", "({bool} ? {bytes} : {bytes})", "bytes(google.protobuf.BytesValue{value: {bytes}})",
		"bytes(google.protobuf.BytesValue{value: dyn({listuint})})", "bytes(google.protobuf.BytesValue{value: dyn({string})})"},
	"ts": {"({ts} + {dur})", "({ts} - {dur})", "timestamp({string})", "timestamp($ts)", "({bool} ? {ts} : {ts})",
		"google.protobuf.Timestamp{seconds: $n, nanos: {int}}", "google.protobuf.Timestamp{seconds: dyn({string})}", "google.protobuf.Timestamp{nanos: dyn({ts})}",
		"google.protobuf.Timestamp{seconds: 5, ?seconds: {optstring}}", "google.protobuf.Timestamp{nanos: -1, nanos: $n}"},
	"dur": {"({dur} + {dur})", "({dur} - {dur})", "({ts} - {ts})", "duration({string})", "duration($du)",
		"google.protobuf.Duration{seconds: {int}, nanos: {int}}", "google.protobuf.Duration{?seconds: {optint}}", "google.protobuf.Duration{seconds: dyn({listint})}"},
	"quantity": {"quantity($q)", "quantity({string})", "{quantity}.add({quantity})", "{quantity}.sub({quantity})",
		"{quantity}.add({int})", "{quantity}.sub($n)", "{quantity}.sub({int})"},
	"semver": {"semver($v)", "semver({string})", "semver({string}, true)", "semver($short, true)"},
	"ip":     {"ip($ip)", "ip({string})", "{cidr}.ip()"},
	"cidr":   {"cidr($cidr)", "cidr({string})", "{cidr}.masked()"},
	"url":    {"url($url)", "url({string})"},
	"listint": {
		"[{int}]", "[{int}, {int}]", "[{int}, {int}, {int}]", "({listint} + {listint})", "{listint}.map(@int, {int})",
		"{listint}.map(@int, {bool}, {int})", "{listint}.filter(@int, {bool})", "{liststring}.map(@string, {int})",
		"{listint}.sort()", "{listint}.reverse()", "{listint}.distinct()", "{listint}.slice($n, $n)", "{listlist}.flatten()",
		"{listlist}.flatten($n)", "[{listlist}, {listlist}].flatten($n)", "[[{listint}], {listlist}].flatten(2)",
		"lists.range($n)", "({bool} ? {listint} : {listint})", "{listint}.sortBy(@int, {int})",
		"{listint}.transformList(@int, @int, {int})", "{listint}.transformList(@int, @int, {bool}, {int})",
		"[?optional.of({int}), {int}]", "[?{optint}, {int}]", "[{int}, ?{optint}]", "[?optional.none(), {int}]",
		"[?{optint}, ?{optint}]", "[{optint}].unwrapOpt()", "optional.unwrap([{optint}, {optint}])", "[]",
	},
	"liststring": {
		"[{string}]", "[{string}, {string}]", "({liststring} + {liststring})", "{liststring}.map(@string, {string})",
		"{liststring}.filter(@string, {bool})", "{string}.split($s)", "{string}.split($s, $n)", "{string}.findAll($re)",
		"{string}.findAll($re, $n)", "{liststring}.sort()", "{liststring}.distinct()", "{one}.map(@string, {string})",
		"{listint}.map(@int, {string})", "{liststring}.reverse()", "{liststring}.sortBy(@string, {string})",
		"{url}.getQuery()[$query]", "{url}.getQuery()[{string}]", "{url}.getQuery()[?$query].orValue({liststring})",
		"{one}.transformList(@string, @int, {string})",
	},
	"listlist": {"[{listint}]", "[{listint}, {listint}]", "{listint}.map(@int, {listint})"},
	"map":      {"{$s: {int}}", "{'a': {int}, 'b': {int}}", "({bool} ? {map} : {map})", "{?'a': {optint}, 'c': {int}}"},
	"mapint": {"{{int}: {int}}", "{1: {int}, 2: {int}}", "{listint}.transformMap(@int, @int, {int})",
		"{listint}.transformMap(@int, @int, {bool}, {int})", "{listint}.transformMapEntry(@int, @int, {{int}: {int}})",
		"{liststring}.transformMapEntry(@int, @string, {bool}, {{int}: {int}})"},
	"one": {"{$s: {int}}", "{{string}: {int}}", "{one}.transformMap(@string, @int, {int})",
		"{one}.transformMapEntry(@string, @int, {{string}: {int}})", "[{string}].transformMapEntry(@int, @string, {{string}: {int}})"},
	"optint": {"optional.of({int})", "optional.none()", "optional.ofNonZeroValue({int})", "{map}.?a", "{map}[?{string}]",
		"{listint}[?{int}]", "{optint}.or({optint})", "{optint}.optMap(@int, {int})", "{optint}.optFlatMap(@int, {optint})",
		"{listint}.first()"},
	"optstring": {"optional.of({string})", "{liststring}[?$n]", "{liststring}.first()", "{optint}.optMap(@int, {string})"},
}

// Lists of other types, which the libraries treat each in their own way: %1 is one of them, %l a list, %@ a variable of a macro.
func init() {
	for _, typ := range []string{"double", "dur", "ts", "bytes", "uint"} {
		words := strings.NewReplacer("%1", "{"+typ+"}", "%l", "{list"+typ+"}", "%@", "@"+typ)
		add := func(to string, forms ...string) {
			for _, f := range forms {
				templates[to] = append(templates[to], words.Replace(f))
			}
		}
		add("list"+typ, "[%1]", "[%1, %1]", "[%1, %1, %1]", "(%l + %l)", "%l.map(%@, %1)", "%l.filter(%@, {bool})", "{listint}.map(@int, %1)",
			"%l.sort()", "%l.reverse()", "%l.distinct()", "%l.slice($n, $n)", "({bool} ? %l : %l)", "[?optional.of(%1), %1]",
			"[%l, %l].flatten()", "%l.sortBy(%@, {int})")
		add(typ, "%l.min()", "%l.max()", "%l.sum()", "%l[$n]", "%l[{int}]", "%l.first().orValue(%1)", "%l.last().value()", "%l[?$n].orValue(%1)")
		add("int", "%l.indexOf(%1)", "%l.lastIndexOf(%1)", "size(%l)")
		add("bool", "(%1 in %l)", "%l.isSorted()", "(%l == %l)", "sets.contains(%l, %l)", "sets.intersects(%l, %l)", "%l.all(%@, {bool})",
			"%l.exists(%@, {bool})", "(dyn(%l) == dyn({string}))", "(%1 in dyn(%l))")
		add("string", "'%s'.format([%l])")
	}
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
	"ip":       {"ip('10.0.0.1')", "ip('::1')", "ip('2001:db8::abcd')", "ip('0.0.0.0')", "ip('224.0.0.9')", "ip('ff02::1')"},
	"cidr":     {"cidr('10.0.0.0/8')", "cidr('2001:db8::/32')", "cidr('192.168.1.5/24')"},
	"url":      {"url('https://user@example.com:8080/a%20b?x=1&y=2')", "url('/p?x=1&x=%C3%A9&=z&y')", "url('/only/path')", "url('http://[::1]/')"},
	"listint":  {"vl", "[1, 2, 3]", "[3, 1, 2, 1]", "[0]"}, "liststring": {"vt2", "['a', 'b']", "['b', 'a', 'b', 'é']"},
	"listlist": {"[[1, 2], [3]]"}, "map": {"vm", "{'a': 1}", "{'a': 1, 'b': 2}"}, "mapint": {"{1: 2}", "{0: 5, 7: 1}"},
	"listdouble": {"[1.5, -2.25]", "[0.1, 1e100, 0.1]", "[2.0]"}, "listdur": {"[duration('1s'), duration('-1m')]", "[duration('0s')]"},
	"listts": {"[timestamp('2024-02-29T12:30:00Z'), timestamp('2020-01-01T00:00:00Z')]"}, "listbytes": {"[b'b', b'a', b'']", "[b'\\xff']"},
	"listuint": {"[3u, 1u, 3u]", "[0u]"},
	"one":      {"{'k': 1}", "vo"}, "optint": {"optional.of(3)", "optional.none()"}, "optstring": {"optional.of('x')"},
}

var words = map[string][]string{
	"$s": {"'a'", "','", "''", "'b'", "'é'", "'ab'", "' '"}, "$n": {"0", "1", "2", "3", "-1", "5"},
	"$re":   {"'a+'", "'^[a-z]*$'", "'[0-9]+'", "'(a|b)*'", "'.'", "'\\\\w+'", "'(?i)ABC'", "'x{2,3}'", "'é'", "'^$'"},
	"$ts":   {"'2020-01-01T00:00:00Z'", "'9999-12-31T23:59:59Z'", "'0001-01-01T00:00:00Z'", "'2021-06-01T10:00:00.123+05:30'"},
	"$du":   {"'1s'", "'100ms'", "'-3h2m'", "'2562047h'", "'1us'"},
	"$q":    {"'1'", "'1Ki'", "'250m'", "'12e6'", "'-1.5Gi'", "'0'", "'9223372036854775807'"},
	"$v":    {"'1.0.0'", "'1.2.3-rc.1'", "'10.20.30'", "'1.2.3+a'"},
	"$ip":   {"'10.1.2.3'", "'::'", "'fe80::1'", "'127.0.0.1'", "'224.0.0.251'", "'ff02::fb'"},
	"$cidr": {"'10.0.0.0/8'", "'::/0'", "'10.1.0.0/16'", "'fe80::/10'"},
	"$url": {"'http://a/b'", "'https://example.com:80/'", "'/p?q=1'", "'http://[::1]:80/'", "'http://[a^b]/'", "'http://[::1'",
		"'http://[10.0.0.1]/'", "'http://[fe80::1%25en0]/x'", "'http://[::1]x/'", "'http://u:p@h/x y?q=%zz#f g'", "'//a/b'", "'mailto:x'",
		"'HTTP://A/%7e%20'", "'http://a<b>/'", "'http://a:1:2/'", "'x://a:1:2/'", "'http://u|@a/'", "'*'", "'http:///p'", "'http://a?'"},
	"$format": {"dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix",
		"dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime"},
	"$odd": {"'2020-02-03t00:00:00z'", "'2020-02-03T00:00:00+99:99'", "'2020-02-03T00:00:00x5Z and more'", "'2020-02-03T00:00:60Z'", "'0000-01-01'",
		"'2020-02-30'", "'AA=='", "'AA==\\n'", "'AAA'", "''", "'a-'", "'1-'", "'-'", "'aA-'", "'a/b'", "'a/b/c'", "'/a'", "'a/'", "'A_b/c'", "'A.b'",
		"'a..b'", "'a.-'", "'x_y'", "'é'", "'http://[::1'", "'/a%zz'", "'a:b c'", "'1:2:3:4:5:6:7::8'", "'11e669da-bc83-4978-bbeb-d6689ddda52e'",
		"'11E669DABC834978BBEBD6689DDDA52E'", "'11e669da--bc834978-bbeb-d6689ddda52e'", "'" + strings.Repeat("a", 64) + "'",
		"'" + strings.Repeat("b.", 130) + "'", "'" + strings.Repeat("c", 63) + "-'"},
	"$number": {"'1_000.5'", "'0x.8'", "'0x_1p0'", "'0x1_0p-1'", "'1__0'", "'_1'", "'1_'", "'+nan'", "'NaN'", "'-Infinity'", "'inf'", "'1e400'", "'.5'", "'5.'",
		"'0x1.8p1_0'", "' 1'", "'0b1'", "'1e'", "'0x1.8'"},
	"$nan":    {"'NaN'", "'Infinity'", "'-Infinity'", "'inf'", "1.5", "7"},
	"$clause": {"é", "😀", ".2", ".", ".x", "5d", ".99999999999999999999f", "z", ".2f", ".0e", "s"},
	"$short":  {"'v1'", "'1.2-alpha'", "'1+b'", "'01.02'", "'1.2.03-rc'", "'1'", "'x'", "'ab.c'", "'1.2.3.04'", "'1-a.2'", "''"},
	"$query":  {"'x'", "'y'", "'q'", "''", "'d'"},
	"$tz": {"'America/New_York'", "'Europe/Berlin'", "'Asia/Kolkata'", "'Australia/Lord_Howe'", "'Pacific/Apia'", "'Etc/GMT+5'",
		"'UTC'", "''", "'-03:30'", "'2:00'", "'+x:00'", "'Nowhere/Town'", "'/etc/x'"},
}
var wordNames = []string{"$query", "$format", "$odd", "$number", "$nan", "$clause", "$short", "$re", "$tz", "$ts", "$du", "$q", "$v", "$ip", "$cidr", "$url", "$s", "$n"}

// An environment that expressions are made for: what is known there beside literals and functions.
type setting struct {
	leaves, own, templates map[string][]string
	types                  []string
}

// Base variables are known in the base environment only.
func newSetting(own, templatesOwn map[string][]string) *setting {
	s := &setting{leaves: map[string][]string{}, own: own, templates: map[string][]string{}}
	without := func(list []string) (kept []string) {
		for _, t := range list {
			if own == nil || !varName.MatchString(t) {
				kept = append(kept, t)
			}
		}
		return kept
	}
	for typ := range leaves {
		s.leaves[typ] = without(leaves[typ])
		s.templates[typ] = append(without(templates[typ]), templatesOwn[typ]...)
	}
	for typ := range templatesOwn {
		if leaves[typ] == nil {
			s.leaves[typ], s.templates[typ] = own[typ], templatesOwn[typ]
		}
	}
	for typ := range s.leaves {
		s.types = append(s.types, typ)
	}
	sort.Strings(s.types)
	return s
}

type bound struct{ name, typ string }

type generator struct {
	r     *rand.Rand
	set   *setting
	scope []bound
	wrong float64 // how often a hole gets a part of another type
	vars  int
	nodes int
}

func newGenerator(seed int64, set *setting) *generator {
	g := &generator{r: rand.New(rand.NewSource(seed)), set: set}
	if g.r.Intn(10) == 0 {
		g.wrong = 0.05
	}
	return g
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
	if len(g.set.own[typ]) > 0 && g.r.Intn(3) > 0 {
		return g.pick(g.set.own[typ])
	}
	return g.pick(g.set.leaves[typ])
}

func (g *generator) expr(typ string, depth int) string {
	if g.r.Float64() < g.wrong {
		typ = g.pick(g.set.types)
	}
	g.nodes++
	if depth <= 0 || g.nodes > 40 || g.r.Intn(5) == 0 {
		return g.leaf(typ)
	}
	return g.fill(g.pick(g.set.templates[typ]), depth-1)
}

// A whole expression, some of them spoilt.
func (g *generator) whole(typ string) string {
	expr := g.expr(typ, 1+g.r.Intn(5))
	if g.r.Intn(50) == 0 {
		expr = g.spoil(expr)
	}
	return expr
}

func (g *generator) fill(t string, depth int) string {
	var out strings.Builder
	var later []bound
	outer := len(g.scope)
	for len(t) > 0 {
		switch {
		case t[0] == '{' && g.holeEnd(t) > 0:
			end := g.holeEnd(t)
			out.WriteString(g.expr(t[1:end], depth))
			t = t[end+1:]
		case t[0] == '@' || t[0] == '~':
			end := 1
			for end < len(t) && t[end] >= 'a' && t[end] <= 'z' {
				end++
			}
			g.vars++
			name := fmt.Sprintf("w%d", g.vars)
			if t[0] == '@' {
				g.scope = append(g.scope, bound{name, t[1:end]})
			} else {
				later = append(later, bound{name, t[1:end]})
			}
			out.WriteString(name)
			t = t[end:]
		case t[0] == '^':
			g.scope = append(g.scope, later...)
			later, t = nil, t[1:]
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
func (g *generator) holeEnd(t string) int {
	end := strings.IndexByte(t, '}')
	if end < 0 || g.set.leaves[t[1:end]] == nil {
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
