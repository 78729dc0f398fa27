package weave

import (
	"fmt"
	"os"
	"regexp"
	"slices"
)

var siteID = regexp.MustCompile(`ilsite/1\{([a-z]+ [^{}\x00-\x1f]+)\}`)

// Sites lists the sites in a binary, such as "lock example.com/shop.(*Service).Pay",
// sorted. Sites of functions that the linker removed are not listed.
func Sites(binary string) ([]string, error) {
	text, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("weave: %w", err)
	}
	var all []string
	for _, m := range siteID.FindAllSubmatch(text, -1) {
		all = append(all, string(m[1]))
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
