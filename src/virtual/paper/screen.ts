// The display and the printouts of a device, as events and as a short history.
import type { Clock } from '../../kernel/clock.ts';
import type { Bani } from '../../kernel/money.ts';

export type PrintKind = 'receipt' | 'slip' | 'X' | 'Z';

export interface Printout {
  kind: PrintKind;
  /** The number on the paper. */
  number?: string;
  text: string;
  /** The same as a picture, if the device draws one. */
  svg?: string;
}

export type DisplayState = 'idle' | 'presentCard' | 'enterPin' | 'asking' | 'approved' | 'declined' | 'refused' | 'printing' | 'outOfPaper';

/** Data of the display besides its text. */
export interface DisplayAbout {
  commandId?: string;
  amountBani?: Bani;
  authCode?: string;
  maskedCard?: string;
}

export interface Display extends DisplayAbout {
  state: DisplayState;
  text: string;
}

export type ScreenEvent =
  | ({ type: 'display'; atMs: number } & Display)
  | ({ type: 'paper'; atMs: number } & Printout)
  | { type: 'power'; atMs: number; isOn: boolean };

export type Screen = ReturnType<typeof createScreen>;

const maxRecent = 50;
const idle: Display = { state: 'idle', text: '' };

export function createScreen(clock: Clock) {
  const listeners = new Set<(event: ScreenEvent) => void>();
  let recent: ScreenEvent[] = [];
  let display = idle;
  let paper: (Printout & { atMs: number }) | undefined;

  function emit(event: ScreenEvent): void {
    recent = [...recent.slice(1 - maxRecent), event];
    for (const listener of listeners) listener(event);
  }

  return {
    /** The device's clock. */
    now: () => clock.now(),
    show(state: DisplayState, text: string, about: DisplayAbout = {}): void {
      display = { state, text, ...about };
      emit({ type: 'display', atMs: clock.now(), ...display });
    },
    print(printout: Printout): void {
      paper = { ...printout, atMs: clock.now() };
      emit({ type: 'paper', ...paper });
    },
    power(isOn: boolean): void {
      display = idle;
      emit({ type: 'power', atMs: clock.now(), isOn });
    },
    /** The current display; idle after a start. */
    display: () => display,
    /** The last printout. */
    paper: () => paper,
    /** Listens until the returned function is called. */
    listen(listener: (event: ScreenEvent) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** The newest events, oldest first. */
    recent: () => recent,
  };
}
