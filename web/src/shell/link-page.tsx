// A one-time link: an invitation or a forgotten password. The token is in the fragment, which no server and no log ever sees.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { Answers } from '../api/answers.ts';
import { call } from '../api/client.ts';
import { CodeEntry, Entry, Said } from '../parts/entry.tsx';
import { Read } from '../parts/page.tsx';
import { ExactMoment } from '../parts/values.tsx';
import { SignInFrame } from './sign-in-frame.tsx';

type LinkFacts = Answers['readLink'];

const shortestPassword = 12;

export function LinkPage({ isSandbox }: { isSandbox: boolean }) {
  const { t } = useTranslation();
  const token = location.hash.slice(1);
  const facts = useQuery<LinkFacts>({
    queryKey: ['/links/read', token],
    queryFn: () => call<LinkFacts>('POST', '/links/read', { body: { token } }),
    retry: false,
  });
  return (
    <SignInFrame isSandbox={isSandbox} title={t(facts.data ? `link.${facts.data.purpose}` : 'link.title')}>
      <Read of={facts} rows={3}>
        {(link) => <SetPassword token={token} link={link} />}
      </Read>
    </SignInFrame>
  );
}

function SetPassword({ token, link }: { token: string; link: LinkFacts }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [, go] = useLocation();
  const [name, setName] = useState(link.name ?? '');
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const [code, setCode] = useState('');
  const [error, setError] = useState<string>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (password !== again) {
      setError(t('link.differ'));
      return;
    }
    const given = Object.fromEntries(Object.entries({ name, email, code }).filter(([, value]) => value !== ''));
    call('POST', '/links/use', { body: { token, password, ...given } }).then(
      async () => {
        go('/overview', { replace: true });
        await client.resetQueries();
      },
      (thrown: Error) => setError(thrown.message),
    );
  };
  return (
    <form className="stack wide" onSubmit={submit}>
      <p className="second">
        {link.email !== undefined && `${link.email} · `}
        {t('link.until')} <ExactMoment at={link.expiresAt} />
      </p>
      {link.email === undefined && (
        <Entry label={t('signIn.email')} type="email" autoComplete="username" value={email} onChange={setEmail} />
      )}
      {link.purpose === 'invitation' && <Entry label={t('users.name')} autoComplete="name" isOptional value={name} onChange={setName} />}
      <Entry
        label={t('link.password')}
        hint={t('link.rule', { n: shortestPassword })}
        type="password"
        autoComplete="new-password"
        minLength={shortestPassword}
        value={password}
        onChange={setPassword}
      />
      <Entry label={t('link.again')} type="password" autoComplete="new-password" value={again} onChange={setAgain} />
      {link.needsCode && <CodeEntry label={t('signIn.code')} hint={t('signIn.codeHint')} value={code} onChange={setCode} />}
      <button type="submit" className="btn primary block">
        {t('link.action')}
      </button>
      <Said error={error} />
    </form>
  );
}
