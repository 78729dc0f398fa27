package main

import (
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
)

// check follows the relative links of all Markdown files in files. It returns
// how many it followed and a line for each that leads nowhere.
func check(tree fs.FS, files []string) (followed int, broken []string) {
	pages := make(map[string]page)
	for _, name := range files {
		if path.Ext(name) != ".md" || slices.Contains(strings.Split(name, "/"), "testdata") {
			continue
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			broken = append(broken, err.Error())
			continue
		}
		pages[name] = parse(string(text))
	}
	there := make(map[string]bool)
	for _, name := range files {
		for ; name != "."; name = path.Dir(name) { // links to directories are fine
			there[name] = true
		}
	}
	for _, name := range files {
		for _, l := range pages[name].links {
			if foreign(l.target) {
				continue
			}
			followed++
			if why := follow(name, l.target, pages, there); why != "" {
				broken = append(broken, fmt.Sprintf("%s:%d: %s: %s", name, l.line, l.target, why))
			}
		}
	}
	return followed, broken
}

// foreign reports whether target is on another site.
func foreign(target string) bool {
	u, err := url.Parse(target)
	return err == nil && (u.Scheme != "" || u.Host != "")
}

// follow returns why a link from a page leads nowhere, or nothing.
func follow(from, target string, pages map[string]page, there map[string]bool) string {
	u, err := url.Parse(target)
	if err != nil {
		return "cannot be read as a link"
	}
	to := from
	switch {
	case strings.HasPrefix(u.Path, "/"):
		to = strings.Trim(path.Clean(u.Path), "/")
	case u.Path != "":
		to = path.Join(path.Dir(from), u.Path)
	}
	if to != "." && to != "" && !there[to] {
		return "no such file"
	}
	if p, ok := pages[to]; ok && u.Fragment != "" && !p.anchors[u.Fragment] {
		return "no such heading"
	}
	return ""
}
