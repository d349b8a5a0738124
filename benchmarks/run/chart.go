package main

import (
	"bytes"
	"fmt"
	"html"
	"strconv"
	"strings"
)

// chart draws a column of a Markdown table as bars, each with what its row has in the columns before. A
// column is counted from 0. The first row that is part of a name is drawn darker than the others: it is
// arc's.
func chart(table []string, column, title string) ([]byte, error) {
	n, err := strconv.Atoi(column)
	if err != nil {
		return nil, err
	}
	type bar struct {
		name  string
		value float64
	}
	var bars []bar
	most := 0.
	for _, line := range table[min(2, len(table)):] {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if n >= len(cells) {
			return nil, fmt.Errorf("%q has no column %d", line, n)
		}
		text := strings.Trim(cells[n], " *")
		v, err := strconv.ParseFloat(strings.Fields(text + " ")[0], 64)
		if err != nil {
			continue // a row without a figure
		}
		var names []string
		for i, c := range cells[:n] {
			c = strings.Trim(c, " *")
			if _, err := strconv.ParseFloat(c, 64); err != nil || i == 0 {
				names = append(names, c)
			}
		}
		bars = append(bars, bar{strings.Join(names, ", "), v})
		most = max(most, v)
	}
	const width, name, line = 720, 280, 26
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="13">`+"\n", width, line*len(bars)+44)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+
		`<text x="12" y="24" font-size="15">%s</text>`+"\n", html.EscapeString(title))
	for i, s := range bars {
		y, fill := 40+line*i, "#b8c4d6"
		if strings.Contains(s.name, "arc") {
			fill = "#22577a"
		}
		long := (width - name - 90) * s.value / most
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+
			`<rect x="%d" y="%d" width="%.0f" height="18" fill="%s"/>`+
			`<text x="%.0f" y="%d">%g</text>`+"\n",
			name-8, y+14, html.EscapeString(s.name), name, y, long, fill, name+long+6, y+14, s.value)
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}
