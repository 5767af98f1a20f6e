// Light or dark before anything is drawn. No module, so that it runs first.
(() => {
  const kept = localStorage.getItem('theme');
  if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept;
})();
