// The merchant that something belongs to: a choice for users who see several merchants, given for the others.
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import type { Answers } from '../api/answers.ts';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { Field } from './field.tsx';

export type Merchant = Answers['listMerchants']['merchants'][number];

/** For users who see several merchants; the others have nothing to choose. */
export function useMerchants() {
  const { session } = useViewer();
  return useRead<{ merchants: Merchant[] }>('/merchants', {}, { isEnabled: session.user.merchantId === undefined });
}

export function useMerchantNames(): (id: string) => string {
  const merchants = useMerchants();
  const { merchantId, merchantName } = useViewer().session.user;
  return (id) =>
    (id === merchantId ? merchantName : merchants.data?.merchants.find((merchant) => merchant.id === id)?.name) ?? id.slice(0, 8);
}

export function MerchantField({ value, onChange }: { value: string; onChange: (id: string) => void }) {
  const { t } = useTranslation();
  const { session } = useViewer();
  const merchants = useMerchants();
  const all = merchants.data?.merchants;
  const only = all?.length === 1 ? all[0]?.id : undefined;
  // With a single merchant there is nothing to choose.
  useEffect(() => {
    if (value === '' && only !== undefined) onChange(only);
  }, [value, only, onChange]);
  if (session.user.merchantId !== undefined) return null;
  return (
    <Field label={t('list.merchant')}>
      <select className="input" value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{t('merchants.choose')}</option>
        {all?.map((merchant) => (
          <option key={merchant.id} value={merchant.id}>
            {merchant.name}
          </option>
        ))}
      </select>
    </Field>
  );
}
