// Runs before the first paint, so that the page does not flash in the other theme.
(() => {
  let theme = null;
  try { theme = localStorage.getItem('interlock.theme'); } catch { /* storage is disabled */ }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
})();
