// The quick start is run word for word: its first block starts the sandbox, its second the sink, and all others go through one
// shell. What a block prints is held against the text block that follows it, where … stands for anything.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { serveSettings, temporaryDirectory } from '../support/gateway-process.ts';
import { openShop, type Shop } from '../support/served-shop.ts';
import { eventually } from '../support/till.ts';
import { matchesShown } from './shown.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const patienceMs = 120_000;

interface Block {
  language: string;
  text: string;
}

const blocks: Block[] = [...readme.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({ language, text }));
const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);
const [startCommand = '', sinkCommand = '', ...shellCommands] = commands;

/** What the page shows after a command; undefined if nothing. */
function shownAfter(command: string): string | undefined {
  const next = blocks[blocks.findIndex(({ text }) => text === command) + 1];
  return next?.language === 'text' ? next.text : undefined;
}

interface Terminal {
  child: ChildProcess;
  output(): string;
}

const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(TILLGATE_|VITEST|NODE_OPTIONS)/.test(name)));
const terminals: Terminal[] = [];

/** A terminal of its own: a process group, so that nothing that it started outlives it. */
function openTerminal(script: string, settings: Record<string, string>): Terminal {
  const child = spawn('bash', ['-c', script], {
    cwd: root,
    detached: true,
    env: { ...environment, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  }
  const terminal = { child, output: () => output };
  terminals.push(terminal);
  return terminal;
}

function close({ child }: Terminal, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return Promise.resolve();
  const { pid } = child;
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  process.kill(-pid, signal);
  return ended;
}

describe('the quick start', () => {
  let settings: Record<string, string>;
  let sink: Terminal;
  /** What each command of the third terminal printed. */
  const printed = new Map<string, string>();

  beforeAll(async () => {
    settings = {
      TILLGATE_DATA_DIR: temporaryDirectory(),
      TILLGATE_PORT: String(await freePort()),
      TILLGATE_MQTT_PORT: '0',
      SINK_PORT: String(await freePort()),
    };
    // The packages are installed already, or this test would not run; installing them again would pull them from under the others.
    expect(startCommand).toBe('npm ci && npm start\n');
    const sandbox = openTerminal(startCommand.replace('npm ci && ', ''), settings);
    sink = openTerminal(sinkCommand, settings);
    await eventually('the sandbox is ready', sandbox.output, (text) => text.includes('Stop with Ctrl-C'), patienceMs);
    await eventually('the sink is ready', sink.output, (text) => text.includes('Waiting for callbacks'), patienceMs);
    const mark = (index: number) => `printf '\\n@@ %s %s\\n' ${index} $?\n`;
    const shell = openTerminal(shellCommands.map((command, index) => command + mark(index)).join(''), settings);
    await new Promise((resolve) => {
      shell.child.once('close', resolve);
    });
    let rest = shell.output();
    for (const [index, command] of shellCommands.entries()) {
      const [text = '', ...others] = rest.split(new RegExp(`\\n@@ ${index} 0\\n`));
      expect(others, `block ${index} ends well: ${command}\n${rest}`).toHaveLength(1);
      printed.set(command, text);
      rest = others[0] ?? '';
    }
  }, 3 * patienceMs);

  afterAll(async () => {
    await Promise.all(terminals.map((terminal) => close(terminal, 'SIGKILL')));
  });

  it('has the blocks that this test thinks it has', () => {
    expect(shellCommands).toHaveLength(7);
    expect(shownCommands).toHaveLength(5);
  });

  const shownCommands = shellCommands.flatMap((command) => {
    const shown = shownAfter(command);
    return shown === undefined ? [] : [{ lastLine: command.trim().split('\n').at(-1), command, shown }];
  });

  it.each(shownCommands)('prints what it shows: $lastLine', ({ command, shown }) => {
    const text = printed.get(command) ?? '';
    expect(matchesShown(shown, text), `shown:\n${shown}\nprinted:\n${text}`).toBe(true);
  });

  it('creates an invoice with a QR that is safe in an address', () => {
    const [create = ''] = shellCommands.filter((command) => command.includes('echo $QR'));
    expect(printed.get(create)?.trim()).toMatch(/^[A-Za-z0-9]{44}$/);
  });

  it('lets the ERP hear what it shows', async () => {
    const shown = blocks.find(({ language, text }) => language === 'text' && text.includes('state=Scanned'))?.text ?? '';
    const text = await eventually('both callbacks', sink.output, (heard) => heard.includes('sequence=2'), patienceMs);
    expect(matchesShown(`…\n${shown}…`, text), `shown:\n${shown}\nheard:\n${text}`).toBe(true);
  });
});

describe('the quick start against serve', () => {
  let shop: Shop;
  let sink: Terminal;
  let output = '';

  beforeAll(async () => {
    const sinkPort = String(await freePort());
    const dataDir = temporaryDirectory();
    shop = await openShop(await serveSettings({ TILLGATE_DATA_DIR: temporaryDirectory(), TILLGATE_CALLBACK_ALLOW: '127.0.0.0/8' }));
    const [terminal, register] = [await shop.addDevice('terminal'), await shop.addDevice('register')];
    // What its reader would set by hand, where the commands look for it.
    const devices = [terminal, terminal, terminal, terminal, register].map(({ id }) => ({ id }));
    const { baseUrl } = shop.till;
    const { key: apiKey } = await shop.till.admin('/keys', {
      merchantId: shop.merchantId,
      name: 'README',
      modules: ['POS', 'QR', 'Fiscal'],
    });
    writeFileSync(join(dataDir, 'sandbox.json'), JSON.stringify({ baseUrl, apiKey, devices }));
    const settings = { TILLGATE_DATA_DIR: dataDir, SINK_PORT: sinkPort };
    sink = openTerminal(sinkCommand, settings);
    await eventually('the sink is ready', sink.output, (text) => text.includes('Waiting for callbacks'), patienceMs);
    const shell = openTerminal(upToStep5.map((command) => `${command}printf '\\n@@\\n'\n`).join(''), settings);
    await new Promise((resolve) => {
      shell.child.once('close', resolve);
    });
    output = shell.output();
  }, 3 * patienceMs);
  afterAll(async () => {
    await Promise.all([shop?.close(), ...terminals.map((terminal) => close(terminal, 'SIGKILL'))]);
  });

  /** The journey by a device of your own needs a pairing code there. */
  const upToStep5 = shellCommands.filter((command) => !command.includes('simulate'));

  it('prints what it shows', async () => {
    const texts = output.split('\n@@\n');
    expect(upToStep5).toHaveLength(6);
    for (const [index, command] of upToStep5.entries()) {
      const shown = shownAfter(command);
      if (shown !== undefined) expect(matchesShown(shown, texts[index] ?? ''), `shown:\n${shown}\nprinted:\n${texts[index]}`).toBe(true);
    }
    await eventually('both callbacks', sink.output, (heard) => heard.includes('sequence=2'), patienceMs);
  });
});
