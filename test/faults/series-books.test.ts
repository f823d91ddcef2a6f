// The checks of a kill series detect a second operation under one number or Idempotency-Key, and an operation without an answer.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/gateway-process.ts';
import { doneTwice, doneUndelivered } from './series-books.ts';

type Entry = Record<string, string>;

function device(kind: 'terminal' | 'register', { bank = [], memory = [] }: { bank?: Entry[]; memory?: Entry[] }) {
  const stateDir = temporaryDirectory();
  const write = (name: string, entries: Entry[]) =>
    appendFileSync(join(stateDir, name), entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  write('bank.jsonl', bank);
  write('fiscal-memory.jsonl', memory);
  return { kind, stateDir } as const;
}

const told = (...oids: string[]) => oids.map((oid) => ({ oid }));
const row = (id: string, document_nr: string | null) => ({ id, document_nr, receipt_uid: null });

describe('the checks of a kill series', () => {
  it('report nothing when every operation belongs to one answer', () => {
    const terminal = device('terminal', {
      bank: [
        { kind: 'decline', reference: 'no' },
        { kind: 'charge', reference: 'one' },
        { kind: 'refund', reference: 'two' },
      ],
    });
    const register = device('register', {
      bank: [{ kind: 'charge', reference: 'four', operationId: '4' }],
      memory: [
        { type: 'moneyIn', commandId: 'three' },
        { type: 'receipt', commandId: 'four' },
      ],
    });
    const devices = [terminal, register];
    expect(doneUndelivered(told('one', 'two', 'three', 'four'), devices)).toEqual([]);
    expect(doneTwice([row('one', 'A'), row('two', 'A')], devices)).toEqual([]);
  });

  it('report a second operation under one Idempotency-Key, of which the till was answered about one only', () => {
    const memory = [
      { type: 'moneyIn', commandId: 'first' },
      { type: 'moneyIn', commandId: 'again' },
    ];
    expect(doneUndelivered(told('again'), [device('register', { memory })])).toEqual(['moneyIn first']);
  });

  it('report a refused operation that was done, and a command that was done twice', () => {
    const bank = [
      { kind: 'charge', reference: 'refused' },
      { kind: 'refund', reference: 'twice' },
      { kind: 'refund', reference: 'twice' },
    ];
    expect(doneUndelivered(told('twice'), [device('terminal', { bank })])).toEqual(['charge refused', 'refund twice']);
  });

  it('report a charge that a register neither printed nor voided', () => {
    const bank = [
      { kind: 'charge', reference: 'kept', operationId: '1' },
      { kind: 'charge', reference: 'given back', operationId: '2' },
      { kind: 'void', reference: 'given back', operationId: '3', originalId: '2' },
    ];
    expect(doneUndelivered([], [device('register', { bank })])).toEqual(['charge without print kept']);
  });

  it('report two charges under one documentNr', () => {
    const bank = [
      { kind: 'charge', reference: 'one' },
      { kind: 'charge', reference: 'two' },
    ];
    expect(doneTwice([row('one', 'A'), row('two', 'A')], [device('terminal', { bank })])).toEqual(['A']);
  });
});
