// One callback: its address, every attempt with status, duration and the beginning of the ERP's answer, and the button to resend it.
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Answers } from '../api/answers.ts';
import { useChange, useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { duration } from '../i18n/format.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icons.tsx';
import { Read } from '../parts/page.tsx';
import { State, StateShape } from '../parts/state-mark.tsx';
import { Copyable, ExactMoment, Moment } from '../parts/values.tsx';

export type Callback = Answers['listCallbacks']['callbacks'][number];

type Attempt = Answers['readCallback']['attempts'][number];

const isGood = (status: number | undefined) => status !== undefined && status >= 200 && status <= 299;

export function CallbackPanel({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useTranslation();
  const { may } = useViewer();
  const page = useRead<{ callback: Callback; attempts: Attempt[] }>(`/callbacks/${id}`);
  const resend = useChange(['/callbacks', '/attention', '/overview']);
  return (
    <Dialog title={t('callbacks.one')} onClose={onClose} size={640}>
      <Read of={page} rows={4}>
        {({ callback, attempts }) => (
          <div className="cb-panel">
            <dl>
              <dt>{t('list.state')}</dt>
              <dd className="row">
                <State state={callback.state} />
                {callback.state === 'pending' && callback.nextAttemptAt !== undefined && (
                  <span className="small second">
                    {t('callbacks.nextTry')} <ExactMoment at={callback.nextAttemptAt} shape="clock" />
                  </span>
                )}
              </dd>
              <dt>{t('callbacks.about')}</dt>
              <dd>
                <Link className="link" href={`${callback.subjectKind === 'invoice' ? '/invoices' : '/fiscal'}/${callback.subjectId}`}>
                  {t(`callbacks.subject.${callback.subjectKind}`)} {callback.subjectId.slice(0, 8)}
                </Link>
              </dd>
              <dt>webhook-id</dt>
              <dd>
                <Copyable text={callback.id} />
              </dd>
              <dt>URL</dt>
              <dd className="mono break">{callback.url}</dd>
            </dl>
            {attempts.length === 0 ? (
              <p className="second">{t('callbacks.noTry')}</p>
            ) : (
              <ol className="attempts">
                {attempts.map((attempt, index) => (
                  <li key={`${attempt.at} ${index}`}>
                    <StateShape state={isGood(attempt.status) ? 'delivered' : 'dead'} />
                    <span>
                      {attempt.status === undefined
                        ? (attempt.error ?? t('callbacks.noAnswer'))
                        : t('callbacks.answered', { status: attempt.status })}
                      <span className="faint"> · {duration(attempt.durationMs, t)}</span>
                    </span>
                    <span className="small faint">
                      <Moment at={attempt.at} />
                    </span>
                    {attempt.responseHead !== undefined && attempt.responseHead !== '' && (
                      <pre className="code">{attempt.responseHead}</pre>
                    )}
                  </li>
                ))}
              </ol>
            )}
            {resend.error && (
              <p className="note tone-bad" role="alert">
                {resend.error.message}
              </p>
            )}
            {may('setup') && (
              <div className="dialog-foot">
                <p className="small second grow">{t('callbacks.resend.consequence')}</p>
                <button
                  type="button"
                  className="btn primary"
                  disabled={resend.isPending}
                  onClick={() => resend.mutate({ path: `/callbacks/${id}/resend` })}
                >
                  <Icon name="send" />
                  {t('callbacks.resend.button')}
                </button>
              </div>
            )}
          </div>
        )}
      </Read>
    </Dialog>
  );
}
