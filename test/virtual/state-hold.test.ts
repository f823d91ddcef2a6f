import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { holdStateDir } from '../../src/virtual/state-hold.ts';
import { temporaryDirectory } from '../support/gateway-process.ts';

const holderOf = (stateDir: string) => join(stateDir, 'holder.json');

describe('a state directory', () => {
  it('has one holder at a time, and is free after the release', () => {
    const stateDir = join(temporaryDirectory(), 'till');
    const release = holdStateDir(stateDir);
    expect(() => holdStateDir(stateDir)).toThrow(`is already run by process ${process.pid}`);
    release();
    holdStateDir(stateDir)();
  });

  it('is free when its holder was killed', async () => {
    const stateDir = join(temporaryDirectory(), 'till');
    const module = new URL('../../src/virtual/state-hold.ts', import.meta.url).href;
    const program = `const { holdStateDir } = await import(${JSON.stringify(module)}); holdStateDir(${JSON.stringify(stateDir)}); console.log('held'); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    expect(() => holdStateDir(stateDir)).toThrow(`is already run by process ${child.pid}`);
    child.kill('SIGKILL');
    await once(child, 'exit');
    holdStateDir(stateDir)();
  });

  it.each(['', '{"pid":', '{"pid":-1}', '{"pid":1,"mark":"another start"}'])('is free when its holder cannot be: %j', (text) => {
    const stateDir = temporaryDirectory();
    writeFileSync(holderOf(stateDir), text);
    const release = holdStateDir(stateDir);
    expect(JSON.parse(readFileSync(holderOf(stateDir), 'utf8'))).toMatchObject({ pid: process.pid });
    release();
  });
});
