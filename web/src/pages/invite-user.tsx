// Invites a user: name, e-mail, role, and the merchants that the user sees.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Answers } from '../api/answers.ts';
import { useChange } from '../api/query.ts';
import { type Role, useViewer } from '../api/session.tsx';
import { AskDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { MerchantField } from '../parts/merchant-field.tsx';

export type ListedUser = Answers['listUsers']['users'][number];

export function InviteUser({ onClose, onMade }: { onClose: () => void; onMade: (link: string) => void }) {
  const { t } = useTranslation();
  const { session, merchantId } = useViewer();
  const isOperator = session.user.role === 'operator';
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('merchant');
  const [owner, setOwner] = useState(merchantId ?? '');
  const [seesAll, setSeesAll] = useState(false);
  const invite = useChange<{ link: string }>(['/users', '/audit'], ({ link }) => {
    onClose();
    onMade(link);
  });
  const needsMerchant = role !== 'operator' && !(role === 'viewer' && seesAll);
  const roles: Role[] = isOperator ? ['operator', 'merchant', 'viewer'] : ['merchant', 'viewer'];
  return (
    <AskDialog
      title={t('users.invite.title')}
      consequence={t('users.invite.consequence')}
      action={t('users.invite.do')}
      isRunning={invite.isPending}
      isBlocked={name.trim() === '' || !email.includes('@') || (needsMerchant && owner === '')}
      error={invite.error}
      onClose={onClose}
      onConfirm={() =>
        invite.mutate({
          path: '/users',
          body: {
            name: name.trim(),
            email: email.trim(),
            role,
            ...(needsMerchant ? { merchantId: owner } : {}),
            ...(role === 'viewer' && seesAll ? { allMerchants: true } : {}),
          },
        })
      }
    >
      <Field label={t('users.name')}>
        <input className="input" data-autofocus maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label={t('signIn.email')}>
        <input className="input" type="email" maxLength={254} value={email} onChange={(event) => setEmail(event.target.value)} />
      </Field>
      <fieldset className="field">
        <legend>{t('users.roleHead')}</legend>
        {roles.map((one) => (
          <label key={one} className="check">
            <input type="radio" name="role" aria-label={t(`role.${one}`)} checked={role === one} onChange={() => setRole(one)} />
            <span>
              <b className="strong">{t(`role.${one}`)}</b> <span className="small second">{t(`users.roleMeans.${one}`)}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {role === 'viewer' && isOperator && (
        <label className="check">
          <input type="checkbox" checked={seesAll} onChange={() => setSeesAll(!seesAll)} />
          {t('users.seesAll')}
        </label>
      )}
      {needsMerchant && <MerchantField value={owner} onChange={setOwner} />}
    </AskDialog>
  );
}
