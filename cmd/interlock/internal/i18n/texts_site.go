package i18n

// The texts that interlock demo prints in the terminal about its page.
var (
	FlagListen = Text{
		"loopback address of the page; port 0: any free port",
		"页面的地址，只能是回环地址，端口 0 表示任选",
	}
	FlagNoPage = Text{"print the charts and exit, without the page", "只在终端显示图，然后结束"}
	FlagFor    = Text{"stop the page after this time", "页面开这么久后自动结束"}
	FlagPrint  = Text{
		"only print the configuration of the page's gateway",
		"只打印页面所用网关的配置",
	}

	SiteOpen    = Text{"now try it yourself", "接下来自己试"}
	SitePage    = Text{"page", "页面"}
	SiteDirect  = Text{"shop, directly", "直接访问商店"}
	SiteGuarded = Text{"behind Interlock", "经过 Interlock"}
	SiteBroken  = Text{"breaks under concurrent requests", "几个人同时用就会出错"}
	SiteRight   = Text{"the same shop, correct", "同一个商店，却是对的"}
	SiteMetrics = Text{"metrics", "指标"}

	SitePrometheus = Text{"for Prometheus", "供 Prometheus 抓取"}

	SiteClicks = Text{
		"# click \"pay\" five times, directly: five charges",
		"# 连点五次“支付”，直接访问：扣款五次",
	}
	SiteOnce = Text{
		"# the same behind Interlock: one charge; repeats get 409 or the same receipt",
		"# 同样五次，经过 Interlock：只扣一次，重复的会被告知（409，或同一张收据）",
	}
	SiteState   = Text{"# the damage so far", "# 到目前为止的损失"}
	SiteHundred = Text{
		"# a window of two seconds: the second request is refused, with the time to wait",
		"# 两秒窗口：第二次被拒绝，并得知还要等多久",
	}
	SiteLocks = Text{"# the locks held now", "# 现在谁持有什么"}
	SiteRules = Text{"# the rules of the gateway", "# 起作用的就是这些规则"}
	SiteEnd   = Text{"Ctrl-C stops it", "按 Ctrl-C 结束"}
	SiteFor   = Text{"it stops after %s; Ctrl-C stops it at once", "%s 后自动结束，按 Ctrl-C 立即结束"}

	PortTaken = Text{"cannot listen on %s: %v", "无法监听 %s：%v"}
	PortHint  = Text{
		"use another port, --listen 127.0.0.1:0 for any free port, or --no-page",
		"用 --listen 127.0.0.1:0 任选空闲端口，或换一个端口，或用 --no-page",
	}
	NotLoopback = Text{
		"a loopback address such as 127.0.0.1:7070; the demo has no authentication",
		"回环地址，例如 127.0.0.1:7070：demo 没有密码",
	}
	AnAddress = Text{"an address such as %s", "地址，例如 %s"}
	NotBoth   = Text{"--%s and --%s cannot be combined", "--%s 和 --%s 不能一起用"}
)
