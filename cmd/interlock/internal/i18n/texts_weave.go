package i18n

// The texts of the commands for directives.
var (
	AboutGo     = Text{"run the go command, with directives woven in", "运行 go 命令，并织入指令"}
	AboutGoLong = Text{
		`Go runs the go command with //interlock: directives woven into what it builds:
build, test, run, install and list. Other commands are passed through unchanged.
Without weaving, a program with directives does not start.`,
		`go 运行 go 命令，并把 //interlock: 指令织入所构建的代码：
build、test、run、install 和 list。其他命令原样转交。
没有织入指令的程序拒绝启动。`,
	}
	AboutOverlay     = Text{"print the path of a new file for go build -overlay", "生成 go build -overlay 用的文件并打印路径"}
	AboutOverlayLong = Text{
		`Overlay weaves the packages of a build in this directory, and prints the path of a
file for -overlay of the go command. The file is valid for one build only.`,
		`overlay 织入当前构建所用的代码，打印供 go 命令 -overlay 使用的文件路径。
该文件只对一次构建有效：每次都要重新生成。`,
	}
	AboutLint     = Text{"check directives, and how locks and guards are used", "检查指令，以及锁和防重的用法"}
	AboutLintLong = Text{
		`Lint checks the directives of a build in this directory. In the named packages, or in
the whole module, it reports locked code that uses an outer context, holds that are
never unlocked, keys without an identifier, and results that outlive their context.`,
		`lint 检查当前构建所含的指令；并在给出的包（缺省为整个模块）中查找：
在锁内使用外层 context、从不解锁、键中没有标识、返回值比它的 context 活得久。`,
	}
	AboutShow   = Text{"print a file as the compiler sees it", "打印编译器看到的文件内容"}
	AboutVerify = Text{"list the directives woven into a binary", "列出程序中织入的指令"}
	AboutEject  = Text{"replace the directives of a file by code", "把指令展开成代码，写回文件"}
	AboutWeave  = Text{"run a Go tool for go build -toolexec", "供 go -toolexec 使用"}
	AboutShim   = Text{"run the cover tool for go build -toolexec", "供 go -toolexec 在统计覆盖率时使用"}

	LintPassed    = Text{"directives: %d, mistakes: none", "指令：%d 条，没有错误"}
	NotWoven      = Text{"no directives are woven into %s", "%s 中没有织入任何指令"}
	WeaveHint     = Text{"build it with: interlock go build", "请用 interlock go build 构建"}
	GoArgsMissing = Text{"the arguments of go are missing, as in: interlock go test ./...", "要 go 做什么？例如：interlock go test ./..."}
	FileMissing   = Text{"the file is missing", "缺少文件名"}
)
