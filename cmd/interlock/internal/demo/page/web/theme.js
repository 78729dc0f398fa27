// Runs before anything is painted, so that nobody sees the other theme first.
(() => {
  let theme = null;
  try { theme = localStorage.getItem('interlock.theme'); } catch { /* a browser that keeps nothing */ }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
})();
