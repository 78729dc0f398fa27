package main

import (
	"fmt"
	"regexp"
	"strings"
)

// forbidden matches texts that no file may contain. The patterns do not match themselves.
var forbidden = []*regexp.Regexp{
	// A user's home or a build's directory. A path that begins in the middle of a
	// word is part of a URL or of a longer path, which is fine.
	regexp.MustCompile(`(?:^|[^\w.})\]-])/(?:work|root|home/\w+|Users/\w+|builds|runner)/`),
	regexp.MustCompile(`(?i)\b(?:proxy|sum)[.]golang[.]org\b|\bgoproxy[.](?:io|cn)\b`),
	regexp.MustCompile(`(?i)\bregistry[.](?:npmjs|yarnpkg)[.]\w+\b|\brepo1?[.]maven[.]org\b|\bmaven[.]aliyun[.]com\b`),
	regexp.MustCompile(`(?i)\b(?:deb|security|ftp)[.]debian[.]org\b|\bregistry-1[.]docker[.]io\b`),
	regexp.MustCompile(`(?i)\bartifactory\b|\b(?:nexus|mirrors?)[.][\w-]+[.]\w+`),
}

// mentions checks that no file names a directory of a developer's machine, or a host that
// packages are downloaded from.
func mentions(t tree) (summary string, wrong []string, err error) {
	for _, name := range t.files {
		text, err := t.read(name)
		if err != nil {
			return "", nil, err
		}
		if strings.Contains(text, "\x00") { // a binary file
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			for _, shape := range forbidden {
				if m := shape.FindString(line); m != "" {
					wrong = append(wrong, fmt.Sprintf("%s:%d: %s", name, i+1, strings.TrimSpace(m)))
				}
			}
		}
	}
	return fmt.Sprintf("%d files, %d mentions of a machine or a mirror", len(t.files), len(wrong)), wrong, nil
}
