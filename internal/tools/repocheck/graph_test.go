package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/tools/archtest"
	"github.com/interlock-go/interlock/internal/tools/repo"
)

func TestReduced(t *testing.T) {
	set := func(names ...string) map[string]bool {
		m := make(map[string]bool)
		for _, n := range names {
			m[n] = true
		}
		return m
	}
	got := reduced(map[string]map[string]bool{"cmd": set("guard", "engine", "on"), "guard": set("engine"), "engine": nil, "on": nil})
	want := map[string][]string{"cmd": {"guard", "on"}, "guard": {"engine"}, "engine": nil, "on": nil}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("imports are %v, want %v", got, want)
	}
}

func TestDrawn(t *testing.T) {
	for pkg, want := range map[string]string{
		repo.Path:                               ".",
		repo.Path + "/guard":                    "guard",
		repo.Path + "/cmd/interlock/internal/x": "cmd/interlock",
		repo.Path + "/internal/watchdog":        "internal/*",
		repo.Path + "/engine/enginetest":        "",
		repo.Path + "/internal/tools/repo":      "",
		"example.com/guard":                     "",
	} {
		if got, ok := drawn(pkg); got != want || ok != (want != "") {
			t.Errorf("drawn(%q) is %q, %v; want %q", pkg, got, ok, want)
		}
	}
}

func TestPicture(t *testing.T) {
	imports := map[string][]string{"guard": {"."}, ".": {"engine", "doctor"}, "engine": nil, "doctor": nil}
	boxes := place(imports)
	for from, all := range imports {
		for _, to := range all {
			if boxes[from].row <= boxes[to].row {
				t.Errorf("%s is not above %s", from, to)
			}
		}
	}
	if a, b := boxes["doctor"], boxes["engine"]; a.x+a.w > b.x && b.x+b.w > a.x {
		t.Error("two boxes of a row overlap")
	}
	if svg := picture(imports); strings.Count(svg, "<path ") != 3 || strings.Count(svg, "<rect ") != 4 || !strings.Contains(svg, ">interlock<") {
		t.Errorf("the picture has other than 3 edges and 4 boxes, or lacks interlock:\n%s", svg)
	}
}

func TestRoomTable(t *testing.T) {
	got := roomTable([]archtest.Room{{Path: "guard", Does: "operations that run once", Code: []string{".", "engine"}}, {Path: "cmd/...", Code: []string{"..."}}})
	want := "| package | purpose | may import |\n|---|---|---|\n" +
		"| `guard` | operations that run once | `interlock`, `engine` |\n" +
		"| `cmd/...` |  | everything |\n"
	if got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}
