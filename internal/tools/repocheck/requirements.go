package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const requirementsPage = "docs/requirements.md"

// metricsPages is how the names of some pages begin. Their tables say which requirement a
// metric serves.
const metricsPages = "docs/observability."

// requirementCounts is the number of requirements by group.
var requirementCounts = map[string]int{"L": 10, "R": 3, "S": 9, "P": 10, "T": 15}

var (
	requirementID  = regexp.MustCompile(`\b([LRSPT])([1-9][0-9]?)\b`)
	requirementRow = regexp.MustCompile(`^\| ([LRSPT][1-9][0-9]?) \| (.*) \| (met|open) \| (.*) ?\|$`)
)

// requirements checks docs/requirements.md. The page lists every requirement, and the tests
// that name it in a comment or a subtest. A requirement without a test must be open. IDs
// appear only in tests, on that page, and in the tables of metrics. With -fix,
// requirements rewrites the column of tests.
func requirements(t tree) (summary string, wrong []string, err error) {
	proofs, wrong, err := t.requirementProofs()
	if err != nil {
		return "", nil, err
	}
	text, err := t.read(requirementsPage)
	if err != nil {
		return "", nil, err
	}
	seen, met := make(map[string]bool), 0
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		m := requirementRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		id, sentence, status := m[1], m[2], m[3]
		complain := func(what string) {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s: %s", requirementsPage, i+1, id, what))
		}
		if seen[id] {
			complain("appears twice")
		}
		seen[id] = true
		if status == "met" {
			met++
			if len(proofs[id]) == 0 {
				complain("no test names it: mark it open")
			}
		}
		want := fmt.Sprintf("| %s | %s | %s | %s |", id, sentence, status, strings.Join(proofs[id], "<br>"))
		if !t.fix && line != want {
			complain("the list of tests that name it is out of date (make fmt)")
		}
		lines[i] = want
	}
	for id := range allIDs {
		if !seen[id] {
			wrong = append(wrong, fmt.Sprintf("%s: %s is missing", requirementsPage, id))
		}
	}
	slices.Sort(wrong)
	if fixed := strings.Join(lines, "\n"); t.fix && fixed != text {
		err = t.write(requirementsPage, fixed)
	}
	return fmt.Sprintf("%d of %d are met", met, len(seen)), wrong, err
}

// allIDs yields every id.
func allIDs(yield func(string) bool) {
	for group, n := range requirementCounts {
		for i := range n {
			if !yield(fmt.Sprint(group, i+1)) {
				return
			}
		}
	}
}

// idsIn returns the ids that a text names. It ignores numbers that no requirement has, such
// as P99, a percentile.
func idsIn(text string) (found []string) {
	for _, m := range requirementID.FindAllStringSubmatch(text, -1) {
		if n, _ := strconv.Atoi(m[2]); n <= requirementCounts[m[1]] {
			found = append(found, m[0])
		}
	}
	return found
}

// requirementProofs returns the tests that name each requirement, as citations. It
// complains about every id that is outside of the tests.
func (t tree) requirementProofs() (proofs map[string][]string, wrong []string, err error) {
	proofs = make(map[string][]string)
	for _, name := range t.files {
		if name == requirementsPage || strings.HasPrefix(name, metricsPages) || strings.HasPrefix(name, "internal/tools/") {
			continue
		}
		if strings.HasSuffix(name, "_test.go") || isLaws(name) {
			src, err := t.read(name)
			if err == nil {
				err = prove(proofs, name, src)
			}
			if err != nil {
				return nil, nil, err
			}
			continue
		}
		paragraphs, err := t.paragraphs(name)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range paragraphs {
			for _, id := range idsIn(p.text) {
				wrong = append(wrong, fmt.Sprintf("%s:%d: requirement id %s belongs in a test", name, p.line, id))
			}
		}
	}
	return proofs, wrong, nil
}

// prove adds the citations of a test file to proofs. A citation is the subtest or law whose
// sentence names the requirement, or else the function whose text or comment names it, or
// else the file.
func prove(proofs map[string][]string, name, src string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	add := func(text, test string) {
		for _, id := range idsIn(text) {
			if c := "`" + name + test + "`"; !slices.Contains(proofs[id], c) {
				proofs[id] = append(proofs[id], c)
			}
		}
	}
	for _, d := range file.Decls {
		function := ""
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && testName.MatchString(f.Name.Name) {
			function = f.Name.Name
			add(f.Doc.Text(), ": "+function)
		}
		ast.Inspect(d, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			switch text, err := strconv.Unquote(lit.Value); {
			case err != nil, strings.ContainsAny(text, "%\n|`"): // a message, not a name
				if function != "" {
					add(text, ": "+function)
				}
			case function != "":
				add(text, ": "+function+"/"+text)
			default:
				add(text, ": "+text)
			}
			return true
		})
	}
	for _, group := range file.Comments {
		for _, id := range idsIn(group.Text()) {
			fromHere := func(c string) bool { return strings.HasPrefix(c, "`"+name+":") }
			if !slices.ContainsFunc(proofs[id], fromHere) {
				add(id, "")
			}
		}
	}
	return nil
}
