// The texts of the page, English beside Chinese. The server sends the texts of cases and
// verdicts in both languages.

const texts = {
  title: ['Interlock demo', 'Interlock 演示'],
  tag: ['demo', '演示'],
  skip: ['Skip to content', '跳到内容'],
  rail: ['Cases', '用例'],
  language: ['Language', '语言'],
  theme: ['Theme', '主题'],
  system: ['System', '跟随系统'],
  light: ['Light', '浅色'],
  dark: ['Dark', '深色'],

  submit: ['Duplicate submission', '防重复提交'],
  once: ['Exactly once', '只发生一次'],
  one: ['One at a time', '一次一个'],
  scenes: ['In a shop', '商店场景'],
  look: ['Look inside', '查看内部'],

  both: ['Run both', '两边都跑'],
  direct: ['Direct (broken)', '直接访问（会出错）'],
  directNote: ['the shop without a gateway', '商店本身'],
  guarded: ['Behind Interlock', '经过 Interlock'],
  guardedNote: ['the same shop, the same requests', '同一个商店，同样的请求'],
  run: ['Run', '运行'],
  running: ['Running…', '运行中…'],
  idle: ['Press a button. The chart shows which requests wait, run and are refused.', '点按钮开始：图上会显示谁在等、谁在内、谁被拒绝。'],
  broken: ['broken', '出错'],
  right: ['correct', '正确'],
  failedRun: ['The run failed: {0}', '没能运行：{0}'],
  events: ['Events, in order ({0})', '按顺序发生了什么（{0}）'],
  checker: ['Messages of the checker', '检查器的原话'],

  waits: ['waits', '等待'],
  inside: ['in the shop', '在内'],
  reads: ['in the shop, reading', '在内（读）'],
  overlap: ['forbidden overlap', '不该同时在内'],
  refused: ['refused', '被拒绝'],
  replayed: ['got the first response', '得到第一次的结果'],
  failed: ['error or no response', '没有正常应答'],
  atOnce: ['in the shop at once', '同时在内'],
  chart: ['{0} requests in {1}: {2} ran, {3} refused, {4} replayed; up to {5} at once', '{1} 内 {0} 个请求：{2} 个执行，{3} 个被拒绝，{4} 个重放；最多 {5} 个同时在内'],

  eventAsk: ['is sent', '发出'],
  eventEnter: ['enters the shop', '进入商店'],
  eventLeave: ['leaves the shop', '离开商店'],
  eventAnswered: ['is answered', '得到应答'],
  eventRefused: ['is refused', '被拒绝'],
  eventReplayed: ['gets the first response', '得到第一次的结果'],
  eventFailed: ['gets an error or no response', '没有得到正常应答'],
  retryIn: ['retry in {0}', '{0} 后重试'],

  how: ['How it works', '怎么做到的'],
  inGo: ['In Go', '用 Go 写'],
  inYAML: ['Or as a rule, without a change to the service', '或者写一条规则，服务无需改动'],
  byHand: ['By hand', '手动试'],
  copy: ['Copy', '复制'],
  copied: ['Copied', '已复制'],

  now: ['Right now', '此刻'],
  locks: ['Locks', '锁'],
  claims: ['Claims', '占用记录'],
  locksAndClaims: ['Locks and claims', '锁与占用'],
  noLocks: ['No locks are held.', '没有人持有锁。'],
  noClaims: ['There are no claims or stored results.', '没有占用或记住的结果。'],
  live: ['Live', '实时'],
  paused: ['Paused', '已暂停'],
  pause: ['Pause', '暂停'],
  resume: ['Resume', '继续'],
  unreachable: ['The admin API is unreachable.', '管理 API 没有应答。'],
  left: ['{0} left', '还剩 {0}'],
  waiters: ['{0} waiting', '{0} 个在等'],
  holders: ['{0} holders', '{0} 个在内'],
  fence: ['fence {0}', '栅栏号 {0}'],
  more: ['and {0} more', '另有 {0} 个'],

  figures: ['Since the start', '启动以来'],
  acquired: ['Locks acquired', '获得的锁'],
  acquiredRest: ['{0} refused · {1} cancelled · {2} failed', '拒绝 {0} · 取消 {1} · 出错 {2}'],
  duplicates: ['Duplicates answered', '应答的重复请求'],
  duplicatesRest: ['{0} replayed · {1} refused', '重放 {0} · 拒绝 {1}'],
  inProcess: ['Answered in process', '本进程内应答'],
  inProcessNote: ['of the duplicates', '占重复请求的比例'],
  p99wait: ['Wait for a lock, p99', '等锁时间 p99'],
  p99hold: ['Time a lock is held, p99', '持锁时间 p99'],
  heldNow: ['Held now', '正在持有'],
  waitingNow: ['Waiting now', '正在等待'],

  exclusive: ['exclusive', '独占'],
  fair: ['fair', '公平'],
  read: ['read', '读'],
  write: ['write', '写'],
  permit: ['permit', '许可'],

  config: ['Configuration', '配置'],
  configAbout: ['This is the gateway’s whole configuration. The shop behind it is unchanged.', '网关知道的就是这些。它后面的商店没有改动。'],

  running_: ['running', '执行中'],
  done: ['done', '已完成'],
  failed_: ['failed', '已失败'],
  unknown: ['unknown', '结果未知'],
  announce: ['{0}, {1}: {2}', '{0}，{1}：{2}'],
  loadError: ['The demo is unreachable. Is it still running?', '连不上演示程序，它还在运行吗？'],
};

let language = document.documentElement.lang.startsWith('zh') ? 'zh' : 'en';
try {
  const kept = localStorage.getItem('interlock.lang');
  if (kept === 'en' || kept === 'zh') language = kept;
} catch { /* storage is disabled */ }

/** current returns en or zh. */
export const current = () => language;

/** speak changes and stores the language. */
export function speak(code) {
  language = code;
  document.documentElement.lang = code === 'zh' ? 'zh-CN' : 'en';
  try { localStorage.setItem('interlock.lang', code); } catch { /* storage is disabled: keep it for this visit */ }
}

/** t formats a text of the page. */
export function t(name, ...args) {
  const forms = texts[name];
  if (!forms) throw new Error(`no text ${name}`);
  return forms[language === 'zh' ? 1 : 0].replace(/\{(\d)\}/g, (_, i) => args[Number(i)]);
}

/** pick returns the current language's form of a bilingual text. */
export const pick = (both) => both[language];

/** all is for the tests. */
export const all = texts;
