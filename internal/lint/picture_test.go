package lint_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pictureFile shows the public packages of the root module: a box for each, on
// the floor above all that it imports, with the packages below its path in
// it. An arrow is an import that no other arrows imply.
const pictureFile = "docs/architecture.svg"

func TestPicture(t *testing.T) {
	r, err := whole()
	require.NoError(t, err)
	path := filepath.Join(r.dir, filepath.FromSlash(pictureFile))
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(r.picture()), 0o600))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, r.picture(), string(got), "go test ./internal/lint -run Picture -update draws it anew")
}

// room is a box of the picture.
type room struct {
	name    string
	imports map[string]bool // names of other rooms
	floor   int
	lines   []string // what is written in it
	x, y    float64
	w, h    float64
}

// rooms returns the boxes by name. Every import of a package below a room
// counts as one of the room. What is for tests alone has no box of its own.
func (r *repo) rooms() map[string]*room {
	out := map[string]*room{}
	for _, path := range slices.Sorted(maps.Keys(r.pkgs)) {
		name, ours := r.short(path)
		top, _, below := strings.Cut(name, "/")
		if !ours || internal(name) || under(name, "examples") || testSupport(top) {
			continue
		}
		if out[top] == nil {
			out[top] = &room{name: top, imports: map[string]bool{}, lines: []string{top}}
		}
		if below {
			out[top].lines = append(out[top].lines, name)
		}
		for _, to := range r.imports(path) {
			if to, _, _ = strings.Cut(to, "/"); to != top && !testSupport(name) {
				out[top].imports[to] = true
			}
		}
	}
	return out
}

// floorOf puts a room one floor above the highest that it imports.
func floorOf(rooms map[string]*room, name string) int {
	n := 0
	for to := range rooms[name].imports {
		n = max(n, floorOf(rooms, to)+1)
	}
	return n
}

// implied reports whether a room that from imports reaches to.
func implied(rooms map[string]*room, from, to string) bool {
	for by := range rooms[from].imports {
		if by != to && (rooms[by].imports[to] || implied(rooms, by, to)) {
			return true
		}
	}
	return false
}

const (
	pictureWidth = 720.0
	roomGap      = 24.0
	lineHeight   = 17.0
	floorGap     = 44.0 // between floors, for the arrows
)

func (r *repo) picture() string {
	rooms := r.rooms()
	var floors [][]*room
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		room := rooms[name]
		room.floor = floorOf(rooms, name)
		for len(floors) <= room.floor {
			floors = append(floors, nil)
		}
		floors[room.floor] = append(floors[room.floor], room)
	}
	for _, floor := range floors {
		placeRooms(rooms, floor)
	}
	y := 16.0
	for _, floor := range slices.Backward(floors) {
		height := 0.0
		for _, a := range floor {
			height = max(height, float64(len(a.lines))*lineHeight+14)
		}
		for _, a := range floor {
			a.y, a.h = y, height
		}
		y += height + floorGap
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="13" fill="#888">`+"\n",
		pictureWidth, y-floorGap+16)
	lane := pictureWidth
	for i, floor := range slices.Backward(floors) {
		fmt.Fprintf(&b, `<text x="8" y="%.0f">%d</text>`+"\n", floor[0].y+floor[0].h/2+4, i)
		for _, a := range floor {
			a.draw(&b)
			for _, to := range slices.Sorted(maps.Keys(a.imports)) {
				if !implied(rooms, a.name, to) {
					lane = a.arrow(&b, rooms[to], lane)
				}
			}
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (a *room) draw(b *strings.Builder) {
	fmt.Fprintf(b, `<rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="4" fill="#8882" stroke="#888"/>`+"\n", a.x, a.y, a.w, a.h)
	for n, line := range a.lines {
		style := ""
		if n == 0 {
			line, style = strings.Replace(line, ".", "arc", 1), ` font-weight="bold"`
		}
		fmt.Fprintf(b, `<text x="%.0f" y="%.0f" text-anchor="middle"%s>%s</text>`+"\n",
			a.x+a.w/2, a.y+20+float64(n)*lineHeight, style, line)
	}
}

// arrow draws an arrow to the floor below as a line, and one that passes a
// floor round the right of it, in a lane of its own. It returns the last lane.
func (a *room) arrow(b *strings.Builder, to *room, lane float64) float64 {
	x, y, toX := a.x+a.w/2, a.y+a.h, to.x+to.w/2
	if to.floor == a.floor-1 {
		fmt.Fprintf(b, `<path d="M%.0f %.0fL%.0f %.0f" stroke="#888"/>`+"\n", x, y, toX, to.y)
		return lane
	}
	lane -= 10
	bend := (pictureWidth - lane) / 2
	fmt.Fprintf(b, `<path d="M%.0f %.0fV%.0fH%.0fV%.0fH%.0fV%.0f" stroke="#888" stroke-dasharray="4 3" fill="none"/>`+"\n",
		x+bend, y, y+floorGap-6-bend, lane, to.y-6-bend, toX+bend, to.y)
	return lane
}

// placeRooms puts the rooms of a floor side by side, in the order of what they
// import, those with the most users first.
func placeRooms(rooms map[string]*room, floor []*room) {
	middle := func(a *room) (x float64) {
		for to := range a.imports {
			x += rooms[to].x / float64(len(a.imports))
		}
		return x
	}
	users := func(a *room) (n int) {
		for _, by := range rooms {
			if by.imports[a.name] {
				n++
			}
		}
		return n
	}
	slices.SortFunc(floor, func(a, b *room) int {
		return cmp.Or(cmp.Compare(int(middle(a)), int(middle(b))), users(b)-users(a), cmp.Compare(a.name, b.name))
	})
	total := -roomGap
	for _, a := range floor {
		longest := 0
		for _, line := range a.lines {
			longest = max(longest, len(line))
		}
		a.w = float64(longest)*7.5 + 32
		total += a.w + roomGap
	}
	x := (pictureWidth - total) / 2
	for _, a := range floor {
		a.x, x = x, x+a.w+roomGap
	}
}
