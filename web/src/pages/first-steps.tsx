// An empty Overview: the three steps to the first payment, each with the page where it is done, and which are done already.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { useMerchants } from '../parts/merchant-field.tsx';
import { StateShape } from '../parts/state-mark.tsx';

interface FirstStep {
  name: string;
  path: string;
  isDone: boolean;
}

export function FirstSteps({ devices }: { devices: number }) {
  const { t } = useTranslation();
  const { session, scope, may } = useViewer();
  const merchants = useMerchants();
  const keys = useRead<{ keys: { state: string }[] }>('/keys', { ...scope }, { isEnabled: !session.isSandbox });
  const steps: FirstStep[] = session.isSandbox
    ? [
        { name: 'story', path: '/playground', isDone: false },
        { name: 'pay', path: '/developers?call=pay', isDone: false },
        { name: 'open', path: '/payments', isDone: false },
      ]
    : [
        ...(may('merchants') ? [{ name: 'merchant', path: '/merchants', isDone: (merchants.data?.merchants.length ?? 0) > 0 }] : []),
        { name: 'key', path: '/keys', isDone: keys.data?.keys.some(({ state }) => state === 'active') === true },
        { name: 'device', path: '/devices', isDone: devices > 0 },
        ...(may('merchants') ? [] : [{ name: 'first', path: '/developers?call=pay', isDone: false }]),
      ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  if (!may('setup')) return <p className="note">{t('firstSteps.viewer')}</p>;
  return (
    <section className="card first-steps" aria-label={t('firstSteps.title')}>
      <header>
        <h2>{t('firstSteps.title')}</h2>
      </header>
      <ol>
        {steps.map(({ name, path, isDone }, index) => (
          <li key={name} className={isDone ? 'done' : ''}>
            <span className="first-mark">{isDone ? <StateShape state="ok" size={20} /> : index + 1}</span>
            <div className="grow">
              <h3>{t(`firstSteps.${name}.title`)}</h3>
              <p className="second">{t(`firstSteps.${name}.meaning`)}</p>
            </div>
            {isDone ? (
              <span className="tone-ok">{t('firstSteps.done')}</span>
            ) : (
              <Link className={index === next ? 'btn primary' : 'btn'} href={path}>
                {t(`firstSteps.${name}.button`)}
              </Link>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
