package i18n

// What the demo says about its page.
var (
	FlagListen = Text{
		"where the page is; on loopback, port 0 for any",
		"页面的地址，只能是回环地址，端口 0 表示任选",
	}
	FlagNoPage = Text{"only the pictures in the terminal, then end", "只在终端显示图，然后结束"}
	FlagFor    = Text{"end the page after this time", "页面开这么久后自动结束"}
	FlagPrint  = Text{
		"only print the configuration of the page's gateway",
		"只打印页面所用网关的配置",
	}

	SiteOpen    = Text{"and now by yourself", "接下来自己试"}
	SitePage    = Text{"page", "页面"}
	SiteDirect  = Text{"shop, directly", "直接访问商店"}
	SiteGuarded = Text{"behind Interlock", "经过 Interlock"}
	SiteBroken  = Text{"broken when several use it at once", "几个人同时用就会出错"}
	SiteRight   = Text{"the same shop, and right", "同一个商店，却是对的"}
	SiteClicks  = Text{
		"# \"pay\" clicked five times, directly: the money is taken five times",
		"# 连点五次“支付”，直接访问：扣款五次",
	}
	SiteOnce = Text{
		"# the same behind Interlock: it is taken once, and repeats are told so (409, or the same receipt)",
		"# 同样五次，经过 Interlock：只扣一次，重复的会被告知（409，或同一张收据）",
	}
	SiteState   = Text{"# the damage so far", "# 到目前为止的损失"}
	SiteHundred = Text{
		"# a window of two seconds: the second one is refused, and learns how long to wait",
		"# 两秒窗口：第二次被拒绝，并得知还要等多久",
	}
	SiteLocks = Text{"# who holds what now", "# 现在谁持有什么"}
	SiteRules = Text{"# the rules that make the difference", "# 起作用的就是这些规则"}
	SiteEnd   = Text{"Ctrl-C ends it", "按 Ctrl-C 结束"}
	SiteFor   = Text{"it ends by itself after %s; Ctrl-C ends it at once", "%s 后自动结束，按 Ctrl-C 立即结束"}

	PortTaken = Text{"nobody can listen on %s: %v", "无法监听 %s：%v"}
	PortHint  = Text{
		"use --listen 127.0.0.1:0 for any free port, another port, or --no-page",
		"用 --listen 127.0.0.1:0 任选空闲端口，或换一个端口，或用 --no-page",
	}
	NotLoopback = Text{
		"a loopback address such as 127.0.0.1:7070: the demo has no passwords",
		"回环地址，例如 127.0.0.1:7070：demo 没有密码",
	}
	AnAddress = Text{"an address such as %s", "地址，例如 %s"}
	NotBoth   = Text{"--%s and --%s do not go together", "--%s 和 --%s 不能一起用"}
)
