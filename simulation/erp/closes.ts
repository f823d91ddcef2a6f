// What a till may be answered about a close (closeDay, Z): never the result of an earlier one that cannot have in it what was sold since. A sale by
// QR is no command, so the gateway knows it by its invoice alone [D149].
import type { ShopDevice } from '../shop-devices.ts';
import type { Answer } from './caller.ts';
import type { Clerk } from './clerk.ts';

/** `sinceMs`: when the till began to ask. */
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
