// Before the first paint: the remembered theme and language, so that nothing flashes. Plain script, because modules come too late.
try {
  const wanted = localStorage.getItem('tillgate.theme') ?? 'auto';
  const isDark = wanted === 'dark' || (wanted === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.mantineColorScheme = isDark ? 'dark' : 'light';
  document.documentElement.lang = localStorage.getItem('tillgate.language') ?? 'en';
} catch {
  document.documentElement.dataset.mantineColorScheme = 'light';
}
