// Mentions checks that the repository speaks of itself alone: no directory of
// the machine it was written on, and no host that packages happen to come from.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

// forbidden is written so that it does not match itself.
var forbidden = []*regexp.Regexp{
	// The home of a user or the work place of a build. A path that begins in
	// the middle of a word is part of a URL or a longer path, which is fine.
	regexp.MustCompile(`(?:^|[^\w.})\]-])/(?:work|root|home/\w+|Users/\w+|builds|runner)/`),
	regexp.MustCompile(`(?i)\b(?:proxy|sum)[.]golang[.]org\b|\bgoproxy[.](?:io|cn)\b`),
	regexp.MustCompile(`(?i)\bregistry[.](?:npmjs|yarnpkg)[.]\w+\b|\brepo1?[.]maven[.]org\b|\bmaven[.]aliyun[.]com\b`),
	regexp.MustCompile(`(?i)\b(?:deb|security|ftp)[.]debian[.]org\b|\bregistry-1[.]docker[.]io\b`),
	regexp.MustCompile(`(?i)\bartifactory\b|\b(?:nexus|mirrors?)[.][\w-]+[.]\w+`),
}

func main() {
	repo.Run(func(root string, files []string) (string, []string, error) {
		var wrong []string
		for _, name := range files {
			text, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				return "", nil, err
			}
			wrong = append(wrong, mentions(name, text)...)
		}
		return fmt.Sprintf("mentions: %d files read, %d mentions of something else", len(files), len(wrong)), wrong, nil
	})
}

// mentions returns a line for each forbidden word in text. Binary files have
// no words.
func mentions(name string, text []byte) []string {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	var found []string
	for i, line := range bytes.Split(text, []byte("\n")) {
		for _, shape := range forbidden {
			if m := shape.Find(line); m != nil {
				found = append(found, fmt.Sprintf("%s:%d: %s", name, i+1, bytes.TrimSpace(m)))
			}
		}
	}
	return found
}
