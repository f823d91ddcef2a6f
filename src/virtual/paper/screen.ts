// What a person in front of the device sees: lines on its display and paper from its printer, as events and as a short memory.
import type { Clock } from '../../kernel/clock.ts';

export interface Printout {
  text: string;
  /** The same as a picture, where the device draws one. */
  svg?: string;
}

export type ScreenEvent =
  | { type: 'display'; atMs: number; text: string; commandId?: string }
  | { type: 'paper'; atMs: number; text: string; svg?: string }
  | { type: 'power'; atMs: number; isOn: boolean };

export interface Screen {
  /** The device's clock. */
  now(): number;
  show(text: string, commandId?: string): void;
  print(printout: Printout): void;
  power(isOn: boolean): void;
  /** Listens until the returned function is called. */
  listen(listener: (event: ScreenEvent) => void): () => void;
  /** The newest events, oldest first. */
  recent(): ScreenEvent[];
}

const maxRecent = 50;

export function createScreen(clock: Clock): Screen {
  const listeners = new Set<(event: ScreenEvent) => void>();
  let recent: ScreenEvent[] = [];

  function emit(event: ScreenEvent): void {
    recent = [...recent.slice(1 - maxRecent), event];
    for (const listener of listeners) listener(event);
  }

  return {
    now: () => clock.now(),
    show: (text, commandId) => emit({ type: 'display', atMs: clock.now(), text, ...(commandId === undefined ? {} : { commandId }) }),
    print: (printout) => emit({ type: 'paper', atMs: clock.now(), ...printout }),
    power: (isOn) => emit({ type: 'power', atMs: clock.now(), isOn }),
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    recent: () => recent,
  };
}
