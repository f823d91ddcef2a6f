// A copy of the project with a bug, and the search for that bug in it.
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PlantedBug, plant } from '../../simulation/planted/planted-bug.ts';
import type { Hunted } from './hunt.ts';

export interface Copy {
  path: string;
  remove: () => void;
}

/** What the exploration needs; what the bugs are made of is not asked in a copy. */
export function copyWith(root: string, bug: PlantedBug | undefined): Copy {
  const path = mkdtempSync(join(tmpdir(), 'tillgate-planted-rules-'));
  const take = (part: string) => cpSync(join(root, part), join(path, part), { recursive: true });
  for (const part of ['src/money', 'src/kernel', 'src/database', 'exploration', 'package.json']) take(part);
  rmSync(join(path, 'exploration/planted'), { recursive: true });
  take('exploration/planted/hunt.ts');
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'));
  if (bug) plant(path, bug);
  return { path, remove: () => rmSync(path, { recursive: true }) };
}

export interface HuntOptions {
  /** The likeliest worlds. */
  first: readonly string[];
  /** Worlds that are left out. */
  skipped: readonly string[];
  /** Of processor time. */
  seconds: number;
}

export function huntIn(copy: string, { first, skipped, seconds }: HuntOptions): Promise<Hunted> {
  const listed = [...first.map((name) => `--first=${name}`), ...skipped.map((name) => `--skip=${name}`)];
  const args = ['exploration/planted/hunt.ts', ...listed, `--seconds=${seconds}`];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: copy, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stderr}`));
      else resolve(JSON.parse(stdout) as Hunted);
    });
  });
}
