// A disk of a few megabytes that can be filled to the last byte and emptied again. Needs root, as the servers of the tests do.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  /** On the disk, for whoever is tested. */
  readonly directory: string;
  fill(): void;
  makeRoom(): void;
  remove(): void;
}

export function mountSmallDisk(megabytes: number): SmallDisk {
  const place = mkdtempSync(join(tmpdir(), 'tillgate-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', place]);
  const directory = join(place, 'data');
  const ballast = join(place, 'ballast');
  mkdirSync(directory, { mode: 0o700 });
  let isMounted = true;
  function remove(): void {
    if (!isMounted) return;
    isMounted = false;
    // Lazily: whoever was killed may still be letting go of it.
    execFileSync('umount', ['--lazy', place]);
    rmSync(place, { recursive: true, force: true });
  }
  process.once('exit', remove);
  return {
    directory,
    fill() {
      const file = openSync(ballast, 'a');
      try {
        for (let bytes = 65_536; bytes >= 1; ) {
          try {
            if (writeSync(file, Buffer.alloc(bytes)) < bytes) bytes = Math.floor(bytes / 2);
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
            bytes = Math.floor(bytes / 2);
          }
        }
      } finally {
        closeSync(file);
      }
    },
    makeRoom: () => rmSync(ballast, { force: true }),
    remove,
  };
}
