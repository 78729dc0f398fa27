package backend

import (
	"strings"

	"github.com/interlock-go/interlock/rule"
)

// Meant returns the beginning of the URL that the author of an unknown one probably meant,
// such as "zk://", or "".
func Meant(url string) string {
	scheme, _, ok := strings.Cut(url, "://")
	if !ok || Known(url) {
		return ""
	}
	var all []string
	for _, k := range kinds {
		if strings.EqualFold(scheme, k.name) { // zookeeper, postgreSQL
			return k.schemes[0] + "://"
		}
		all = append(all, k.schemes...)
	}
	if meant := rule.Meant(strings.ToLower(scheme), all); meant != "" {
		return meant + "://"
	}
	return ""
}
