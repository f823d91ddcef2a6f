// A step of a command's timeline.

export interface CommandEvent {
  commandId: string;
  atMs: number;
  step: string;
  channel?: string | undefined;
  detail?: string | undefined;
  /** How many further steps of this kind are counted but not listed; the last happened at `atMs`. */
  further?: number | undefined;
}
