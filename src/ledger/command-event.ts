// A step of a command's timeline.

export interface CommandEvent {
  commandId: string;
  atMs: number;
  step: string;
  channel?: string | undefined;
  detail?: string | undefined;
  /** So many more of this step that are not listed one by one, the last of them at `atMs`. */
  further?: number | undefined;
}
