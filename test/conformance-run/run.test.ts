// The conformance run against devices that keep every promise: nothing is broken, nothing is left untested, all money is given back.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { messagesOf } from '../../scripts/asyncapi-schemas.ts';
import { announcement, htmlReport, textReport } from '../../src/conformance/report.ts';
import { missingFields } from '../../src/conformance/report-fields.ts';
import { checks } from '../../src/conformance/run.ts';
import { type JsonObject, ledgerCommandNames } from '../../src/link/protocol.ts';
import { brokenOf, runAgainst } from './memory-desk.ts';

describe('a device that keeps its promises', () => {
  it.each(['terminal', 'register'] as const)('passes as a %s, with nothing untested', async (kind) => {
    const report = await runAgainst(kind);
    expect(brokenOf(report)).toEqual([]);
    expect(report.findings.filter(({ verdict }) => verdict === 'untested')).toEqual([]);
    expect(report).toMatchObject({ kind, channels: ['mqtt', 'queue'], firmware: expect.any(String) });
    expect(report.charged.payments).toBe(report.charged.refunds);
  });

  it.each([
    ['terminal', 'Pay', 3 + 9, /charges 1.00 MDL three times .*, .* nine more payments/],
    ['register', 'PrintReceipt', 2 + 9, /prints one receipt .* nine receipts/],
  ] as const)('is charged what the run said before it began (%s)', async (kind, name, count, sentence) => {
    const names = new Map<string, string>();
    const begun = new Set<string>();
    await runAgainst(kind, () => ({
      command(command) {
        names.set(command['id'], command['name']);
        return command;
      },
      answer(answer) {
        if (answer['outcome'] === 'accepted' && names.get(answer['id']) === name) begun.add(answer['id']);
        return answer;
      },
    }));
    expect(begun.size).toBe(count);
    expect(announcement(kind, 1)).toMatch(sentence);
  });

  it('passes on one channel; what needs two is said to be untested', async () => {
    const report = await runAgainst('terminal', () => ({ channels: ['queue'] }));
    expect(brokenOf(report)).toEqual([]);
    expect(report.findings.filter(({ verdict }) => verdict === 'untested').map(({ id }) => id)).toEqual([
      'will',
      'reply-to',
      'doubled-on-the-other-channel',
      'recaller-gets-the-ending',
      'not-retained',
    ]);
  });

  it('passes with a clock that is ten minutes wrong', async () => {
    expect(brokenOf(await runAgainst('terminal', () => ({ device: { faults: { clockSkewMs: -600_000 } } })))).toEqual([]);
  });
});

describe('the report', () => {
  it('names the clause, what was done, expected and seen, as text and as a page that runs nothing', async () => {
    const report = await runAgainst('terminal', () => ({
      answer: (answer) => ({ ...answer, reason: '<script>alert(1)</script>', journalId: undefined }),
    }));
    const text = textReport(report);
    expect(text).toMatch(/^terminal \S+, \S+, on mqtt and queue\n\d+ clauses hold, \d+ are broken, \d+ could not be tested\.\n/);
    expect(text).toMatch(
      /one-journal: Some messages have a journalId and some have none\.\n {2}clause {4}Messages, answer: ".*#answer-device-to-gateway\)/,
    );
    expect(htmlReport(report, '2026-11-16')).toContain('&lt;script&gt;alert(1)');
    expect(htmlReport(report, '2026-11-16')).not.toContain('<script');
  });

  it('says what to return by hand', async () => {
    const text = textReport(
      await runAgainst('terminal', () => ({ command: (command) => (command['name'] === 'Refund' ? undefined : command) })),
    );
    expect(text).toContain('3 payments of 1.00 MDL were made and 1 refunded or voided. Refund 2.00 MDL by hand.');
  });

  it('does not say that a register charged no card when a customer was too quick', async () => {
    expect(textReport(await runAgainst('register'))).toContain('\n0 receipts of 1.00 MDL were paid by card.');
    const text = textReport(await runAgainst('register', () => ({ device: { timing: { customerMs: 100 } } })));
    const [, count = '0', left] = /(\d+) receipts of 1\.00 MDL were paid by card\. Refund (\d+)\.00 MDL by hand\./.exec(text) ?? [];
    expect(Number(count)).toBeGreaterThan(0);
    expect(left).toBe(count);
  });

  it('names payments that were accepted and never ended, and waits for each of them once', async () => {
    const pays = new Set<string>();
    let elapsedMs = () => Infinity;
    const text = textReport(
      await runAgainst('terminal', ({ clock }) => {
        elapsedMs = () => clock.elapsed();
        return {
          command(command) {
            if (command['name'] === 'Pay') pays.add(command['id']);
            return command;
          },
          answer: (answer) => (pays.has(answer['id']) && answer['outcome'] === 'done' ? undefined : answer),
        };
      }),
    );
    expect(text).toMatch(
      /0 payments of 1\.00 MDL were made and 0 refunded or voided\. The device did not report the ending of \d+ more: ask the bank\./,
    );
    expect(elapsedMs()).toBeLessThan(200_000);
  });
});

describe('the list of checks', () => {
  /** Words of the protocol that stand in the same steps. */
  const notChecks = new Set(['commands', 'unsupported', 'fsync', 'paid']);
  const page = readFileSync(new URL('../../docs/device-protocol.md', import.meta.url), 'utf8');

  it('quotes the protocol page word by word, under a heading that it has', () => {
    const anchors = new Set(
      [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      ),
    );
    for (const { id, clause } of checks) {
      expect(page, id).toContain(clause.says);
      expect(anchors, id).toContain(clause.anchor);
    }
  });

  it('is whole in the order that the firmware guide proposes, which names nothing else', () => {
    const guide = readFileSync(new URL('../../docs/firmware-guide.md', import.meta.url), 'utf8');
    const [, steps = ''] = /^## 3\. .*?\n(.*?)^## /ms.exec(guide) ?? [];
    const named = [...steps.matchAll(/`([a-z]+(?:-[a-z]+)*)`/g)].map(([, name]) => name).filter((name) => !notChecks.has(name ?? ''));
    expect(new Set(named)).toEqual(new Set(checks.map(({ id }) => id)));
  });

  it('quotes each of the seven promises but the fifth, which only a bank sees', () => {
    const quoted = new Set(checks.map(({ clause }) => clause.place).filter((place) => place.startsWith('Promise')));
    expect([...quoted].sort()).toEqual([1, 2, 3, 4, 6, 7].map((number) => `Promise ${number}`));
  });

  it.each([...ledgerCommandNames, 'Status', 'LastTransaction'] as const)('asks of the report of %s what the protocol asks for', (name) => {
    const { report, sample } = messagesOf[name];
    const { required = [] } = report as { required?: string[] };
    expect(missingFields(name, sample.report as JsonObject | undefined)).toEqual([]);
    expect(missingFields(name, {})).toEqual(required);
    expect(missingFields(name, Object.fromEntries(required.map((field) => [field, ''])))).toEqual(required);
  });
});
