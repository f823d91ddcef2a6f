// docs/device-protocol.md tells the truth: its tables are those of the code, and every JSON block on it is what it claims to be.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { withCommandTable } from '../../scripts/asyncapi-schemas.ts';
import { connectionGuide } from '../../src/devices/pairing.ts';
import { commandNames, mqttTopics, outcomes, queueNames } from '../../src/link/protocol.ts';
import { defaultTiming } from '../../src/virtual/devices/counter.ts';
import { createRegister } from '../../src/virtual/devices/register.ts';
import { createTerminal } from '../../src/virtual/devices/terminal.ts';
import { noFaults, parseFaultScript } from '../../src/virtual/mishaps/faults.ts';
import { magicAmounts } from '../../src/virtual/mishaps/magic-amounts.ts';
import { createMessageCheck } from './message-check.ts';

const page = readFileSync(new URL('../../docs/device-protocol.md', import.meta.url), 'utf8');

/** The cells of the table between two marks, without its head. */
function table(name: string): string[][] {
  const text = new RegExp(`<!-- ${name}:[^>]*-->\\n([\\s\\S]*?)\\n<!-- end of ${name} -->`).exec(page)?.[1];
  if (text === undefined) throw new Error(`The page has no table ${name}.`);
  return text
    .split('\n')
    .slice(2)
    .map((row) =>
      row
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

describe('the tables', () => {
  it('list every magic amount for the devices that obey it', () => {
    const expected = magicAmounts.map(({ ending, kind, magic, meaning }) => [`.${ending}`, kind, `\`${magic}\``, meaning]);
    expect(table('magic')).toEqual(expected);
  });

  it('list every fault with what it is when nothing is set', () => {
    expect(table('faults').map(([name, value]) => [name, value])).toEqual(
      Object.entries(noFaults).map(([name, value]) => [`\`${name}\``, String(value)]),
    );
  });

  it('list every outcome', () => {
    expect(table('outcomes').map(([name]) => name)).toEqual(outcomes.map((outcome) => `\`${outcome}\``));
  });

  it('list every command with its arguments and report', () => {
    expect(page === withCommandTable(page), 'stale: run npm run asyncapi').toBe(true);
    expect(table('commands').map(([name]) => name)).toEqual(commandNames.map((name) => `\`${name}\``));
    for (const row of table('commands')) expect(row[3], row[0]).toMatch(/^[a-z]/);
  });

  it('say which kind of device a ledger command is for', () => {
    const unused = undefined as never;
    const shared = {
      bank: unused,
      screen: unused,
      customer: unused,
      mishaps: unused,
      misdelivery: unused,
      roll: unused,
      timing: unused,
      crash: unused,
      firmware: '',
    };
    const terminal = createTerminal({ ...shared, timing: defaultTiming }).commands;
    const register = createRegister({
      ...shared,
      deviceId: '',
      deviceName: '',
      timing: defaultTiming,
      memory: unused,
      vat: unused,
      limitShiftTo24h: false,
    }).commands;
    for (const [name = '', ledger, kind] of table('commands')) {
      if (ledger === 'no') continue;
      const bare = name.replaceAll('`', '') as Parameters<typeof terminal.has>[0];
      expect({ name, kind }).toEqual({ name, kind: terminal.has(bare) ? 'terminal' : register.has(bare) ? 'register' : 'nobody' });
    }
  });

  it('name topics, queues and keys as the code does', () => {
    const device = '{DeviceID}';
    for (const name of [
      mqttTopics.commands(device),
      mqttTopics.answers(device, '{replyTo}'),
      mqttTopics.presence(device),
      queueNames.commands(device),
      queueNames.answersExchange,
      queueNames.answerKey(device, '{replyTo}'),
      queueNames.presenceKey(device),
    ]) {
      expect(page).toContain(`\`${name}\``);
    }
  });
});

describe('the JSON blocks', () => {
  const blocks = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text = '']) => JSON.parse(text) as Record<string, unknown>);
  const check = createMessageCheck();
  const isMessage = (block: object) => ['v', 'answer', 'presence', 'command'].some((field) => field in block);
  for (const block of blocks) if ('name' in block && 'args' in block) check.remember(block);

  it.each(blocks.filter(isMessage).map((block) => ({ block })))('hold to their schemas: $block', ({ block }) => {
    expect(check.problems(block)).toEqual([]);
  });

  it('show what pairing answers', () => {
    const pairing = blocks.find((block) => 'secret' in block);
    const deviceId = String(pairing?.['deviceId']);
    const guide = connectionGuide(deviceId, { mqttUrl: 'mqtts://pay.example.md:8883', queueUrl: 'amqps://pay.example.md:5671' });
    expect(pairing).toEqual({ ...pairing, ...guide, errorCode: 0, errorMessage: '', kind: 'terminal', bank: 'maib' });
  });

  it('show a fault script that works', () => {
    const script = blocks.find((block) => Array.isArray(block));
    expect(parseFaultScript(script)).toHaveLength(3);
  });

  it('are nothing else', () => {
    expect(blocks.filter((block) => !isMessage(block))).toHaveLength(2);
    expect(blocks.filter(isMessage).length).toBeGreaterThan(8);
  });
});
