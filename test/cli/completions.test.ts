// What a press of Tab brings, in a real bash; and that the scripts of all shells know every command and option.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { cabinetCommands } from '../../src/cli/cabinet-commands.ts';
import { type Completable, completionScript, shells } from '../../src/cli/completions.ts';
import { patienceMs, runProgram, temporaryDirectory } from '../support/gateway-process.ts';

const slowTest = { timeout: 2 * patienceMs };

/** A bash at a terminal, to which keys are typed; what it printed at its end. */
function typeInBash(keys: string): Promise<string> {
  const bash = spawn('/usr/bin/script', ['--quiet', '--flush', '--command', 'bash --norc --noprofile -i', '/dev/null'], {
    env: { PATH: process.env['PATH'] ?? '', TERM: 'dumb', INPUTRC: '/dev/null', HISTFILE: '/dev/null' },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let printed = '';
  bash.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString('utf8');
  });
  bash.stdin.write(`${keys}\nexit\n`);
  return new Promise((resolve) => bash.once('close', () => resolve(printed)));
}

describe('in bash', () => {
  let file: string;
  beforeAll(async () => {
    const { code, out, err } = await runProgram(['completions', 'bash']);
    expect([code, err]).toEqual([0, '']);
    file = join(temporaryDirectory(), 'completions.bash');
    writeFileSync(file, out);
  }, patienceMs);

  it('Tab writes what is meant', slowTest, async () => {
    const load = `source ${file}; tillgate() { echo "got<$*>"; }`;
    const lines = [
      'tillgate serv\t--js\t',
      'tillgate ke\tcr\t--mer\tM7 --mod\tQR',
      'tillgate compl\tzs\t',
      'tillgate command clo\tC1 --rea\tx',
    ];
    const printed = await typeInBash([load, ...lines].join('\n'));
    const got = [...printed.matchAll(/got<(.*)>/g)].map(([, words]) => words).filter((words) => words !== '$*');
    expect(got).toEqual([
      'serve --json',
      'key create --merchant M7 --modules QR',
      'completions zsh',
      'command close-document C1 --reason x',
    ]);
  });

  it('a value gets no option', slowTest, async () => {
    const ask = (words: string) => `COMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _tillgate; echo "got<\${COMPREPLY[*]}>"`;
    const printed = await typeInBash([`source ${file}`, ask('tillgate key create --name --'), ask("tillgate serve --json ''")].join('\n'));
    const got = [...printed.matchAll(/^got<(.*)>/gm)].map(([, words]) => words);
    expect(got).toEqual(['', '--json --help']);
  });
});

describe.each(shells)('the script for %s', (shell) => {
  const calls: readonly Completable[] = cabinetCommands;

  it('knows every command and option', () => {
    const script = completionScript(shell, calls);
    expect(calls.length).toBeGreaterThan(20);
    for (const { name, options } of calls) {
      for (const word of name.split(' ')) expect(script).toContain(word);
      for (const option of Object.keys(options)) expect(script).toContain(shell === 'fish' ? `-l ${option}` : `--${option}`);
    }
  });

  it('survives quotes in what is said of a command', () => {
    const script = completionScript(shell, [{ name: 'one', help: "a person's: note", options: {} }]);
    if (shell === 'zsh') expect(script).toContain(String.raw`'one:a person'\''s\: note'`);
    if (shell === 'fish') expect(script).toContain(String.raw`'a person\'s: note'`);
  });
});

it('an unknown shell is refused with the ones that there are', slowTest, async () => {
  expect(await runProgram(['completions', 'tcsh'])).toMatchObject({ code: 2, err: 'Usage: tillgate completions bash|zsh|fish\n' });
  expect((await runProgram(['completions', '--help'])).out).toContain('source <(tillgate completions bash)');
});
