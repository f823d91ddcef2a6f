// The faults of a command, from all sources: its amount (magic), its request (the header Tillgate-Fault), or armed by hand.
// An armed fault applies to the next command that takes money or prints, which uses it up. Missing paper stays missing until a new roll.
// A fault by amount or request applies to the first try of a document; the next one succeeds [D152].
import type { Bani } from '../../kernel/money.ts';
import type { DeviceKind, JsonObject } from '../../link/protocol.ts';
import { type Magic, magicOf } from './magic-amounts.ts';

export type Mishap = Magic;
export type Faults = ReadonlySet<Mishap>;

export interface ArmedMishaps {
  loseAnswer: boolean;
  answerTwice: boolean;
  paperOut: boolean;
  powerCut?: 'beforeBank' | 'afterBank' | undefined;
}

export interface SelectedFault {
  magic: Magic;
  /** documentNr or Receipt.Uid of the request. */
  document: string | undefined;
}

export type Mishaps = ReturnType<typeof createMishaps>;

export interface MishapDeps {
  kind: DeviceKind;
  /** False: no amount is magic. */
  hasMagic: boolean;
  /** The amount of the command; undefined: no faults. */
  amountOf(name: string, args: JsonObject): Bani | undefined;
}

const nothingArmed: ArmedMishaps = { loseAnswer: false, answerTwice: false, paperOut: false };

export function createMishaps({ kind, hasMagic, amountOf }: MishapDeps) {
  let armed: ArmedMishaps = nothingArmed;
  const usedUp = new Set<string>();
  /** One per running request. */
  const selections = new Set<SelectedFault>();

  function peekFaults(name: string, args: JsonObject): Faults {
    const amountBani = amountOf(name, args);
    const magic = magicFor(name, args, amountBani);
    return new Set([...(magic === undefined ? [] : [magic]), ...(amountBani === undefined ? [] : armedOnes(armed))]);
  }

  function magicFor(name: string, args: JsonObject, amountBani: Bani | undefined): Magic | undefined {
    const byAmount = amountBani === undefined || !hasMagic ? undefined : magicOf(kind, amountBani);
    const magic = selectedFor(args)?.magic ?? byAmount;
    const document = documentOf(args);
    return magic !== undefined && document !== undefined && usedUp.has(`${name} ${magic} ${document}`) ? undefined : magic;
  }

  function selectedFor(args: JsonObject): SelectedFault | undefined {
    const document = documentOf(args);
    return [...selections].find((selected) => selected.document?.toLowerCase() === document);
  }

  function useUp(name: string, args: JsonObject): void {
    const magic = magicFor(name, args, amountOf(name, args));
    const document = documentOf(args);
    const selected = selectedFor(args);
    if (selected !== undefined) selections.delete(selected);
    if (magic === undefined || document === undefined) return;
    usedUp.add(`${name} ${magic} ${document}`);
    const [oldest] = usedUp;
    if (usedUp.size > maxUsedUp && oldest !== undefined) usedUp.delete(oldest);
  }

  return {
    /** Returns the faults without using them up. */
    peekFaults,
    /** Whether a person is in the menu; once per document, too. */
    isBusy(name: string, args: JsonObject): boolean {
      if (!peekFaults(name, args).has('busy')) return false;
      useUp(name, args);
      return true;
    },
    /** The same, and uses up an armed fault, and the magic amount for its document. */
    take(name: string, args: JsonObject): Faults {
      const faults = peekFaults(name, args);
      useUp(name, args);
      if (amountOf(name, args) !== undefined) armed = { ...nothingArmed, paperOut: armed.paperOut };
      return faults;
    },
    /** For the command of a running request; call the result when the request has ended. */
    select(selected: SelectedFault): () => void {
      selections.add(selected);
      return () => void selections.delete(selected);
    },
    armed: () => armed,
    arm(change: Partial<ArmedMishaps>): void {
      armed = { ...armed, ...change };
    },
  };
}

/** Remembered documents; for older ones an amount is magic again. */
const maxUsedUp = 1_000;

/** Identifies repeated tries; undefined: the command has no number, and the same fault applies again. */
function documentOf({ documentNr, receipt }: JsonObject): string | undefined {
  const number = documentNr ?? (receipt as { Uid?: unknown } | undefined)?.Uid;
  return typeof number === 'string' ? number.toLowerCase() : undefined;
}

function armedOnes({ loseAnswer, answerTwice, paperOut, powerCut }: ArmedMishaps): Mishap[] {
  return [
    ...(loseAnswer ? (['lost-answer'] as const) : []),
    ...(answerTwice ? (['answers-twice'] as const) : []),
    ...(paperOut ? (['paper-out'] as const) : []),
    ...(powerCut === 'beforeBank' ? (['crash-before-bank'] as const) : []),
    ...(powerCut === 'afterBank' ? (['crash-after-bank'] as const) : []),
  ];
}
