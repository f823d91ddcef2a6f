// For the developer's loop: starts the test servers once and prints the lines that point the tests at them.
// Then `npx vitest run test/<room>` in another terminal needs no start-up time. Ctrl-C stops them.
import { provideServers, type RunningServers, ServersMissing } from './test-servers.ts';

let servers: RunningServers | undefined;

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    // Servers still starting are ended by their own exit hook.
    await servers?.stop();
    process.exit(0);
  });
}

try {
  servers = await provideServers((line) => console.error(`[servers] ${line}`));
  for (const [name, value] of Object.entries(servers.variables)) console.log(`export ${name}='${value}'`);
  console.error('[servers] paste the lines above into another terminal; Ctrl-C here stops them');
  // A signal handler alone does not keep a process alive.
  setInterval(() => {}, 60_000);
} catch (error) {
  console.error(error instanceof ServersMissing ? error.message : error);
  process.exit(1);
}
