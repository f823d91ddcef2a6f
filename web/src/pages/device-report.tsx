// What a device answered, as a report for people: its numbers and totals by name, amounts in lei. What has no name here is shown below, as
// received.
import { useTranslation } from 'react-i18next';
import { lei } from '../i18n/format.ts';
import { ExactMoment } from '../parts/values.tsx';
import { Json } from './raw-card.tsx';

const amounts = ['amount', 'sales', 'refunds', 'cash', 'card', 'cashIn', 'cashOut', 'total', 'change', 'cashInDrawer'] as const;
const plain = ['number', 'count', 'receipts', 'documentNumber', 'rrn', 'operationId', 'authCode', 'maskedCard', 'documentNr'] as const;

export function DeviceReport({ report }: { report: string }) {
  const { t } = useTranslation();
  const { totals, time, ...fields } = JSON.parse(report) as Record<string, unknown>;
  const all = { ...fields, ...(typeof totals === 'object' && totals !== null ? (totals as Record<string, unknown>) : {}) };
  const named = [...plain, ...amounts].filter((name) => ['string', 'number'].includes(typeof all[name]));
  const others = Object.entries(all).filter(([name]) => !named.some((known) => known === name));
  const isAmount = (name: string) => amounts.some((amount) => amount === name);
  return (
    <>
      {named.length > 0 && (
        <dl className="device-report">
          {typeof time === 'string' && (
            <div>
              <dt>{t('report.time')}</dt>
              <dd>
                <ExactMoment at={time} shape="full" />
              </dd>
            </div>
          )}
          {named.map((name) => (
            <div key={name}>
              <dt>{t(`report.${name}`)}</dt>
              <dd className={isAmount(name) ? 'num' : 'mono'}>{isAmount(name) ? `${lei(Number(all[name]))} MDL` : String(all[name])}</dd>
            </div>
          ))}
        </dl>
      )}
      {others.length > 0 && (
        <details open={named.length === 0}>
          <summary>{t('report.others')}</summary>
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it may scroll, so the keyboard must reach it */}
          <pre className="code code-box" tabIndex={0} aria-label={t('report.others')}>
            <Json value={Object.fromEntries(others)} />
          </pre>
        </details>
      )}
    </>
  );
}
