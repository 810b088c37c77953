// gen-unicode - the tables of src/cel/re_unicode_data.c, from Go's unicode package.
//
// usage: go run tools/gen-unicode.go > src/cel/re_unicode_data.c
package main

import (
	"fmt"
	"sort"
	"unicode"
)

func out(perLine int, items []string) {
	for i, s := range items {
		if i%perLine == 0 {
			fmt.Print("    ")
		}
		fmt.Print(s)
		if i%perLine == perLine-1 || i == len(items)-1 {
			fmt.Println(",")
		} else {
			fmt.Print(", ")
		}
	}
}

func runs(name string, keys []string, tables map[string]*unicode.RangeTable) {
	of := make([]int, unicode.MaxRune+2)
	for i, k := range keys {
		for _, r := range tables[k].R16 {
			for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
				of[c] = i + 1
			}
		}
		for _, r := range tables[k].R32 {
			for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
				of[c] = i + 1
			}
		}
	}
	var items []string
	last := -1
	for c := 0; c <= unicode.MaxRune; c++ {
		if of[c] != last {
			last = of[c]
			items = append(items, fmt.Sprintf("0x%x", c<<8|last))
		}
	}
	fmt.Printf("const char *const re_%s_names[] = {\n    \"\",\n", name)
	var names []string
	for _, k := range keys {
		names = append(names, fmt.Sprintf("%q", k))
	}
	out(5, names)
	fmt.Printf("};\nconst size_t re_%s_n_names = ARRAY_LEN(re_%s_names);\n", name, name)
	fmt.Printf("const uint32_t re_%s_runs[] = {\n", name)
	out(9, items)
	fmt.Printf("};\nconst size_t re_%s_n_runs = ARRAY_LEN(re_%s_runs);\n\n", name, name)
}

func main() {
	fmt.Printf("/* re_unicode_data.c - categories, scripts and case folds of Unicode %s.\n *\n", unicode.Version)
	fmt.Print(" * Written by tools/gen-unicode.go; not edited by hand. */\n#include \"cel/re_unicode.h\"\n\n/* clang-format off */\n")
	var cats, scripts []string
	for k := range unicode.Categories {
		if len(k) == 2 && k != "LC" && k != "Cn" {
			cats = append(cats, k)
		}
	}
	for k := range unicode.Scripts {
		scripts = append(scripts, k)
	}
	sort.Strings(cats)
	sort.Strings(scripts)
	runs("category", cats, unicode.Categories)
	runs("script", scripts, unicode.Scripts)
	var items []string
	for c := rune(0); c <= unicode.MaxRune; {
		f := unicode.SimpleFold(c)
		if f == c {
			c++
			continue
		}
		d, end := f-c, c
		fold := func(c rune) rune { return unicode.SimpleFold(c) - c }
		if d == 1 && fold(c+1) == -1 {
			// Neighbours in pairs, as in most of Latin Extended: distance 0 stands for them.
			for end = c + 1; fold(end+1) == 1 && fold(end+2) == -1; end += 2 {
			}
			d = 0
		} else {
			for fold(end+1) == d {
				end++
			}
		}
		items = append(items, fmt.Sprintf("{ 0x%x, 0x%x, %d }", c, end, d))
		c = end + 1
	}
	fmt.Print("const struct re_fold re_folds[] = {\n")
	out(4, items)
	fmt.Print("};\nconst size_t re_n_folds = ARRAY_LEN(re_folds);\n/* clang-format on */\n")
}
