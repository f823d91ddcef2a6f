// What is known about a sale: shop, device, caller, and all numbers. Ids copy on click.
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { SalePage, ShownReceipt } from '../api/sale.ts';
import { useBankName } from '../api/session.tsx';
import { lei, quantity } from '../i18n/format.ts';
import { Copyable, ExactMoment } from '../parts/values.tsx';
import { PrintPaper } from './print-sheet.tsx';

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <div>
      <dt>{t(`fact.${name}`)}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const numbers = ['rrn', 'authCode', 'operationId', 'documentNr', 'receiptUid', 'receiptNumber'] as const;

export function SaleFacts({ sale }: { sale: SalePage }) {
  const { t } = useTranslation();
  const bankName = useBankName();
  const { command, facts } = sale;
  const text = (name: string) => (facts[name] === undefined ? undefined : String(facts[name]));
  const own = command as unknown as Record<string, unknown>;
  return (
    <div className="facts">
      <section>
        <h2>{t('fact.sale')}</h2>
        <dl>
          {command.shop !== undefined && <Fact name="shop">{command.shop}</Fact>}
          <Fact name="device">
            <Link className="link" href={`/devices?device=${command.deviceId}`}>
              {command.deviceName}
            </Link>
            {command.bank !== undefined && `, ${bankName(command.bank)}`}
          </Fact>
          <Fact name="merchant">{command.merchantName}</Fact>
          <Fact name="asked">
            <ExactMoment at={command.at} shape="full" />
          </Fact>
          {(text('key') ?? text('person')) !== undefined && (
            <Fact name="by">{text('person') ?? t('fact.keyNamed', { name: text('key') })}</Fact>
          )}
          {text('card') !== undefined && <Fact name="card">{text('card')}</Fact>}
          {(['left', 'cash', 'cardPart'] as const).map((name) =>
            typeof facts[name] === 'number' ? (
              <Fact key={name} name={name}>
                <span className="num">{lei(facts[name])} MDL</span>
              </Fact>
            ) : null,
          )}
          {text('reason') !== undefined && <Fact name="reason">{text('reason')}</Fact>}
          {command.settledBy !== undefined && (
            <Fact name="settledBy">{t(`settledBy.${command.settledBy}`, { defaultValue: command.settledBy })}</Fact>
          )}
        </dl>
      </section>
      <section>
        <h2>{t('fact.numbers')}</h2>
        <dl>
          {numbers.map((name) => {
            const value = text(name) ?? own[name];
            return typeof value === 'string' && value !== '' ? (
              <Fact key={name} name={name}>
                <Copyable text={value} />
              </Fact>
            ) : null;
          })}
          <Fact name="command">
            <Copyable text={command.id} />
          </Fact>
        </dl>
      </section>
      {sale.receipt && <ReceiptFacts receipt={sale.receipt} />}
      {sale.receipt && <PrintPaper receipt={sale.receipt} title={command.merchantName} />}
    </div>
  );
}

export function ReceiptFacts({ receipt }: { receipt: ShownReceipt }) {
  const { t } = useTranslation();
  return (
    <section>
      <h2>{receipt.number === undefined ? t('fact.receipt') : t('fact.receiptNo', { number: receipt.number })}</h2>
      <ul className="receipt-lines">
        {receipt.items.map((line, index) => (
          <li key={`${line.name} ${index}`}>
            <span className="break">
              {line.name}
              {line.quantity !== 1 && ` × ${quantity(line.quantity)}`}
            </span>
            <span className="num">{lei(line.price * line.quantity)}</span>
          </li>
        ))}
        {receipt.total !== undefined && (
          <li className="total">
            <span>{t('fact.total')}</span>
            <span className="num">{lei(receipt.total)}</span>
          </li>
        )}
      </ul>
    </section>
  );
}
