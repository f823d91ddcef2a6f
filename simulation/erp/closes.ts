// Checks the answer to a close (closeDay, Z): it is never the result of an earlier close that lacks later sales. A sale by
// QR is not a command, so the gateway knows it only by its invoice [D149].
import type { ShopDevice } from '../shop-devices.ts';
import type { Answer } from './caller.ts';
import type { Clerk } from './clerk.ts';

/** `sinceMs`: when the till sent its first request. */
export function checkClose(
  { shop }: Pick<Clerk, 'shop'>,
  name: string,
  target: ShopDevice,
  sinceMs: number,
  answer: Answer | undefined,
): void {
  if (answer?.code !== 0 || !answer.isRepeated || answer.oid === undefined) return;
  const [close] = shop.storage.peek('select issued_at from commands where id = ?', [answer.oid]);
  const paid = shop.storage.peek('select oid from invoices where paid_device_id = ? and ended_at > ? and ended_at < ?', [
    target.id,
    Number(close?.['issued_at'] ?? sinceMs),
    sinceMs,
  ]);
  for (const { oid } of paid)
    shop.violated(`${name} was answered with ${answer.oid}, made before invoice ${oid} was paid by QR at ${target.name}`);
}
