// What this room remembers about a request or a socket, stored on the object itself under a private symbol: so no other code
// writes it by accident, and it ends with the thing. A WeakMap would promise the same, but every collection of garbage looks through it.

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
