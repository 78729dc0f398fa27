// Everything the page says by itself, English beside Chinese. What cases are called
// and how they ended comes from the server, in both.

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

  seeds: ['Duplicate submission', '防重复提交'],
  once: ['Exactly once', '只发生一次'],
  one: ['One at a time', '一次一个'],
  scenes: ['Scenes of a shop', '商店场景'],
  look: ['Look inside', '查看内部'],

  both: ['Run both', '两边都跑'],
  direct: ['Direct (broken)', '直接访问（会出错）'],
  directNote: ['the shop as it is', '商店本身'],
  guarded: ['Behind Interlock', '经过 Interlock'],
  guardedNote: ['the same shop, the same requests', '同一个商店，同样的请求'],
  run: ['Run', '运行'],
  running: ['Running…', '运行中…'],
  idle: ['Press a button: the picture shows who waited, who was inside and who was refused.', '点按钮开始：图上会显示谁在等、谁在内、谁被拒绝。'],
  broken: ['broken', '出错'],
  right: ['right', '正确'],
  failedRun: ['It could not be run: {0}', '没能运行：{0}'],
  events: ['What happened, in order ({0})', '按顺序发生了什么（{0}）'],
  checker: ['What the checker says', '检查器的原话'],

  waits: ['waits', '等待'],
  inside: ['inside', '在内'],
  reads: ['inside, reading', '在内（读）'],
  overlap: ['two inside who should not be', '不该同时在内'],
  refused: ['refused', '被拒绝'],
  replayed: ['got the first answer', '得到第一次的结果'],
  failed: ['no proper answer', '没有正常应答'],
  atOnce: ['inside at once', '同时在内'],
  picture: ['{0} requests in {1}: {2} ran, {3} refused, {4} replayed; up to {5} inside at once', '{1} 内 {0} 个请求：{2} 个执行，{3} 个被拒绝，{4} 个重放；最多 {5} 个同时在内'],

  eventAsk: ['is sent', '发出'],
  eventEnter: ['enters the shop', '进入商店'],
  eventLeave: ['leaves the shop', '离开商店'],
  eventAnswered: ['is answered', '得到应答'],
  eventRefused: ['is refused', '被拒绝'],
  eventReplayed: ['gets the first answer', '得到第一次的结果'],
  eventFailed: ['gets no proper answer', '没有得到正常应答'],
  comeBack: ['come back in {0}', '{0} 后重试'],

  how: ['How it is done', '怎么做到的'],
  inGo: ['In Go', '用 Go 写'],
  inYAML: ['Or as a rule, with no change to the service', '或者写一条规则，服务无需改动'],
  byHand: ['By hand', '手动试'],
  copy: ['Copy', '复制'],
  copied: ['Copied', '已复制'],

  now: ['Right now', '此刻'],
  locks: ['Locks', '锁'],
  claims: ['Claims', '占用记录'],
  locksAndClaims: ['Locks and claims', '锁与占用'],
  noLocks: ['Nobody holds anything.', '没有人持有锁。'],
  noClaims: ['Nothing is claimed or remembered.', '没有占用或记住的结果。'],
  live: ['Live', '实时'],
  paused: ['Paused', '已暂停'],
  pause: ['Pause', '暂停'],
  resume: ['Resume', '继续'],
  away: ['The admin API does not answer.', '管理 API 没有应答。'],
  left: ['{0} left', '还剩 {0}'],
  waiters: ['{0} waiting', '{0} 个在等'],
  holders: ['{0} inside', '{0} 个在内'],
  fence: ['fence {0}', '栅栏号 {0}'],
  more: ['and {0} more', '另有 {0} 个'],

  exclusive: ['exclusive', '独占'],
  fair: ['fair', '公平'],
  read: ['read', '读'],
  write: ['write', '写'],
  permit: ['permit', '许可'],

  config: ['Configuration', '配置'],
  configAbout: ['This is all the gateway was told. The shop behind it was not changed.', '网关知道的就是这些。它后面的商店没有改动。'],

  running_: ['running', '执行中'],
  done: ['done', '已完成'],
  failed_: ['failed', '已失败'],
  unknown: ['unknown', '结果未知'],
  announce: ['{0}, {1}: {2}', '{0}，{1}：{2}'],
  loadError: ['The demo cannot be reached. Is it still running?', '连不上演示程序，它还在运行吗？'],
};

let language = document.documentElement.lang.startsWith('zh') ? 'zh' : 'en';
try {
  const kept = localStorage.getItem('interlock.lang');
  if (kept === 'en' || kept === 'zh') language = kept;
} catch { /* a browser that keeps nothing */ }

/** current returns en or zh. */
export const current = () => language;

/** speak changes the language, and remembers it. */
export function speak(code) {
  language = code;
  document.documentElement.lang = code === 'zh' ? 'zh-CN' : 'en';
  try { localStorage.setItem('interlock.lang', code); } catch { /* for this visit only */ }
}

/** t returns a text of the page with arguments put in. */
export function t(name, ...args) {
  const forms = texts[name];
  if (!forms) throw new Error(`no text ${name}`);
  return forms[language === 'zh' ? 1 : 0].replace(/\{(\d)\}/g, (_, i) => args[Number(i)]);
}

/** pick returns the form of a text that came in both languages. */
export const pick = (both) => both[language];

/** all is for the tests. */
export const all = texts;
