// The cabinet starts here: language and theme first, then the session decides between signing in and the pages.
import './theme/library.css';
import './theme/fonts.css';
import './theme/tokens.css';
import './theme/mantine.css';
import './theme/base.css';
import './shell/shell.css';
import './parts/list.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { basePath } from './api/client.ts';
import { createQueryClient } from './api/query.ts';
import { App } from './app.tsx';
import { startLanguages } from './i18n/setup.ts';
import { reloadWhenReachable } from './shell/recovery.ts';

try {
  await startLanguages();
} catch (error) {
  // Without a catalogue there is no text to show: the page reloads as soon as the gateway answers.
  reloadWhenReachable();
  throw error;
}
const root = document.getElementById('root');
if (!root) throw new Error('The page has no root.');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={createQueryClient()}>
      <Router base={`${basePath}/cabinet`}>
        <App />
      </Router>
    </QueryClientProvider>
  </StrictMode>,
);
