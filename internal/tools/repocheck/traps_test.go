package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var shop = fstest.MapFS{
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

// trapList returns a page of traps. All rows are correct, except that trap 7 has the given
// proof.
func trapList(proof string) string {
	var b strings.Builder
	b.WriteString("# Traps\n\n| | trap | here | proof |\n|--|--|--|--|\n")
	for i := 1; i <= trapCount; i++ {
		p := "`shop/sale_test.go: TestSale`"
		if i == 7 {
			p = proof
		}
		fmt.Fprintf(&b, "| %d | a trap | a way | %s |\n", i, p)
	}
	b.WriteString("\n## Security\n\n")
	for i := 1; i <= securityCount; i++ {
		fmt.Fprintf(&b, "| %d | an item | a way | `shop/sale_test.go: TestSale` |\n", i)
	}
	return b.String()
}

func checkTraps(t *testing.T, text string) (summary string, wrong []string) {
	t.Helper()
	in := fstest.MapFS{"docs/traps.md": {Data: []byte(text)}}
	maps.Copy(in, shop)
	summary, wrong, err := traps(tree{FS: in, files: slices.Sorted(maps.Keys(in))})
	if err != nil {
		t.Fatal(err)
	}
	return summary, wrong
}

func TestTrapProofs(t *testing.T) {
	const at = "docs/traps.md:11: trap 7: "
	for name, c := range map[string]struct{ proof, wrong string }{
		"a test":                                  {"`shop/sale_test.go: TestSale`", ""},
		"a subtest":                               {"`shop/sale_test.go: TestSale/a sale is made \"once\"`", ""},
		"a subtest of a test in another file":     {"`shop/loss_test.go: TestLaws/a loss is told`", ""},
		"a subtest with a slash":                  {"`shop/loss_test.go: TestLaws/a loss / is counted`", ""},
		"a law":                                   {"`engine/enginetest/laws_claim.go: one is granted`", ""},
		"a test of the laws":                      {"`engine/enginetest/bench_test.go: TestBench`", ""},
		"two tests":                               {"`shop/sale_test.go: TestSale`, `shop/laws_test.go: TestLaws`", ""},
		"a reason":                                {"Later: SQL mode.", ""},
		"another reason":                          {"Not here: a proxy's.", ""},
		"no proof":                                {"", at + "has neither a test nor a reason"},
		"a word":                                  {"yes", at + "has neither a test nor a reason"},
		"a reason without words":                  {"Later: ", at + "has neither a test nor a reason"},
		"code that is not a test":                 {"`guard.Hold`", at + "has neither a test nor a reason"},
		"a file that does not exist":              {"`shop/gone_test.go: TestSale`", at + "there is no test file shop/gone_test.go"},
		"a file without tests":                    {"`shop/shop.go: TestNo`", at + "there is no test file shop/shop.go"},
		"a test that does not exist":              {"`shop/sale_test.go: TestGone`", at + `shop/sale_test.go has no test "TestGone"`},
		"a method with the name of a test":        {"`shop/sale_test.go: TestNot`", at + `shop/sale_test.go has no test "TestNot"`},
		"a test of another file":                  {"`shop/sale_test.go: TestLaws`", at + `shop/sale_test.go has no test "TestLaws"`},
		"a subtest of a test that does not exist": {"`shop/loss_test.go: TestGone/a loss is told`", at + `shop has no test "TestGone"`},
		"a subtest that does not exist":           {"`shop/loss_test.go: TestLaws/a loss is hidden`", at + `shop/loss_test.go does not contain "a loss is hidden"`},
		"a subtest of another file":               {"`shop/sale_test.go: TestLaws/a loss is told`", at + `shop/sale_test.go does not contain "a loss is told"`},
		"half a sentence":                         {"`shop/loss_test.go: TestLaws/a loss`", at + `shop/loss_test.go does not contain "a loss"`},
		"underscores for spaces":                  {"`shop/loss_test.go: TestLaws/a_loss_is_told`", at + `shop/loss_test.go does not contain "a_loss_is_told"`},
		"a law that does not exist":               {"`engine/enginetest/laws_claim.go: two are granted`", at + `engine/enginetest/laws_claim.go does not contain "two are granted"`},
		"a test without a name":                   {"`shop/loss_test.go: /a loss is told`", at + `shop has no test ""`},
		"a second test that does not exist":       {"`shop/sale_test.go: TestSale`, `shop/sale_test.go: TestGone`", at + `shop/sale_test.go has no test "TestGone"`},
		"a fifth column":                          {"a | b", at + "has 5 columns, want 4"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := checkTraps(t, trapList(c.proof))
			if c.wrong == "" && len(got) > 0 || c.wrong != "" && (len(got) == 0 || got[0] != c.wrong) {
				t.Errorf("errors are %q, want %q", got, c.wrong)
			}
		})
	}
}

func TestTrapList(t *testing.T) {
	good := trapList("Later: a proxy's.")
	without := func(line string) string {
		t.Helper()
		if !strings.Contains(good, line) {
			t.Fatalf("the page lacks %q", line)
		}
		return strings.Replace(good, line, "", 1)
	}
	const proof = " | `shop/sale_test.go: TestSale` |\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a missing trap":           {without("| 80 | a trap | a way" + proof), []string{"docs/traps.md: trap 80 is missing"}},
		"a missing security item":  {without("| 24 | an item | a way" + proof), []string{"docs/traps.md: security item 24 is missing"}},
		"an item that is repeated": {good + "| 24 | an item | a way" + proof, []string{"docs/traps.md:123: security item 24: appears twice"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := checkTraps(t, c.text); !slices.Equal(got, c.want) {
				t.Errorf("errors are %q, want %q", got, c.want)
			}
		})
	}
	t.Run("too few tests are an error", func(t *testing.T) {
		few := strings.Replace(good, proof, " | Later: this. |\n", trapCount-minTrapTests-1) // trap 7 has none either
		if _, got := checkTraps(t, few); len(got) != 0 {
			t.Errorf("errors are %q, want none with %d tests", got, minTrapTests)
		}
		few = strings.Replace(good, proof, " | Later: this. |\n", trapCount-minTrapTests)
		want := []string{"docs/traps.md: 64 traps have a test, want at least 65"}
		if _, got := checkTraps(t, few); !slices.Equal(got, want) {
			t.Errorf("errors are %q, want %q", got, want)
		}
	})
	t.Run("the summary counts", func(t *testing.T) {
		got, _ := checkTraps(t, good)
		const want = "79 of 80 traps and 35 of 35 security items have a test; 114 tests are cited"
		if got != want {
			t.Errorf("the summary is %q, want %q", got, want)
		}
	})
	t.Run("a test file that does not parse is an error", func(t *testing.T) {
		broken := fstest.MapFS{"a_test.go": {Data: []byte("pakcage a")}}
		if _, err := (tree{FS: broken, files: []string{"a_test.go"}}).tests(); err == nil {
			t.Error("tests returned no error")
		}
	})
}
