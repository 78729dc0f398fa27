package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A verdict says which mutant broke which laws.
type verdict struct {
	laws  []string            // the laws that pass on the unchanged source
	kills map[string][]string // the broken laws by mutant

	invalid []error // mutants that do not compile
}

// print writes a line for each law with the mutants that break it. The mutant that
// breaks the fewest laws comes first.
func (v verdict) print(w io.Writer) {
	for _, law := range v.laws {
		fmt.Fprintf(w, "%s → %s\n", strings.ReplaceAll(law, "_", " "), strings.Join(v.killers(law), ", "))
	}
}

func (v verdict) killers(law string) (mutants []string) {
	for mutant, laws := range v.kills {
		if slices.Contains(laws, law) {
			mutants = append(mutants, mutant)
		}
	}
	slices.SortFunc(mutants, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(v.kills[a]), len(v.kills[b])), strings.Compare(a, b))
	})
	return mutants
}

func (v verdict) killed() (n int) {
	for _, laws := range v.kills {
		if len(laws) > 0 {
			n++
		}
	}
	return n
}

// err reports the mutants that survived and, if all were tried, the laws that no
// mutant has broken.
func (v verdict) err(all bool) error {
	errs := slices.Clone(v.invalid)
	for mutant, laws := range v.kills {
		if len(laws) == 0 {
			errs = append(errs, fmt.Errorf("mutant %s survived: write the law that it breaks", mutant))
		}
	}
	for _, law := range v.laws {
		if all && len(v.killers(law)) == 0 {
			errs = append(errs, fmt.Errorf("no mutant breaks %q: write one, or drop the law",
				strings.ReplaceAll(law, "_", " ")))
		}
	}
	return errors.Join(errs...)
}
