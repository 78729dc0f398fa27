package i18n

// Everything the command says, English beside Chinese. A test makes sure that
// no form is missing and that both take the same arguments.

// The demo.
var (
	Intro = Text{
		"%d goroutines click on one counter:\neach reads it, works for %s, and writes it back plus one.",
		"%d 个 goroutine 同时点击一个计数器：\n各自读出来，干 %s 的活，再加一写回去。",
	}
	IntroOne = Text{
		"one goroutine clicks on a counter:\nit reads it, works for %s, and writes it back plus one.",
		"1 个 goroutine 点击一个计数器：\n读出来，干 %s 的活，再加一写回去。",
	}
	Unlocked = Text{"without a lock", "不加锁"}
	Locked   = Text{"with a lock, on %s", "加锁：%s"}
	Embedded = Text{"the embedded engine", "内嵌引擎"}
	OnRedis  = Text{"Redis at %s", "Redis %s"}

	Legend = Text{
		"· waits   █ holds   %d goroutines a row, in order of grant",
		"· 等待   █ 持有   每行 %d 个 goroutine，按拿到锁的先后",
	}
	LegendOne = Text{
		"· waits   █ holds   one goroutine a row, in order of grant",
		"· 等待   █ 持有   每行一个 goroutine，按拿到锁的先后",
	}

	Counter      = Text{"counter", "计数器"}
	CounterRight = Text{"%d of %d clicks", "点击 %[2]d 次，得 %[1]d"}
	CounterShort = Text{"%d of %d clicks: %d lost", "点击 %[2]d 次，得 %[1]d：丢了 %[3]d 次"}
	AtOnce       = Text{"at once", "同时在内"}
	AtOnceMost   = Text{"up to %d inside", "最多 %d 个"}
	Held         = Text{"held", "持有"}
	HeldOf       = Text{"%d of %d who asked", "%[2]d 个请求，%[1]d 个拿到了锁"}
	Lost         = Text{"lost", "丢失"}
	LostLocks    = Text{"locks that ended before they were given up: %d", "%d 把锁没等释放就失效了"}
	Overlaps     = Text{"overlaps", "重叠"}
	OverlapsNone = Text{"0: never two inside at once", "0，任何时刻最多一个持有者"}
	OverlapsSome = Text{"%d times two were inside at once", "%d 次有两个同时在内"}
	Fences       = Text{"fences", "栅栏号"}
	FencesRise   = Text{"rising with every grant", "每次授予都递增"}
	FencesFell   = Text{"%d times one did not rise", "%d 次没有递增"}
	Waits        = Text{"waits", "等待"}
	WaitsFigures = Text{"half within %s, the longest %s", "一半在 %s 以内，最长 %s"}
	Engine       = Text{"engine", "引擎"}
	EngineAsked  = Text{
		"granted %d; %d were handed over in process",
		"授予 %d 次，另有 %d 次在进程内直接交接",
	}

	Passed = Text{"verdict: one at a time", "结论：一次只有一个"}
	Broken = Text{"verdict: NOT one at a time", "结论：没有做到一次只有一个"}

	Ordered      = Text{"one order, submitted %d times, on %s", "同一笔订单，同时提交 %d 次：%s"}
	LookedFirst  = Text{"look first", "先查再下单"}
	WithGuard    = Text{"with a guard", "用 guard"}
	OrdersPlaced = Text{"orders placed: %d", "下单 %d 笔"}
	Answered     = Text{"answered", "应答"}
	AnsweredSame = Text{"%d of %d got that order", "%[2]d 次提交，%[1]d 次得到这笔订单"}
	EngineClaims = Text{"claimed %d; %d were answered in process", "申请 %d 次，另有 %d 次在进程内直接应答"}
	OncePassed   = Text{"verdict: it happened once", "结论：只发生了一次"}
	OnceBroken   = Text{"verdict: it did NOT happen once", "结论：没有做到只发生一次"}

	Long     = Text{"this takes about %s; Ctrl-C ends it", "大约需要 %s，按 Ctrl-C 可随时结束"}
	TryRedis = Text{
		"the same on Redis: interlock demo --redis redis://localhost:6379",
		"在 Redis 上再来一遍：interlock demo --redis redis://localhost:6379",
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
		"\"interlock help COMMAND\" explains a command.",
		"“interlock help 命令”查看某个命令的说明。",
	}
	ExitCodes = Text{
		"Exit codes: 0 ok, 1 error, 2 usage, 3 lock not acquired in time, 4 lock lost,\n5 engine unreachable, 6 verdict or threshold failed, 130 interrupted.",
		"退出码：0 成功，1 出错，2 用法错误，3 没等到锁，4 锁丢失，5 连不上引擎，\n6 结论或条件不成立，130 被中断。",
	}

	About = Text{
		"Interlock makes an operation happen once, and one at a time, however many processes try.",
		"Interlock 让一个操作只发生一次、同一时刻只有一个在执行，无论有多少进程同时来抢。",
	}
	AboutDemo = Text{
		"watch a hundred goroutines take turns on one lock, and try it on a page",
		"看一百个 goroutine 轮流持有一把锁，再到页面上自己试",
	}
	AboutDemoLong = Text{
		`Demo lets many goroutines click on one counter: first without a lock, then with
one on the embedded engine, and then on Redis if it is given one. Pictures show
who waited and who held. The verdict is that of the checker the tests use. Then
one order is submitted as many times at once, with a guard and without.

Then it serves a page until Ctrl-C: a shop that is broken when it is called
directly and right behind Interlock, and a button for each case. Lines to type
are printed, too. --no-page leaves that out.`,
		`demo 让许多 goroutine 同时点击一个计数器：先不加锁，再用内嵌引擎加锁，
给了 Redis 的话再用 Redis 加锁。图上能看到谁在等、谁持有；
结论由测试所用的同一个检查器给出。接着把同一笔订单同时提交同样多次，先不用 guard，再用 guard。

然后打开一个页面，直到按 Ctrl-C：一个直接访问会出错、经过 Interlock 就正确的商店，
每个用例一个按钮；也会打印可以直接输入的命令。--no-page 则不开页面。`,
	}
	AboutVersion = Text{"print the version", "显示版本"}
	AboutHelp    = Text{"explain a command", "查看命令说明"}

	FlagN     = Text{"how many goroutines, from 1 to %d", "goroutine 数量，1 到 %d"}
	FlagHold  = Text{"how long each one works", "每个 goroutine 干活的时间"}
	FlagKey   = Text{"the key of the lock", "锁的 key"}
	FlagRedis = Text{
		"a Redis to do the same on, or INTERLOCK_REDIS_URL",
		"再跑一遍所用的 Redis，也可用 INTERLOCK_REDIS_URL",
	}
	FlagLang  = Text{"en or zh; by default that of the locale", "en 或 zh，默认随系统语言"}
	FlagColor = Text{"auto, always or never", "auto、always 或 never"}
	FlagHelp  = Text{"explain the command", "查看说明"}
)

// The switch between two engines.
var (
	AboutSwitch = Text{
		"switch all processes between two engines, or look which one counts",
		"在两个引擎之间切换所有进程，或查看当前以哪个为准",
	}
	AboutSwitchLong = Text{
		`Switch lets all processes that use two engines as one (package standby) go on with
the other one. After it nobody is granted anything until what was granted before is
over, so that no two hold one lock. It refuses if a side cannot be told, unless it is
forced: then who still reaches that side may be granted locks there.`,
		`switch 让把两个引擎当作一个来用（standby 包）的所有进程改用另一个。
切换后要等之前授予的全部到期才会再授予，因此不会有两个持有者。
有一侧通知不到就拒绝切换；强制切换时，仍能连上那一侧的进程可能还会在那里拿到锁。`,
	}
	FlagPrimary = Text{"the primary, a Redis", "主引擎，一个 Redis"}
	FlagStandby = Text{"the standby, another Redis", "备用引擎，另一个 Redis"}
	FlagTo      = Text{
		"primary, standby, or local: every process by itself",
		"primary、standby 或 local（各进程各管各的）",
	}
	FlagForce  = Text{"switch even if a side cannot be told", "有一侧通知不到也切换"}
	FlagStatus = Text{"only say which side counts", "只查看当前以哪一侧为准"}

	Switched       = Text{"switched to %v (epoch %d)", "已切换到 %v（第 %d 次）"}
	SwitchedBefore = Text{"the %v counts already (epoch %d)", "当前已经以 %v 为准（第 %d 次）"}
	Told           = Text{"told: %v", "已通知：%v"}
	NotTold        = Text{"not told: %v: %v", "未通知：%v：%v"}
	Counts         = Text{"the %v counts (epoch %d)", "当前以 %v 为准（第 %d 次）"}
	NotUsed        = Text{"nobody has used these two as one yet", "还没有进程把这两个当作一个来用"}
	SwitchedAt     = Text{"switched at %s by %s", "切换于 %s，操作者 %s"}
	SideAway       = Text{"the %v cannot be reached: %v", "连不上 %v：%v"}
	EachAlone      = Text{
		"degraded: every process has locks of its own, and nobody keeps those of two apart",
		"已降级：各进程各有各的锁，进程之间互不排斥",
	}
	QuietUntil = Text{
		"nothing is granted until %s, for another %v",
		"%s 之前不授予任何锁，还有 %v",
	}

	Lacking    = Text{"%s is missing", "缺少 %s"}
	ToOrStatus = Text{"say --to a side, or --status", "请给出 --to 哪一侧，或 --status"}
	Untold     = Text{"the %v cannot be told: %v", "通知不到 %v：%v"}
	UntoldHint = Text{
		"nothing was switched: who still reaches it would be granted locks there. Make sure that nobody does, and use --force",
		"没有切换：仍能连上它的进程会继续在那里拿到锁。确认没有进程能连上它之后，用 --force",
	}
	UntoldDoneHint = Text{
		"it was switched all the same: the first process that reaches that side tells it",
		"切换已生效：第一个连上那一侧的进程会通知它",
	}
)

// What goes wrong, and what to do about it.
var (
	UnknownCommand = Text{"there is no command %q", "没有命令 %q"}
	UnknownFlag    = Text{"there is no flag %s", "没有选项 %s"}
	NeedsValue     = Text{"--%s needs a value", "--%s 缺少值"}
	BadValue       = Text{"--%s: %q is not %s", "--%s：%q 不行，应为%s"}
	ANumber        = Text{"a whole number", "整数"}
	ADuration      = Text{"a duration such as 3ms or 1s", "时长，例如 3ms、1s"}
	AValue         = Text{"a value for it", "合适的值"}
	OneOf          = Text{"one of %s", "以下之一：%s"}
	FromTo         = Text{"from %s to %s", " %s 到 %s 之间的值"}
	Superfluous    = Text{"%q is one argument too many", "多了一个参数 %q"}
	DidYouMean     = Text{"did you mean %s?", "是不是想输入 %s？"}
	SeeHelp        = Text{"see: %s --help", "查看用法：%s --help"}

	Unreachable     = Text{"Redis cannot be reached: %v", "连不上 Redis：%v"}
	UnreachableHint = Text{
		"start one (redis-server), correct %s, or leave it out: the embedded engine needs no server",
		"启动一个（redis-server），或改正 %s，或干脆不给：内嵌引擎不需要服务器",
	}
	Interrupted     = Text{"interrupted; every lock was given back", "已中断，所有的锁都已归还"}
	InterruptedLeft = Text{
		"interrupted; locks that could not be given back, and run out within 30 s: %d",
		"已中断，%d 把锁未能归还，将在 30 秒内自行到期",
	}
	VerdictFailed = Text{"the verdict failed", "结论不成立"}
)
