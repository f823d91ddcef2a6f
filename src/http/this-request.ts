// A sentence for errors 2, 41 and 503 [D59]: they are about this request only. An earlier equal request may have been carried out, and a
// commit whose answer was lost may have succeeded. Added here for all routes, so that no error message can omit it.
import type { ErrorName } from '../kernel/error-codes.ts';
import type { Access } from './authentication.ts';

const sentNothing = 'This request sent no operation to a device; an earlier one may have.';
const changedNothing = 'This request changed nothing; an earlier one may have.';
const mayBeWritten = 'It may have been stored nevertheless';

/** A sentence to append to the error's own; undefined if none is needed. */
export function aboutThisRequest(errorName: ErrorName, access: Access | undefined): string | undefined {
  const mode = modeOf(access);
  if (mode === undefined) return undefined;
  if (errorName === 'Too_Many_Requests') return mode === 'device' ? sentNothing : changedNothing;
  if (errorName !== 'Error_Connection_Database') return undefined;
  switch (mode) {
    case 'device':
      return sentNothing;
    case 'invoice':
      return `${mayBeWritten}; repeating the request is safe.`;
    case 'create':
      return `${mayBeWritten}; repeating the request is safe with the Idempotency-Key that it had, and without one makes another invoice.`;
  }
}

function modeOf(access: Access | undefined): 'device' | 'invoice' | 'create' | undefined {
  if (access?.kind === 'optionalKey') return 'invoice';
  if (access?.kind !== 'key') return undefined;
  return access.modules.includes('QR') ? 'create' : 'device';
}
