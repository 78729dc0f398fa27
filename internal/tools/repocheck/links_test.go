package main

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestLinks(t *testing.T) {
	pages := fstest.MapFS{
		"README.md": {Data: []byte("# Hello, `World`!\n" +
			"[a](docs/a.md) [b](docs/a.md#two-words) [c](#hello-world) [d](docs) [e](https://example.com/nowhere)\n" +
			"[gone](docs/gone.md) `[code](gone.md)` [mute](docs/a.md#gone \"title\")\n" +
			"```\n[code](gone.md)\n```\n" +
			"<img src=\"docs/gone.svg\">\n[ref]: gone.md\n")},
		"docs/a.md": {Data: []byte("## Two words\n## Two words\n## 锁与租约\n[up](../README.md) [again](#two-words-1) [中文](#锁与租约) [out](../../x.md)\n")},
	}
	summary, broken, err := links(tree{FS: pages, files: []string{"README.md", "docs/a.md"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"README.md:3: docs/gone.md: no such file",
		"README.md:3: docs/a.md#gone: no such heading",
		"README.md:7: docs/gone.svg: no such file",
		"README.md:8: gone.md: no such file",
		"docs/a.md:4: ../../x.md: no such file",
	}
	if !slices.Equal(broken, want) {
		t.Errorf("broken links are\n%q, want\n%q", broken, want)
	}
	if want := "12 followed, 5 broken"; summary != want {
		t.Errorf("the summary is %q, want %q", summary, want)
	}
}
