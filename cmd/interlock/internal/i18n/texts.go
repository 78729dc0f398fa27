package i18n

// All texts of the command, English beside Chinese. A test checks that no form is
// missing and that both take the same arguments.

// The demo.
var (
	Intro = Text{
		"%d goroutines click one counter:\neach reads it, works for %s, and writes back value + 1.",
		"%d 个 goroutine 同时点击一个计数器：\n各自读出来，干 %s 的活，再加一写回去。",
	}
	IntroOne = Text{
		"one goroutine clicks a counter:\nit reads it, works for %s, and writes back value + 1.",
		"1 个 goroutine 点击一个计数器：\n读出来，干 %s 的活，再加一写回去。",
	}
	Unlocked = Text{"without a lock", "不加锁"}
	Locked   = Text{"with a lock, on %s", "加锁：%s"}
	Embedded = Text{"the embedded engine", "内嵌引擎"}
	OnEngine = Text{"%s at %s", "%s %s"}

	Legend = Text{
		"· waits   █ holds   %d goroutines per row, in order of grant",
		"· 等待   █ 持有   每行 %d 个 goroutine，按拿到锁的先后",
	}
	LegendOne = Text{
		"· waits   █ holds   one goroutine per row, in order of grant",
		"· 等待   █ 持有   每行一个 goroutine，按拿到锁的先后",
	}

	Counter      = Text{"counter", "计数器"}
	CounterRight = Text{"%d of %d clicks", "点击 %[2]d 次，得 %[1]d"}
	CounterShort = Text{"%d of %d clicks: %d lost", "点击 %[2]d 次，得 %[1]d：丢了 %[3]d 次"}
	AtOnce       = Text{"at once", "同时在内"}
	AtOnceMost   = Text{"up to %d goroutines inside", "最多 %d 个"}
	Held         = Text{"held", "持有"}
	HeldOf       = Text{"%d of %d requests acquired the lock", "%[2]d 个请求，%[1]d 个拿到了锁"}
	Lost         = Text{"lost", "丢失"}
	LostLocks    = Text{"locks lost before their release: %d", "%d 把锁没等释放就失效了"}
	Overlaps     = Text{"overlaps", "重叠"}
	OverlapsNone = Text{"0: never two holders at once", "0，任何时刻最多一个持有者"}
	OverlapsSome = Text{"%d times there were two holders at once", "%d 次有两个同时在内"}
	Fences       = Text{"fences", "栅栏号"}
	FencesRise   = Text{"rise with every grant", "每次授予都递增"}
	FencesFell   = Text{"%d times a fence did not rise", "%d 次没有递增"}
	Waits        = Text{"waits", "等待"}
	WaitsFigures = Text{"median %s, longest %s", "一半在 %s 以内，最长 %s"}
	Engine       = Text{"engine", "引擎"}
	EngineAsked  = Text{
		"granted %d; %d more were handed over in process",
		"授予 %d 次，另有 %d 次在进程内直接交接",
	}

	Passed = Text{"verdict: one holder at a time", "结论：一次只有一个"}
	Broken = Text{"verdict: NOT one holder at a time", "结论：没有做到一次只有一个"}

	Ordered      = Text{"one order, submitted %d times, on %s", "同一笔订单，同时提交 %d 次：%s"}
	CheckFirst   = Text{"check first", "先查再下单"}
	WithGuard    = Text{"with a guard", "用 guard"}
	OrdersPlaced = Text{"orders placed: %d", "下单 %d 笔"}
	Answered     = Text{"answered", "应答"}
	AnsweredSame = Text{"%d of %d submissions got that order", "%[2]d 次提交，%[1]d 次得到这笔订单"}
	EngineClaims = Text{"claimed %d; %d more were coalesced in process", "申请 %d 次，另有 %d 次在进程内直接应答"}
	OncePassed   = Text{"verdict: placed once", "结论：只发生了一次"}
	OnceBroken   = Text{"verdict: NOT placed once", "结论：没有做到只发生一次"}

	TakesLong = Text{"this takes about %s; Ctrl-C stops it", "大约需要 %s，按 Ctrl-C 可随时结束"}
	TryEngine = Text{
		"to run it on a server: interlock demo --engine redis://localhost:6379 (or a postgres, mysql, etcd or zk URL)",
		"在服务器上再来一遍：interlock demo --engine redis://localhost:6379（也可用 postgres、mysql、etcd、zk 的地址）",
	}
)

// Help.
var (
	Usage    = Text{"Usage:", "用法："}
	Commands = Text{"Commands:", "命令："}
	Flags    = Text{"Flags:", "选项："}
	Examples = Text{"Examples:", "示例："}
	Default  = Text{" (default %s)", "（默认 %s）"}
	More     = Text{
		"Run \"interlock help COMMAND\" for more about a command.",
		"“interlock help 命令”查看某个命令的说明。",
	}
	ExitCodes = Text{
		"Exit codes: 0 ok, 1 error, 2 usage, 3 lock not acquired in time, 4 lock lost,\n5 engine unreachable, 6 verdict or threshold failed, 130 interrupted.",
		"退出码：0 成功，1 出错，2 用法错误，3 没等到锁，4 锁丢失，5 连不上引擎，\n6 结论或条件不成立，130 被中断。",
	}

	About = Text{
		"Interlock makes an operation run once, and one at a time, however many processes try.",
		"Interlock 让一个操作只发生一次、同一时刻只有一个在执行，无论有多少进程同时来抢。",
	}
	AboutDemo = Text{
		"watch a hundred goroutines take turns on one lock, then try it in a browser",
		"看一百个 goroutine 轮流持有一把锁，再到页面上自己试",
	}
	AboutDemoLong = Text{
		`Demo runs many goroutines that click one counter: first without a lock, then
with a lock on the embedded engine, and then on another engine if --engine is set. Charts
show when each goroutine waited and held the lock. The verdict comes from the
checker of the tests. Then it submits one order many times at once, without and
with a guard.

Finally it serves a page until Ctrl-C. The page calls a shop whose handlers race,
directly and behind Interlock, with a button for each case. The output contains
curl commands to copy. /metrics of the page is for Prometheus. --no-page skips the
page.`,
		`demo 让许多 goroutine 同时点击一个计数器：先不加锁，再用内嵌引擎加锁，
给了 --engine 的话再用那个引擎加锁。图上能看到谁在等、谁持有；
结论由测试所用的同一个检查器给出。接着把同一笔订单同时提交同样多次，先不用 guard，再用 guard。

然后打开一个页面，直到按 Ctrl-C：一个直接访问会出错、经过 Interlock 就正确的商店，
每个用例一个按钮；也会打印可以直接输入的命令。
指标在同一地址的 /metrics。--no-page 则不开页面。`,
	}
	AboutVersion = Text{"print version and build information", "显示版本"}
	AboutHelp    = Text{"show the help of a command", "查看命令说明"}

	FlagN          = Text{"number of goroutines, from 1 to %d", "goroutine 数量，1 到 %d"}
	FlagHold       = Text{"how long each goroutine works", "每个 goroutine 干活的时间"}
	FlagKey        = Text{"key of the lock", "锁的 key"}
	FlagDemoEngine = Text{
		"also run on the engine at this URL; default: INTERLOCK_ENGINE_URL",
		"再跑一遍所用的引擎地址，也可用 INTERLOCK_ENGINE_URL",
	}
	FlagLang  = Text{"en or zh; default: the locale's language", "en 或 zh，默认随系统语言"}
	FlagColor = Text{"auto, always or never", "auto、always 或 never"}
	FlagHelp  = Text{"show the help of the command", "查看说明"}
)

// The switch between two engines.
var (
	AboutSwitch = Text{
		"switch all processes between a primary and a standby",
		"在两个引擎之间切换所有进程，或查看当前以哪个为准",
	}
	AboutSwitchLong = Text{
		`Switch makes all processes that use a primary and a standby (package standby)
continue on the other side. A freeze follows: nothing is granted until all earlier
grants have expired, so that no lock has two holders. Switch refuses if a side is
unreachable. With --force it switches all the same; then a process that still
reaches that side may acquire locks there.`,
		`switch 让把两个引擎当作一个来用（standby 包）的所有进程改用另一个。
切换后要等之前授予的全部到期才会再授予，因此不会有两个持有者。
有一侧通知不到就拒绝切换；强制切换时，仍能连上那一侧的进程可能还会在那里拿到锁。`,
	}
	FlagPrimary = Text{"URL of the primary", "主引擎的地址"}
	FlagStandby = Text{"URL of the standby", "备用引擎的地址"}
	FlagTo      = Text{
		"primary, standby, or local (each process alone, without a shared engine)",
		"primary、standby 或 local（各进程各管各的）",
	}
	FlagForce  = Text{"switch even if a side is unreachable", "有一侧通知不到也切换"}
	FlagStatus = Text{"only show which side is active", "只查看当前以哪一侧为准"}

	Switched        = Text{"switched to %v (epoch %d)", "已切换到 %v（第 %d 次）"}
	SwitchedAlready = Text{"the %v is already active (epoch %d)", "当前已经以 %v 为准（第 %d 次）"}
	RecordedOn      = Text{"recorded on: %v", "已通知：%v"}
	NotRecordedOn   = Text{"not recorded on: %v: %v", "未通知：%v：%v"}
	ActiveSide      = Text{"the %v is active (epoch %d)", "当前以 %v 为准（第 %d 次）"}
	NotUsed         = Text{"no process has used these two engines as a standby pair yet", "还没有进程把这两个当作一个来用"}
	SwitchedAt      = Text{"switched at %s by %s", "切换于 %s，操作者 %s"}
	SideUnreachable = Text{"the %v is unreachable: %v", "连不上 %v：%v"}
	DegradedLocal   = Text{
		"degraded: each process uses its own locks, and they do not exclude each other",
		"已降级：各进程各有各的锁，进程之间互不排斥",
	}
	FrozenUntil = Text{
		"freeze: nothing is granted until %s, for another %v",
		"%s 之前不授予任何锁，还有 %v",
	}

	Missing           = Text{"%s is missing", "缺少 %s"}
	ToOrStatus        = Text{"set either --to or --status", "请给出 --to 哪一侧，或 --status"}
	SwitchUnreachable = Text{"the switch cannot be recorded on the %v: %v", "通知不到 %v：%v"}
	NotSwitchedHint   = Text{
		"nothing was switched: processes that still reach it would acquire locks there. Make sure that none does, and use --force",
		"没有切换：仍能连上它的进程会继续在那里拿到锁。确认没有进程能连上它之后，用 --force",
	}
	SwitchedPartlyHint = Text{
		"the switch took effect: the first process that reaches that side records it there",
		"切换已生效：第一个连上那一侧的进程会通知它",
	}
)

// Errors and hints.
var (
	UnknownCommand = Text{"unknown command %q", "没有命令 %q"}
	UnknownFlag    = Text{"unknown flag %s", "没有选项 %s"}
	NeedsValue     = Text{"--%s needs a value", "--%s 缺少值"}
	BadValue       = Text{"--%s: %q is not %s", "--%s：%q 不行，应为%s"}
	ANumber        = Text{"a whole number", "整数"}
	ADuration      = Text{"a duration such as 3ms or 1s", "时长，例如 3ms、1s"}
	AValue         = Text{"a valid value", "合适的值"}
	OneOf          = Text{"one of %s", "以下之一：%s"}
	FromTo         = Text{"between %s and %s", " %s 到 %s 之间的值"}
	ExtraArgument  = Text{"unexpected argument %q", "多了一个参数 %q"}
	DidYouMean     = Text{"did you mean %s?", "是不是想输入 %s？"}
	SeeHelp        = Text{"see: %s --help", "查看用法：%s --help"}

	Unreachable     = Text{"the engine is unreachable: %v", "连不上引擎：%v"}
	UnreachableHint = Text{
		"start its server, correct %s, or omit it: the embedded engine needs no server",
		"启动它的服务器，或改正 %s，或干脆不给：内嵌引擎不需要服务器",
	}
	Interrupted     = Text{"interrupted; all locks were released", "已中断，所有的锁都已归还"}
	InterruptedLeft = Text{
		"interrupted; locks that were not released and expire within 30 s: %d",
		"已中断，%d 把锁未能归还，将在 30 秒内自行到期",
	}
	VerdictFailed = Text{"the verdict failed", "结论不成立"}
)
