// How the cabinet is built: relative addresses only, because the base path is known to the gateway and not to the build.
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const gateway = process.env['TILLGATE_URL'] ?? 'http://127.0.0.1:8080';

// oxlint-disable-next-line import/no-default-export -- vite reads its settings from the default export
export default defineConfig(({ command }) => ({
  base: command === 'serve' ? '/tillgate/cabinet/' : './',
  plugins: [react()],
  build: {
    target: 'es2023',
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
    reportCompressedSize: false,
    // On a busy machine it would print how slow the machine is.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  // `npm run web:dev`: pages from here, everything else from a running sandbox.
  server: {
    host: '127.0.0.1',
    proxy: { '^/tillgate/(?!cabinet/(?!api/))': { target: gateway, changeOrigin: true } },
  },
}));
