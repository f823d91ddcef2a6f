// What befalls a command: by its amount (magic) or because somebody armed it by hand, one answer for both.
// What was armed befalls the next command that takes money or prints, and is used up by it. Paper that ran out stays out until a new roll.
import type { Bani } from '../../kernel/money.ts';
import type { DeviceKind, JsonObject } from '../../link/protocol.ts';
import { type Magic, magicOf } from './magic-amounts.ts';

export type Mishap = Magic;
export type Befalls = ReadonlySet<Mishap>;

export interface ArmedMishaps {
  loseAnswer: boolean;
  answerTwice: boolean;
  paperOut: boolean;
  powerCut?: 'beforeBank' | 'afterBank' | undefined;
}

export interface Mishaps {
  /** Looks, and changes nothing. */
  lookingAt(name: string, args: JsonObject): Befalls;
  /** The same, and what was armed for one command is used up, as is a magic amount for its document [D171]. */
  take(name: string, args: JsonObject): Befalls;
  /** Whether somebody is in the menu; a document meets that once, too. */
  isBusy(name: string, args: JsonObject): boolean;
  armed(): ArmedMishaps;
  arm(change: Partial<ArmedMishaps>): void;
}

export interface MishapDeps {
  kind: DeviceKind;
  /** False: no amount is magic. */
  hasMagic: boolean;
  /** What the command is about; undefined: nothing befalls it. */
  amountOf(name: string, args: JsonObject): Bani | undefined;
}

const nothingArmed: ArmedMishaps = { loseAnswer: false, answerTwice: false, paperOut: false };

export function createMishaps({ kind, hasMagic, amountOf }: MishapDeps): Mishaps {
  let armed: ArmedMishaps = nothingArmed;
  const usedUp = new Set<string>();

  function lookingAt(name: string, args: JsonObject): Befalls {
    const amountBani = amountOf(name, args);
    if (amountBani === undefined) return new Set();
    const document = documentOf(name, args);
    const isUsedUp = document !== undefined && usedUp.has(document);
    const magic = hasMagic && !isUsedUp ? magicOf(kind, amountBani) : undefined;
    return new Set([...(magic === undefined ? [] : [magic]), ...armedOnes(armed)]);
  }

  function useUp(name: string, args: JsonObject): void {
    const document = documentOf(name, args);
    if (document === undefined) return;
    usedUp.add(document);
    const [oldest] = usedUp;
    if (usedUp.size > maxUsedUp && oldest !== undefined) usedUp.delete(oldest);
  }

  return {
    lookingAt,
    isBusy(name, args) {
      if (!lookingAt(name, args).has('busy')) return false;
      useUp(name, args);
      return true;
    },
    take(name, args) {
      const befalls = lookingAt(name, args);
      useUp(name, args);
      if (amountOf(name, args) !== undefined) armed = { ...nothingArmed, paperOut: armed.paperOut };
      return befalls;
    },
    armed: () => armed,
    arm(change) {
      armed = { ...armed, ...change };
    },
  };
}

/** Documents that are remembered; for older ones an amount is magic again. */
const maxUsedUp = 1_000;

/** What a second try has in common with the first; undefined: it has no name, and meets the same again. */
function documentOf(name: string, { documentNr, receipt }: JsonObject): string | undefined {
  const number = documentNr ?? (receipt as { Uid?: unknown } | undefined)?.Uid;
  return typeof number === 'string' ? `${name} ${number}` : undefined;
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
