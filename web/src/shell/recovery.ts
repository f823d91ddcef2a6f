// A file of the build that cannot be loaded: the network is down, or a new build has replaced the one that this page came from.
// Importing it again does not help (a browser may keep the failure, and the loader skips style sheets that it has tried), so the
// page waits until the gateway answers and is then loaded anew, at the current address.
import { basePath } from '../api/client.ts';

const storageKey = 'tillgate.reloadedAtMs';
/** A broken build must not make the page reload for ever. */
const betweenReloadsMs = 60_000;
const firstProbeMs = 1_000;
const longestProbeMs = 15_000;

function mayReload(): boolean {
  const reloadedAtMs = Number(sessionStorage.getItem(storageKey) ?? 0);
  return Date.now() - reloadedAtMs > betweenReloadsMs;
}

export function reloadPage(): void {
  sessionStorage.setItem(storageKey, String(Date.now()));
  location.reload();
}

async function isReachable(): Promise<boolean> {
  try {
    return (await fetch(`${basePath}/cabinet/`, { cache: 'no-store' })).ok;
  } catch {
    return false;
  }
}

/** Reloads the page once as soon as the gateway answers. Returns what stops the waiting. */
export function reloadWhenReachable(): () => void {
  let waitMs = firstProbeMs;
  let isOver = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const probe = async () => {
    clearTimeout(timer);
    const isThere = await isReachable();
    if (isOver) return;
    if (isThere && mayReload()) return reloadPage();
    timer = setTimeout(() => void probe(), waitMs);
    waitMs = Math.min(waitMs * 2, longestProbeMs);
  };
  const online = () => void probe();
  addEventListener('online', online);
  void probe();
  return () => {
    isOver = true;
    clearTimeout(timer);
    removeEventListener('online', online);
  };
}
