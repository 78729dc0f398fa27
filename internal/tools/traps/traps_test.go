package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var tree = fstest.MapFS{
	"shop/sale_test.go": {Data: []byte(`package shop

func TestSale(t *testing.T) { t.Run("a sale is made \"once\"", nil) }
func (k *kit) TestNot() {}
`)},
	"shop/laws_test.go": {Data: []byte(`package shop

func TestLaws(t *testing.T) { for _, l := range laws { t.Run(l, nil) } }
`)},
	"shop/loss_test.go":                {Data: []byte("package shop\n\nvar laws = []string{\"a loss is told\", `a loss / is counted`}\n")},
	"shop/shop.go":                     {Data: []byte("package shop\n\nfunc TestNo() {}\n")},
	"engine/enginetest/laws_claim.go":  {Data: []byte("package enginetest\n\nvar laws = []Law{{\"claim\", \"one is granted\"}}\n")},
	"engine/enginetest/bench_test.go":  {Data: []byte("package enginetest\n\nfunc TestBench(t *testing.T) {}\n")},
	"engine/enginetest/README.md":      {Data: []byte("one is granted")},
	"engine/enginetest/deep/laws_x.go": {Data: []byte("package deep\n\nconst x = \"one is granted\"\n")},
}

func found(t *testing.T) tests {
	t.Helper()
	var names []string
	for name := range tree {
		names = append(names, name)
	}
	ts, err := read(tree, names)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// page is a list with nothing wrong with it, in which the proof of trap 7 is what
// the caller says.
func page(proof string) string {
	var b strings.Builder
	b.WriteString("# Traps\n\n| | trap | here | proof |\n|--|--|--|--|\n")
	for i := 1; i <= traps; i++ {
		p := "`shop/sale_test.go: TestSale`"
		if i == 7 {
			p = proof
		}
		fmt.Fprintf(&b, "| %d | a trap | a way | %s |\n", i, p)
	}
	b.WriteString("\n## Security\n\n")
	for i := 1; i <= items; i++ {
		fmt.Fprintf(&b, "| %d | an item | a way | `shop/sale_test.go: TestSale` |\n", i)
	}
	return b.String()
}

func wrongs(t *testing.T, text string) []string {
	t.Helper()
	rows, wrong := parse(text)
	_, more := check(rows, found(t))
	return append(wrong, more...)
}

func TestProofs(t *testing.T) {
	const at = "docs/traps.md:11: trap 7: "
	for name, c := range map[string]struct{ proof, wrong string }{
		"a test is a proof":                              {"`shop/sale_test.go: TestSale`", ""},
		"a subtest is one":                               {"`shop/sale_test.go: TestSale/a sale is made \"once\"`", ""},
		"its function may be in another file":            {"`shop/loss_test.go: TestLaws/a loss is told`", ""},
		"its sentence may have a slash":                  {"`shop/loss_test.go: TestLaws/a loss / is counted`", ""},
		"a law is one":                                   {"`engine/enginetest/laws_claim.go: one is granted`", ""},
		"a test of the laws is one":                      {"`engine/enginetest/bench_test.go: TestBench`", ""},
		"two are two":                                    {"`shop/sale_test.go: TestSale`, `shop/laws_test.go: TestLaws`", ""},
		"a reason is enough":                             {"Later: SQL mode.", ""},
		"another reason is enough":                       {"Not here: a proxy's.", ""},
		"nothing is not":                                 {"", at + "has neither a test nor a reason"},
		"a word is not":                                  {"yes", at + "has neither a test nor a reason"},
		"a reason without words is not":                  {"Later: ", at + "has neither a test nor a reason"},
		"code that is no test is not":                    {"`guard.Hold`", at + "has neither a test nor a reason"},
		"a file that is gone is noticed":                 {"`shop/gone_test.go: TestSale`", at + "there is no file shop/gone_test.go"},
		"a file without tests is":                        {"`shop/shop.go: TestNo`", at + "there is no file shop/shop.go"},
		"a test that is gone is":                         {"`shop/sale_test.go: TestGone`", at + `shop/sale_test.go has no test "TestGone"`},
		"a method that looks like one is":                {"`shop/sale_test.go: TestNot`", at + `shop/sale_test.go has no test "TestNot"`},
		"a test of another file is":                      {"`shop/sale_test.go: TestLaws`", at + `shop/sale_test.go has no test "TestLaws"`},
		"a test that is gone is, though the sentence is": {"`shop/loss_test.go: TestGone/a loss is told`", at + `shop has no test "TestGone"`},
		"a sentence that is gone is":                     {"`shop/loss_test.go: TestLaws/a loss is hidden`", at + `shop/loss_test.go does not say "a loss is hidden"`},
		"a sentence of another file is":                  {"`shop/sale_test.go: TestLaws/a loss is told`", at + `shop/sale_test.go does not say "a loss is told"`},
		"half a sentence is":                             {"`shop/loss_test.go: TestLaws/a loss`", at + `shop/loss_test.go does not say "a loss"`},
		"underscores are":                                {"`shop/loss_test.go: TestLaws/a_loss_is_told`", at + `shop/loss_test.go does not say "a_loss_is_told"`},
		"a law that is gone is":                          {"`engine/enginetest/laws_claim.go: two are granted`", at + `engine/enginetest/laws_claim.go does not say "two are granted"`},
		"a test without a name is":                       {"`shop/loss_test.go: /a loss is told`", at + `shop has no test ""`},
		"the second of two is":                           {"`shop/sale_test.go: TestSale`, `shop/sale_test.go: TestGone`", at + `shop/sale_test.go has no test "TestGone"`},
		"a column too many is":                           {"a | b", at + "has 5 columns, want 4"},
	} {
		t.Run(name, func(t *testing.T) {
			got := wrongs(t, page(c.proof))
			if c.wrong == "" && len(got) > 0 || c.wrong != "" && (len(got) == 0 || got[0] != c.wrong) {
				t.Errorf("%q, want %q", got, c.wrong)
			}
		})
	}
}

func TestTheList(t *testing.T) {
	good := page("Later: a proxy's.")
	without := func(line string) string {
		t.Helper()
		if !strings.Contains(good, line) {
			t.Fatalf("there is no %q", line)
		}
		return strings.Replace(good, line, "", 1)
	}
	const proof = " | `shop/sale_test.go: TestSale` |\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a trap that is left out is noticed": {without("| 80 | a trap | a way" + proof), []string{"docs/traps.md: trap 80 is left out"}},
		"an item that is left out is":        {without("| 24 | an item | a way" + proof), []string{"docs/traps.md: security item 24 is left out"}},
		"one that is there twice is":         {good + "| 24 | an item | a way" + proof, []string{"docs/traps.md:123: security item 24: is there twice"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := wrongs(t, c.text); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	t.Run("too few tests are noticed, and one more is enough", func(t *testing.T) {
		few := strings.Replace(good, proof, " | Later: this. |\n", traps-least-1) // and trap 7, which has none
		if got := wrongs(t, few); len(got) != 0 {
			t.Errorf("%q", got)
		}
		few = strings.Replace(good, proof, " | Later: this. |\n", traps-least)
		want := []string{"docs/traps.md: 64 traps have a test, want 65 at least"}
		if got := wrongs(t, few); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
	t.Run("the summary counts", func(t *testing.T) {
		rows, _ := parse(good)
		n, _ := check(rows, found(t))
		const want = "traps: 79 of 80 traps and 35 of 35 security items have a test, 114 tests are named"
		if n.String() != want {
			t.Errorf("%s, want %s", n, want)
		}
	})
	t.Run("a test file that is no Go is an error", func(t *testing.T) {
		broken := fstest.MapFS{"a_test.go": {Data: []byte("pakcage a")}}
		if _, err := read(broken, []string{"a_test.go"}); err == nil {
			t.Error("it is not noticed")
		}
	})
}
