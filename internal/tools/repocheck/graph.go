package main

import (
	"fmt"
	"html"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/tools/archtest"
	"github.com/interlock-go/interlock/internal/tools/repo"
)

const (
	architecturePage    = "docs/architecture.md"
	architecturePicture = "docs/images/architecture.svg"
)

// graph checks the picture of the import graph and the tables of packages in
// docs/architecture.md. With -fix it rewrites both.
func graph(t tree) (summary string, wrong []string, err error) {
	imports, err := t.imports()
	if err != nil {
		return "", nil, err
	}
	page, err := t.read(architecturePage)
	if err != nil {
		return "", nil, err
	}
	want := map[string]string{architecturePicture: picture(imports), architecturePage: page}
	for name, rooms := range map[string][]archtest.Room{"product": archtest.Product, "proof": archtest.Proof} {
		begin, end := "<!-- "+name+" -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(want[architecturePage], begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			return "", nil, fmt.Errorf("%s has no %s … %s", architecturePage, strings.TrimSpace(begin), end)
		}
		want[architecturePage] = before + begin + roomTable(rooms) + end + after
	}
	for name, text := range want {
		if have, _ := t.read(name); have == text { // a missing file differs
			continue
		}
		if !t.fix {
			wrong = append(wrong, name+": out of date (make fmt)")
		} else if err := t.write(name, text); err != nil {
			return "", nil, err
		}
	}
	return fmt.Sprintf("%d packages, %d imports", len(imports), edges(imports)), wrong, nil
}

// imports returns the imports between the boxes of the picture, without those of tests. It
// omits an import that also exists indirectly.
func (t tree) imports() (map[string][]string, error) {
	args := []string{"list", "-e", "-f", `{{.ImportPath}} {{join .Imports " "}}`}
	for _, m := range repo.Modules(t.files) {
		args = append(args, "./"+m.Dir+"/...")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = t.root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := make(map[string]map[string]bool)
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		from, ok := drawn(words[0])
		if !ok {
			continue
		}
		if all[from] == nil {
			all[from] = make(map[string]bool)
		}
		for _, w := range words[1:] {
			if to, ok := drawn(w); ok && to != from {
				all[from][to] = true
			}
		}
	}
	return reduced(all), nil
}

// drawn returns the box of a package in the picture. The internal packages share one
// box; so do the adapters, and a command and the packages below it.
func drawn(importPath string) (string, bool) {
	pkg, isOurs := archtest.Ours(importPath)
	room, ok := archtest.Of(pkg)
	if !isOurs || !ok || !slices.ContainsFunc(archtest.Product, func(r archtest.Room) bool { return r.Path == room.Path }) {
		return "", false
	}
	if strings.HasPrefix(pkg, "internal/adapter") {
		return "adapter", true
	}
	if strings.HasPrefix(pkg, "internal/") {
		return "internal/*", true
	}
	return strings.TrimSuffix(room.Path, "/..."), true
}

// reduced omits every import that also exists indirectly, through another package.
func reduced(all map[string]map[string]bool) map[string][]string {
	var reaches func(from, to string) bool
	reaches = func(from, to string) bool {
		for next := range all[from] {
			if next == to || reaches(next, to) {
				return true
			}
		}
		return false
	}
	kept := make(map[string][]string)
	for from := range all {
		kept[from] = nil
		for _, to := range slices.Sorted(maps.Keys(all[from])) {
			indirect := false
			for via := range all[from] {
				indirect = indirect || via != to && reaches(via, to)
			}
			if !indirect {
				kept[from] = append(kept[from], to)
			}
		}
	}
	return kept
}

func edges(imports map[string][]string) (n int) {
	for _, to := range imports {
		n += len(to)
	}
	return n
}

// Sizes of the picture, in pixels.
const (
	width, rowHeight   = 1000, 88
	boxHeight, boxGap  = 46, 14
	charWidth, padding = 6.1, 12 // of the small text
)

// A box is a package in the picture.
type box struct {
	name, label, does string
	x, w              float64
	row               int
}

// picture draws the import graph: a package is above its imports.
func picture(imports map[string][]string) string {
	boxes := place(imports)
	rows := 0
	for _, b := range boxes {
		rows = max(rows, b.row+1)
	}
	top := func(b *box) float64 { return float64((rows-1-b.row)*rowHeight + 12) }
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" role="img" aria-label="Packages, each above those it imports">
<style>
  .edge { fill: none; stroke: #8a94a6; stroke-width: 1.4 }
  .far { stroke-dasharray: 2 4 }
  .box { fill: #f4f6fa; stroke: #56617a }
  .name { fill: #17202e; font: 600 14px ui-monospace, monospace }
  .does { fill: #46505f; font-size: 11.5px }
  @media (prefers-color-scheme: dark) {
    .edge { stroke: #7d8798 } .box { fill: #1c2330; stroke: #93a0b8 } .name { fill: #eef2f8 } .does { fill: #b7c0cf }
  }
</style>
`, width, rows*rowHeight-rowHeight+boxHeight+24)
	names := slices.Sorted(maps.Keys(boxes))
	for _, from := range names {
		for _, to := range imports[from] {
			a, b := boxes[from], boxes[to]
			x1, y1, x2, y2 := a.x+a.w/2, top(a)+boxHeight, b.x+b.w/2, top(b)
			class, bend := "edge", (y2-y1)/2
			if a.row > b.row+1 { // the edge runs behind other boxes
				class = "edge far"
			}
			fmt.Fprintf(&s, `<path class="%s" d="M%.0f %.0f C%.0f %.0f %.0f %.0f %.0f %.0f"/>`+"\n", class, x1, y1, x1, y1+bend, x2, y2-bend, x2, y2)
		}
	}
	for _, name := range names {
		b := boxes[name]
		fmt.Fprintf(&s, `<rect class="box" x="%.0f" y="%.0f" width="%.0f" height="%d" rx="7"/>`, b.x, top(b), b.w, boxHeight)
		fmt.Fprintf(&s, `<text class="name" x="%.0f" y="%.0f" text-anchor="middle">%s</text>`, b.x+b.w/2, top(b)+20, html.EscapeString(b.label))
		fmt.Fprintf(&s, `<text class="does" x="%.0f" y="%.0f" text-anchor="middle">%s</text>`+"\n", b.x+b.w/2, top(b)+37, html.EscapeString(b.does))
	}
	s.WriteString("</svg>\n")
	return s.String()
}

// place puts each package one row above the highest package that it imports. It orders each
// row so that packages are near their imports.
func place(imports map[string][]string) map[string]*box {
	boxes := make(map[string]*box)
	var rowOf func(name string) int
	rowOf = func(name string) (row int) {
		for _, to := range imports[name] {
			row = max(row, rowOf(to)+1)
		}
		return row
	}
	var rows [][]*box
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		b := &box{name: name, label: strings.Trim(roomName(name), "`"), does: purpose(name), row: rowOf(name)}
		b.w = max(float64(len(b.does))*charWidth, float64(len(b.label))*8.5) + 2*padding
		boxes[name] = b
		for len(rows) <= b.row {
			rows = append(rows, nil)
		}
		rows[b.row] = append(rows[b.row], b)
	}
	for _, row := range rows {
		centre := func(b *box) (x float64) {
			for _, to := range imports[b.name] {
				x += (boxes[to].x + boxes[to].w/2) / float64(len(imports[b.name]))
			}
			return x
		}
		slices.SortStableFunc(row, func(a, b *box) int { return int(centre(a) - centre(b)) })
		spread(row)
	}
	return boxes
}

// spread puts the boxes of a row side by side, in the middle of the picture.
func spread(row []*box) {
	total := 0.0
	for _, b := range row {
		total += b.w
	}
	gap := max(boxGap, (width-total)/float64(len(row)+1))
	x := (width - total - gap*float64(len(row)-1)) / 2
	for _, b := range row {
		b.x = x
		x += b.w + gap
	}
}

// purpose returns what a box is for, in a few words.
func purpose(name string) string {
	if name == "internal/*" {
		return "leases, retries, contexts"
	}
	for _, r := range archtest.Product {
		if strings.TrimSuffix(r.Path, "/...") == name {
			return strings.FieldsFunc(r.Does, func(c rune) bool { return c == ':' || c == ',' })[0]
		}
	}
	return ""
}

// roomTable is the table of packages, with what each may import.
func roomTable(rooms []archtest.Room) string {
	var s strings.Builder
	s.WriteString("| package | purpose | may import |\n|---|---|---|\n")
	for _, r := range rooms {
		fmt.Fprintf(&s, "| %s | %s | %s |\n", roomName(r.Path), r.Does, roomNames(r.Code))
	}
	return s.String()
}

func roomName(path string) string {
	switch path {
	case ".":
		return "`interlock`"
	case "...":
		return "everything"
	}
	return "`" + path + "`"
}

func roomNames(paths []string) string {
	var names []string
	internal := 0
	for _, p := range paths {
		if strings.HasPrefix(p, "internal/") {
			internal++
		}
	}
	for _, p := range paths {
		switch {
		case internal < 5 || !strings.HasPrefix(p, "internal/"):
			names = append(names, roomName(p))
		case !slices.Contains(names, "`internal/*`"):
			names = append(names, "`internal/*`")
		}
	}
	return strings.Join(names, ", ")
}
