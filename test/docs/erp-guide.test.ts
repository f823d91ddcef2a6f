// The guide for ERPs is run word for word in one shell against a sandbox; what a block prints is held against the text block that follows it.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorCodes } from '../../src/kernel/error-codes.ts';
import { patienceMs, type SandboxProcess, startSandboxProcess, temporaryDirectory } from '../support/gateway-process.ts';
import { matchesShown } from './shown.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(`${root}docs/erp-guide.md`, 'utf8');
const pairs = [...page.matchAll(/^```sh\n([\s\S]*?)^```\n(?:\n```text\n([\s\S]*?)^```$)?/gm)].map(([, command = '', shown], index) => ({
  index,
  command,
  shown: shown ?? '',
}));

describe('the guide for ERPs', () => {
  let sandbox: SandboxProcess;
  let printed: string[] = [];

  beforeAll(async () => {
    const dataDir = temporaryDirectory();
    sandbox = await startSandboxProcess(dataDir);
    const script = pairs.map(({ command, index }) => `${command}printf '\\n@@%s\\n' ${index}\n`).join('');
    const PATH = `${dirname(process.execPath)}:${process.env['PATH']}`;
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: root, env: { PATH, TILLGATE_DATA_DIR: dataDir } });
    printed = stdout.split(/\n@@\d+\n/);
  }, 4 * patienceMs);
  afterAll(() => sandbox?.kill9());

  it('has blocks', () => {
    expect(pairs).toHaveLength(22);
    expect(printed).toHaveLength(pairs.length + 1);
  });

  it.each(pairs)('prints what it shows: block $index', ({ index, shown }) => {
    const text = printed[index] ?? '';
    expect(matchesShown(shown, text), `shown:\n${shown}\nprinted:\n${text}`).toBe(true);
  });

  it('says what to do at each errorCode', () => {
    const [, table = ''] = page.split('## What to do at each errorCode');
    const rows = [...table.matchAll(/^\| ([\d, ]+)/gm)].flatMap(([, codes = '']) => codes.split(',').filter((code) => code.trim() !== ''));
    expect(rows.map(Number).sort((one, other) => one - other)).toEqual(
      Object.values(errorCodes)
        .map(({ code }) => code)
        .sort((one, other) => one - other),
    );
  });
});
