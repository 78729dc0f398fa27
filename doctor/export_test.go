package doctor

// Forms are the texts of the catalogue before anything is put into them.
func Forms() map[Code][]Text {
	all := make(map[Code][]Text)
	for c, e := range catalogue {
		all[c] = []Text{e.seen, e.means, e.do}
	}
	return all
}
