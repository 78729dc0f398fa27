package doctor

// Forms returns the unformatted texts of the catalogue.
func Forms() map[Code][]Text {
	all := make(map[Code][]Text)
	for c, e := range catalogue {
		all[c] = []Text{e.seen, e.means, e.do}
	}
	return all
}
