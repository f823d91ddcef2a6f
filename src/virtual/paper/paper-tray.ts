// Printed pictures as SVG files in the device's directory, the newest few hundred.
// A picture is only a copy: if it cannot be written, the device continues, because its fiscal memory has the data.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../kernel/logger.ts';
import type { Screen } from './screen.ts';

const kept = 200;

/** Calls `onPicture` with the path of each picture after it is written. */
export function collectPaper(screen: Screen, dir: string, logger: Logger, onPicture: (path: string) => void): void {
  let count = 0;
  screen.listen((event) => {
    if (event.type !== 'paper' || event.svg === undefined) return;
    count += 1;
    // The order of names is the order of time: the oldest files are found without reading dates.
    const name = `${new Date(event.atMs).toISOString().replace(/\D/g, '')}-${String(count).padStart(4, '0')}.svg`;
    try {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      writeFileSync(join(dir, name), event.svg);
      const names = readdirSync(dir)
        .filter((file) => file.endsWith('.svg'))
        .sort();
      for (const old of names.slice(0, -kept)) rmSync(join(dir, old), { force: true });
      onPicture(join(dir, name));
    } catch (error) {
      logger.warn({ err: error, dir }, 'a printed picture could not be written');
    }
  });
}
