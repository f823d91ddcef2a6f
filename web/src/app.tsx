// Which page an address means. Pages are loaded when they are first opened; everything above them stays.
import { type ComponentType, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { type Session, SessionProvider, type User, useSession } from './api/session.tsx';
import { Blank, Loading, Trouble } from './parts/page.tsx';
import { Confirmation } from './shell/confirmation.tsx';
import { deferred } from './shell/deferred.ts';
import { PageGuard } from './shell/page-guard.tsx';
import { Shell } from './shell/shell.tsx';
import { SignIn } from './shell/sign-in.tsx';

const Account = deferred(() => import('./pages/account.tsx'), 'Account');
const pages: [path: string, component: ComponentType][] = [
  ['/overview', deferred(() => import('./pages/overview.tsx'), 'Overview')],
  ['/payments', deferred(() => import('./pages/payments.tsx'), 'Payments')],
  ['/payments/:id', deferred(() => import('./pages/sale.tsx'), 'Sale')],
  ['/fiscal', deferred(() => import('./pages/fiscal.tsx'), 'Fiscal')],
  ['/fiscal/:id', deferred(() => import('./pages/sale.tsx'), 'Sale')],
  ['/invoices', deferred(() => import('./pages/invoices.tsx'), 'Invoices')],
  ['/invoices/:oid', deferred(() => import('./pages/invoice.tsx'), 'Invoice')],
  ['/devices', deferred(() => import('./pages/devices.tsx'), 'Devices')],
  ['/callbacks', deferred(() => import('./pages/callbacks.tsx'), 'Callbacks')],
  ['/attention', deferred(() => import('./pages/attention.tsx'), 'Attention')],
  ['/day-close', deferred(() => import('./pages/day-close.tsx'), 'DayClose')],
  ['/keys', deferred(() => import('./pages/keys.tsx'), 'Keys')],
  ['/merchants', deferred(() => import('./pages/merchants.tsx'), 'Merchants')],
  ['/users', deferred(() => import('./pages/users.tsx'), 'Users')],
  ['/audit', deferred(() => import('./pages/audit.tsx'), 'Audit')],
  ['/instances', deferred(() => import('./pages/instances.tsx'), 'Instances')],
  ['/developers', deferred(() => import('./pages/developers.tsx'), 'Developers')],
  ['/account', Account],
];
/** Only in the sandbox. */
const Playground = deferred(() => import('./pages/playground/playground.tsx'), 'Playground');
const LinkPage = deferred(() => import('./shell/link-page.tsx'), 'LinkPage');

export function App() {
  const session = useSession();
  const [path] = useLocation();
  if (path === '/link') {
    return (
      <PageGuard path={path}>
        <Suspense fallback={<Loading />}>
          <LinkPage isSandbox={session.data?.isSandbox === true} />
        </Suspense>
      </PageGuard>
    );
  }
  if (session.data === undefined) return session.error ? <Trouble error={session.error} retry={() => void session.refetch()} /> : null;
  const { user } = session.data;
  if (!user) return <SignIn session={session.data} />;
  return <SignedIn session={{ ...session.data, user }} />;
}

function SignedIn({ session }: { session: Session & { user: User } }) {
  const [path] = useLocation();
  return (
    <SessionProvider session={session}>
      <Confirmation hasTotp={session.user.hasTotp}>
        <Shell>
          <PageGuard path={path}>
            <Suspense fallback={<Loading />}>
              <Switch>
                {session.needsTotp === true && <Route component={Account} />}
                <Route path="/">
                  <Redirect to="/overview" replace />
                </Route>
                <Route path="/sign-in">
                  <Redirect to="/overview" replace />
                </Route>
                {pages.map(([pattern, component]) => (
                  <Route key={pattern} path={pattern} component={component} />
                ))}
                {session.isSandbox && <Route path="/playground" component={Playground} />}
                <Route component={NoSuchPage} />
              </Switch>
            </Suspense>
          </PageGuard>
        </Shell>
      </Confirmation>
    </SessionProvider>
  );
}

function NoSuchPage() {
  const { t } = useTranslation();
  return (
    <Blank icon="search" title={t('noPage.title')}>
      <p>{t('noPage.meaning')}</p>
    </Blank>
  );
}
