// Data that this room attaches to a request or a socket, stored on the object under a private symbol. No other code writes it by
// accident, and its lifetime is that of the object. A WeakMap would do the same, but every garbage collection scans it.

export interface Notes<Thing extends object, Note> {
  of(thing: Thing): Note | undefined;
  set(thing: Thing, note: Note): void;
}

export function createNotes<Thing extends object, Note>(): Notes<Thing, Note> {
  const place = Symbol('note');
  type Noted = Thing & { [place]?: Note };
  return {
    of: (thing) => (thing as Noted)[place],
    set(thing, note) {
      (thing as Noted)[place] = note;
    },
  };
}
