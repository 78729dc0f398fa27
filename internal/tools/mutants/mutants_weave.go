package main

// weaveMutants are bugs in the weaver.
var weaveMutants = []notice{
	{"weave.TestEveryMistakeIsToldWithItsPlace", []mutant{
		{"init-is-woven", "weave/suitable.go", "fn.Name.Name == \"init\" {\n", "fn.Name.Name == \"Init\" {\n", "a lock before there is a client"},
		{"nosplit-is-woven", "weave/suitable.go", "pragma == \"//go:nosplit\" || ", "", "the linker says something about stacks"},
		{"twice-the-same", "weave/suitable.go", "		if seen[what] {\n", "		if false {\n", "it waits for itself"},
		{"no-error-to-return", "weave/suitable.go", "	if sig.err == \"\" && (d.rule.OnTimeout == \"\" ||", "	if sig.err == \"\" && (d.rule.OnTimeout == rule.Call ||", "a panic where nobody asked for one"},
		{"no-holder", "weave/suitable.go", "	if (d.rule.Kind == \"\" || d.rule.Kind == rule.Reentrant) && sig", "	if d.rule.Kind == rule.Reentrant && sig", "said to be reentrant, and waits for itself"},
		{"channels-are-kept", "weave/suitable.go", "		case *ast.ChanType, *ast.FuncType:\n", "		case *ast.FuncType:\n", "found when it runs"},
		{"duplicates-are-not-told", "weave/suitable.go", "	if sig.err == \"\" && d.rule.OnDuplicate != rule.Skip {\n", "	if sig.err == \"\" && d.rule.OnDuplicate == guard.Refuse {\n", "a panic where nobody asked for one"},
		{"one-key-for-all", "weave/expr.go", "	if constant {\n", "	if constant && len(list) > 1 {\n", "one lock for all orders (T8)"},
		{"results-as-keys", "weave/expr.go", "			case results[n.Name]:\n", "			case results[n.Name] && n.Name == \"_\":\n", "always the zero value"},
		{"comments-in-keys", "weave/expr.go", "	if at, ok := comment(o.value); ok {\n", "	if at, ok := comment(o.value); ok && at < 0 {\n", "what is woven behind it is a comment, too"},
		{"blocks-are-silent", "weave/directive.go", "	case !line:\n		w.errorf", "	case !line && verb == \"\":\n		w.errorf", "a block comment locks nothing, and nobody says so"},
		{"capitals-are-silent", "weave/directive.go", "!strings.EqualFold(rest[:len(prefix)], prefix) {\n", "rest[:len(prefix)] != prefix {\n", "a capital letter, and there is no lock"},
		{"our-names-taken", "weave/file.go", "strings.HasPrefix(id.Name, \"_il\") {\n", "id.Name == \"_il\" {\n", "a variable of the user's in woven code"},
		{"not-above-a-function", "weave/directive.go", "	if !ok {\n		w.errorf(c.Slash, \"//%s%s is not attached", "	if !ok && owner == nil {\n		return nil\n	}\n	if !ok {\n		w.errorf(c.Slash, \"//%s%s is not attached", "a blank line, and there is no lock"},
	}},
	{"weave.TestEveryMistakeIsToldByTheTool", []mutant{
		{"tool-says-nothing", "weave/compile.go", "		c.errs = append(c.errs, l...)\n", "		_ = l\n", "with -toolexec a mistake is no lock"},
	}},
	{"weave.TestEveryMistakeIsToldByAnOverlay", []mutant{
		{"overlay-says-the-last", "weave/scan.go", "		s.errs = append(s.errs, l...)\n", "		s.errs = l\n", "sixty-seven builds for sixty-seven mistakes"},
	}},
	{"weave.TestMistakesComeInOrder", []mutant{
		{"weave-mistakes-unsorted", "weave/errors.go", "			cmp.Compare(a.Pos.Line, b.Pos.Line),\n", "", "what is wrong with types comes after all that is wrong with words"},
	}},
	{"weave.TestNoLineMoves", []mutant{
		{"import-on-its-own-line", "weave/file.go", "const imported = \";import _il \"", "const imported = \"\\nimport _il \"", "every breakpoint is one line off"},
	}},
	{"weave.TestEveryNameStaysWhereItWas", []mutant{
		{"no-way-back", "weave/splice.go", "s.file.Offset(to), text + s.line(to)})\n", "s.file.Offset(to), text})\n", "the rest of the line is somewhere else"},
		{"home-forgotten", "weave/file.go", "	w.edits = append(w.edits, edit{at, at, text + w.home(end)})\n", "	w.edits = append(w.edits, edit{at, at, text + w.line(end)})\n", "panics in a directory of the cache"},
		{"columns-forgotten", "weave/splice.go", "	return fmt.Sprintf(\"/*line %s:%d:%d*/\", name, p.Line, p.Column)\n", "	return fmt.Sprintf(\"/*line %s:%d:%d*/\", name, p.Line, 1)\n", "the editor goes to the start of the line"},
	}},
	{"weave.TestEveryShapeIsWovenAsWritten", []mutant{
		{"variadics-in-one", "weave/signature.go", "			names[i] += \"...\"\n", "			names[i] += \"\"\n", "call:FUNC gets a list for an element"},
		{"errors-are-kept", "weave/signature.go", "		if i < len(s.results)-1 || s.err == \"\" {\n", "		if i < len(s.results) {\n", "an error is kept as JSON"},
		{"context-by-another-name", "weave/context.go", "			pkg = s.Name.Name\n", "			pkg = path\n", "not found, so the background is taken"},
		{"pointer-forgotten", "weave/signature.go", "			if star {\n", "			if star && t.Name == \"\" {\n", "a name that no stack trace has"},
		{"mapped-name-forgotten", "weave/splice.go", "		name = p.Filename // the one before it may be another\n", "", "positions in a file that was generated"},
		{"lower-is-outer", "weave/function.go", "		text.WriteString(w.statements(d, sig, i, w.site(d, site), later))\n", "		own := w.statements(d, sig, i, w.site(d, site), later) + text.String()\n		text.Reset()\n		text.WriteString(own)\n", "a repeat waits for the lock"},
		{"begins-at-once", "weave/function.go", "		later := d.guards() && i < len(dirs)-1\n", "		later := false\n", "a busy lock below, and that is the result from now on"},
		{"begins-never", "weave/function.go", "	text.WriteString(begun(dirs))\n", "", "nothing is ever kept"},
		{"loss-unheard", "weave/function.go", "	if sig.err != \"\" { // that the lock was lost", "	if sig.err == \"_\" { // that the lock was lost", "two did it, and neither knows"},
	}},
	{"weave.TestFilesOfAPackageShareNoNames", []mutant{
		{"names-collide", "weave/function.go", "			b.WriteString(\"__\")\n", "			b.WriteString(\"_\")\n", "two files do not go into one package"},
	}},
	{"weave.TestScanFindsEveryMistake", []mutant{
		{"testdata-is-woven", "weave/scan.go", "name == \"testdata\" || strings", "name == \"data\" || strings", "what nobody compiles is complained about"},
		{"modules-within", "weave/scan.go", "	return err == nil\n}\n\n// isAside", "	return err != nil && name == \"\"\n}\n\n// isAside", "another module's mistakes"},
		{"marker-not-needed", "weave/file.go", "	w.demand(sites)\n", "", "built without weaving, it runs without its locks"},
		{"tests-not-woven", "weave/scan.go", "	if !m.Main && strings.HasSuffix(file, \"_test.go\") {\n", "	if strings.HasSuffix(file, \"_test.go\") {\n", "tests without locks"},
	}},
	{"weave.TestFilesThatAnOverlayAddsAreWoven", []mutant{
		{"overlay-adds-nothing", "weave/scan.go", "	if err := s.added(list); err != nil {", "	if err := s.added(nil); err != nil {", "what only an overlay has runs without its locks (fails open)"},
	}},
	{"weave.TestWhatIsBuiltOnlyIfNamedIsWoven", []mutant{
		{"mistakes-aside-run", "weave/scan.go", "		w = unread(src)\n", "		return\n", "a mistake in testdata runs without its locks (fails open)"},
	}},
	{"weave.TestAVendoredTreeIsWoven", []mutant{
		{"vendored-needs-marker", "weave/scan.go", "Path: file, Spared: true}", "Path: file}", "nobody can add it there, so nothing is built"},
	}},
	{"weave.TestTheToolDemandsTheMarkerInEachFile", []mutant{
		{"tool-spares-all", "weave/compile.go", "Spared: spared(path, src)}", "Spared: true}", "by its name, a file runs without its locks (fails open)"},
		{"tool-spares-nobody", "weave/compile.go", "Spared: spared(path, src)}", "Spared: theirs(path)}", "cgo in a dependency, and nothing is built"},
		{"marker-taken-for-granted", "weave/compile.go", "	if err != nil || ok {\n		return err\n	}\n	return fmt.Errorf(\"%s:1:1: package", "	if err != nil || ok || true {\n		return err\n	}\n	return fmt.Errorf(\"%s:1:1: package", "the compiler cannot find a package that nobody has named"},
	}},
	{"weave.TestAModuleBehindALinkIsWoven", []mutant{
		{"link-not-followed", "weave/scan.go", "dir+string(filepath.Separator), func", "dir, func", "a module behind a link is not woven"},
	}},
	{"weave.TestAFileOfAnOverlayIsWovenByTheCompiler", []mutant{
		{"files-end-in-go", "weave/compile.go", "!strings.HasPrefix(c.args[i-1], \"-\")", "strings.HasSuffix(c.args[i-1], \".go\")", "what is called otherwise runs without its locks (fails open)"},
	}},
	{"weave.TestWhatOnlyTheCompilerUnderstandsIsNotBuilt", []mutant{
		{"unread-is-compiled", "weave/compile.go", "		c.unread = name\n", "", "what the weaver cannot parse runs without its locks (fails open)"},
	}},
	{"weave.TestArgumentsForGo", []mutant{
		{"version-by-overlay", "weave/gocmd.go", "!strings.Contains(pkg, \"@\")", "!strings.Contains(pkg, \"@@\")", "a program by its version is not woven"},
		{"program-flags-are-ours", "weave/gocmd.go", "		case name == args[i]:\n			return args[:i]\n", "		case name == args[i] && i == len(args):\n			return args[:i]\n", "go run . -cover is not about coverage"},
		{"no-coverage-is-coverage", "weave/gocmd.go", "ok && (name != \"cover\" || v != \"false\")", "ok && (name != \"cover\" || v != \"no\")", "-cover=false covers"},
		{"elsewhere-not-first", "weave/gocmd.go", "	if n, to := changed(rest); n > 0 {", "	if n, to := changed(rest); n > 1 {", "go says that -C must come first"},
		{"arguments-cut", "weave/gocmd.go", "		if args[i] == \"--\" || strings.TrimLeft(args[i], \"-\") == \"args\" {\n", "		if args[i] == \"--\" {\n", "a test does not get its flag"},
		{"paths-with-spaces", "weave/gocmd.go", "	if strings.ContainsAny(path, \" \\t\") {\n", "	if strings.ContainsAny(path, \"\\t\") {\n", "no such tool: /my"},
	}},
	{"weave.TestTheStampIsWhereGoLooksForIt", []mutant{
		{"devel-not-stamped", "weave/tool.go", "fields[2] != \"devel\" {\n", "fields[2] != \"development\" {\n", "woven and unwoven results are taken for each other"},
	}},
}
