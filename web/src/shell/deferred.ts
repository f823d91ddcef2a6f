// Parts of the cabinet that are loaded on first use: pages, dialogs, the drawer of phones.
import { type ComponentType, lazy } from 'react';
import { LoadFailure } from './page-guard.tsx';

/** `name` is the component among what the file exports. */
// oxlint-disable-next-line typescript/no-explicit-any -- the router gives pages no properties, and the type of `lazy` asks for this
export function deferred<Name extends string, Part extends ComponentType<any>>(load: () => Promise<{ [name in Name]: Part }>, name: Name) {
  return lazy(async () => {
    try {
      return { default: (await load())[name] };
    } catch (error) {
      throw new LoadFailure(`${name} could not be loaded.`, { cause: error });
    }
  });
}
