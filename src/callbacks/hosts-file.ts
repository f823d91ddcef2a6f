// The names that an operator has written into the hosts file. It is read again when it has changed, so that an edit counts at once;
// otherwise a question costs one look at the file's date. One that is missing or cannot be read has no names.
import { readFileSync, statSync } from 'node:fs';

export interface HostsFile {
  /** `name` in lower case and without a dot at its end. */
  has(name: string): boolean;
}

export function createHostsFile(path: string): HostsFile {
  let readAs = '';
  let names = new Set<string>();

  function refresh(): void {
    // The time of change cannot be set back as the time of writing can: a copy with its old date is a change too.
    const { ino, ctimeMs, size } = statSync(path);
    const now = `${ino} ${ctimeMs} ${size}`;
    if (now === readAs) return;
    names = namesIn(readFileSync(path, 'latin1'));
    readAs = now;
  }

  return {
    has(name) {
      try {
        refresh();
      } catch {
        readAs = '';
        names.clear();
      }
      return names.has(name);
    },
  };
}

/** Each line is an address and its names; what follows a # is a remark. */
function namesIn(text: string): Set<string> {
  const names = new Set<string>();
  for (const line of text.split('\n')) {
    const [, ...written] = line.replace(/#.*/, '').trim().split(/\s+/);
    for (const name of written) names.add(name.toLowerCase().replace(/\.$/, ''));
  }
  return names;
}
