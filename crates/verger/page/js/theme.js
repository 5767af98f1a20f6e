// Light or dark before anything is drawn: what this browser keeps, else what the system says. No module, so that it runs first.
(() => {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const draw = () => {
    const kept = localStorage.getItem('theme');
    document.documentElement.dataset.theme = kept === 'light' || kept === 'dark' ? kept : system.matches ? 'dark' : 'light';
  };
  draw();
  system.addEventListener('change', () => dispatchEvent(new CustomEvent('verger:theme')));
  addEventListener('verger:theme', draw);
})();
