package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"
)

// programs are the workers: each mends one kind of break in a file, by what build, vet or tests say, and
// returns the file as it is where it sees nothing to mend.
var programs = map[string]func(text, says string) string{
	"imports": func(text, says string) string {
		m := find(says, `undefined: (errors|fmt|maps|math|slices|sort|strconv|strings|sync|time|unicode)\b`)
		if m == nil {
			return text
		}
		return regexp.MustCompile(`(?m)^package \w+$`).ReplaceAllString(text, "$0\n\nimport \""+m[1]+"\"")
	},
	"spelling": func(text, says string) string {
		m := find(says, `undefined: (\w+)`)
		if m == nil {
			return text
		}
		near, least := "", 3
		for _, w := range regexp.MustCompile(`[A-Za-z_]\w*`).FindAllString(text, -1) {
			if d := distance(w, m[1]); d > 0 && d < least {
				near, least = w, d
			}
		}
		if near == "" {
			return text
		}
		return regexp.MustCompile(`\b`+m[1]+`\b`).ReplaceAllString(text, near)
	},
	"unused": func(text, says string) string {
		m := find(says, `\.go:(\d+):\d+: declared and not used: (\w+)`)
		return onLine(text, m, func(line string) string { return strings.Replace(line, m[2], "_", 1) })
	},
	"results": func(text, says string) string {
		m := find(says, `\.go:(\d+):\d+: assignment mismatch: 1 variable but \S+ returns 2 values`)
		return onLine(text, m, func(line string) string {
			return regexp.MustCompile(`^(\s*)(\w+) := (.*)$`).ReplaceAllString(line,
				"$1$2, err := $3\n${1}if err != nil {\n$1\treturn "+zeros(text, m[1])+"err\n$1}")
		})
	},
	"conversions": func(text, says string) string {
		if m := find(says, `\.go:(\d+):\d+: cannot use (.+?) \(.* as (\w+) value`); m != nil {
			return onLine(text, m, func(line string) string {
				return strings.Replace(line, m[2], m[3]+"("+m[2]+")", 1)
			})
		}
		m := find(says, `\.go:(\d+):\d+: invalid operation: .*\(mismatched types (\w+) and \S+\)`)
		return onLine(text, m, func(line string) string {
			at := regexp.MustCompile(` [-+*/]=? `).FindStringIndex(line)
			if at == nil {
				return line
			}
			return line[:at[1]] + m[2] + "(" + line[at[1]:] + ")"
		})
	},
	"verbs": func(text, says string) string {
		m := find(says, `\.go:(\d+):\d+: \S+ format (%\w) has arg \S+ of wrong type`)
		return onLine(text, m, func(line string) string { return strings.Replace(line, m[2], "%v", 1) })
	},
	"maps": func(text, says string) string {
		if !strings.Contains(says, "assignment to entry in nil map") {
			return text
		}
		text = regexp.MustCompile(`(?m)^(\s+)var (\w+) (map\[.*)$`).ReplaceAllString(text, "$1$2 := make($3)")
		for _, s := range regexp.MustCompile(`(?s)type (\w+) struct \{(.*?)\n\}`).FindAllStringSubmatch(text, -1) {
			for _, field := range regexp.MustCompile(`(?m)^\s+(\w+)\s+(map\[\S+)`).FindAllStringSubmatch(s[2], -1) {
				text = regexp.MustCompile(`[^\]\w]`+s[1]+`\{[^{}]*\}`).ReplaceAllStringFunc(text,
					func(literal string) string {
						if strings.Contains(literal, field[1]+":") {
							return literal
						}
						return strings.Replace(literal, "{", "{"+field[1]+": make("+field[2]+"), ", 1)
					})
			}
		}
		return text
	},
	"bounds": func(text, says string) string {
		if !strings.Contains(says, "index out of range") {
			return text
		}
		return regexp.MustCompile(`\[len\(([\w.]+)\)\]`).ReplaceAllString(text, "[len($1)-1]")
	},
	"conditions": func(text, says string) string {
		if !strings.HasPrefix(says, "test: ") {
			return text
		}
		return regexp.MustCompile(`err == nil( \{\n\s*return .*\berr\b)`).ReplaceAllString(text, "err != nil$1")
	},
	"locks": func(text, says string) string {
		m := find(says, `\.go:(\d+):\d+: \w+ passes lock by value`)
		return onLine(text, m, func(line string) string {
			return regexp.MustCompile(`^func \((\w+) (\w+)\)`).ReplaceAllString(line, "func ($1 *$2)")
		})
	},
}

// find returns a match and its groups; nil: there is none.
func find(says, expression string) []string {
	return regexp.MustCompile(expression).FindStringSubmatch(says)
}

// onLine changes the line whose number is the first group of a match, if there is one.
func onLine(text string, m []string, change func(string) string) string {
	if m == nil {
		return text
	}
	lines := strings.Split(text, "\n")
	if n, err := strconv.Atoi(m[1]); err == nil && n > 0 && n <= len(lines) {
		lines[n-1] = change(lines[n-1])
	}
	return strings.Join(lines, "\n")
}

// zeros are the results of the function around a line but for the last, each as nothing.
func zeros(text, line string) (s string) {
	n, _ := strconv.Atoi(line)
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, 0)
	if err != nil {
		return ""
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || set.Position(f.Pos()).Line > n || set.Position(f.End()).Line < n || f.Type.Results == nil {
			continue
		}
		for _, r := range f.Type.Results.List[:len(f.Type.Results.List)-1] {
			zero := "nil"
			switch kind := types.ExprString(r.Type); kind {
			case "string":
				zero = `""`
			case "bool":
				zero = "false"
			case "int", "int64", "uint", "byte", "rune", "float32", "float64":
				zero = "0"
			}
			s += strings.Repeat(zero+", ", max(1, len(r.Names)))
		}
	}
	return s
}

// distance is how many letters are to be put in, taken out or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
