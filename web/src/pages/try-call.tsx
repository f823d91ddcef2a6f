// Trying a call: in the sandbox with key and device filled in; in production with a key that is pasted and stays in this tab,
// and a call that moves money asks for confirmation.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Answers } from '../api/answers.ts';
import { basePath } from '../api/client.ts';
import { AskDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Icon } from '../parts/icons.tsx';
import { copyText, useBriefly } from '../parts/values.tsx';
import type { Operation } from './openapi-reading.ts';
import { Json } from './raw-card.tsx';
import { newKey } from './sale-steps.tsx';

// Only in memory: it is gone with the tab, and no script of another page can read it.
let pastedKey = '';

export type DeveloperFacts = Answers['readDevelopers'];

interface TryCallProps {
  operation: Operation;
  facts: DeveloperFacts | undefined;
  isSandbox: boolean;
}

type Fields = Record<string, unknown>;

const payPath = '/Device/payment/Pay';
const closePath = '/Device/payment/CloseDoc';

interface Answer {
  status: number;
  ms: number;
  body: unknown;
}

export function TryCall({ operation, facts, isSandbox }: TryCallProps) {
  const { t } = useTranslation();
  const [key, setKey] = useState(facts?.apiKey ?? pastedKey);
  const [text, setText] = useState(() => JSON.stringify(filled(operation, facts), null, 2));
  const [answer, setAnswer] = useState<Answer>();
  const [sent, setSent] = useState<Fields>({});
  const [error, setError] = useState<string>();
  const [isAsking, setIsAsking] = useState(false);
  const [isRunning, setIsRunning] = useState(false);
  const [isCopied, markCopied] = useBriefly();
  const isGet = operation.method === 'GET';
  const movesMoney = !isGet && operation.tag !== 'Terminal status';
  const apiKey = facts?.apiKey ?? key;

  async function send(): Promise<void> {
    setIsAsking(false);
    setError(undefined);
    const fields = parseFields(text);
    if (!fields) {
      setError(t('developers.badJson'));
      return;
    }
    setIsRunning(true);
    try {
      setAnswer(await sendCall(operation, fields, apiKey));
      setSent(fields);
    } catch {
      setError(t('trouble.lost.title'));
    } finally {
      setIsRunning(false);
    }
  }
  const curl = curlOf(operation, parseFields(text) ?? {}, isGet);
  return (
    <section className="card">
      <header>
        <h2 className="grow">{t('developers.try')}</h2>
        <button type="button" className="btn compact" onClick={() => void copyText(curl).then(markCopied)}>
          {isCopied ? t('copy.done') : t('developers.copyCurl')}
        </button>
      </header>
      <form
        className="inside stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (movesMoney && !isSandbox) setIsAsking(true);
          else void send();
        }}
      >
        {facts?.apiKey === undefined && (
          <Field label="X-API-Key" hint={t('developers.keyHint')}>
            <input
              className="input mono"
              autoComplete="off"
              spellCheck={false}
              value={key}
              onChange={(event) => {
                pastedKey = event.target.value.trim();
                setKey(pastedKey);
              }}
            />
          </Field>
        )}
        <Field label={t(isGet ? 'developers.query' : 'developers.body')}>
          <textarea className="input" spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />
        </Field>
        <button type="submit" className="btn primary" disabled={isRunning || apiKey === ''}>
          <Icon name="send" />
          {isRunning ? t('dialog.running') : t('developers.send')}
        </button>
        {error !== undefined && (
          <p className="note tone-bad" role="alert">
            {error}
          </p>
        )}
        {answer && <AnswerBox answer={answer} />}
        {answer && <Follow operation={operation} answer={answer} apiKey={apiKey} sent={sent} />}
      </form>
      {isAsking && (
        <AskDialog
          title={t('developers.ask.title')}
          consequence={t('developers.ask.consequence')}
          action={t('developers.ask.do')}
          isRunning={isRunning}
          onClose={() => setIsAsking(false)}
          onConfirm={() => void send()}
        >
          {null}
        </AskDialog>
      )}
    </section>
  );
}

async function sendCall({ method, path }: Pick<Operation, 'method' | 'path'>, fields: Fields, apiKey: string): Promise<Answer> {
  const startedMs = performance.now();
  const isGet = method === 'GET';
  const query = new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)])).toString();
  const response = await fetch(`${basePath}${path}${isGet ? `?${query}` : ''}`, {
    method,
    credentials: 'omit',
    headers: { 'x-api-key': apiKey, ...(isGet ? {} : { 'content-type': 'application/json', 'idempotency-key': newKey() }) },
    ...(isGet ? {} : { body: JSON.stringify(fields) }),
  });
  return { status: response.status, ms: Math.round(performance.now() - startedMs), body: await response.json() };
}

/** Where the call's object is shown, and after a payment the CloseDoc that the terminal waits for. */
function Follow({ operation, answer, apiKey, sent }: { operation: Operation; answer: Answer; apiKey: string; sent: Fields }) {
  const { t } = useTranslation();
  const close = useMutation({ mutationFn: (fields: Fields) => sendCall({ method: 'POST', path: closePath }, fields, apiKey) });
  const { errorCode, OID, report } = answer.body as { errorCode?: number; OID?: string; report?: string };
  if (OID === undefined) return null;
  const page = operation.path.startsWith('/Invoice') ? 'invoices' : operation.tag === 'Fiscal Mode' ? 'fiscal' : 'payments';
  const { operationId } = (parseFields(report ?? '') ?? {}) as { operationId?: string };
  const isPaid = operation.path === payPath && errorCode === 0;
  const isClosed = (close.data?.body as { errorCode?: number } | undefined)?.errorCode === 0;
  return (
    <div className="row wrap-row">
      <Link className="btn" href={`/${page}/${OID}`}>
        {t(`developers.open.${page}`)}
      </Link>
      {isPaid && !isClosed && (
        <button
          type="button"
          className="btn"
          disabled={close.isPending}
          onClick={() => close.mutate({ DeviceID: sent['DeviceID'], documentNr: sent['documentNr'] ?? OID, operationId })}
        >
          {t('developers.closeDocument')}
        </button>
      )}
      {isPaid && <p className="small second">{t(isClosed ? 'developers.closed' : 'developers.mustClose')}</p>}
      {close.data && !isClosed && <AnswerBox answer={close.data} />}
    </div>
  );
}

function AnswerBox({ answer: { status, ms, body } }: { answer: Answer }) {
  const { t } = useTranslation();
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it
    <pre className="code code-box dev-answer" tabIndex={0} role="status">
      <span className="remark">{t('developers.answer', { status, ms })}</span>
      {'\n'}
      <Json value={body} />
    </pre>
  );
}

/** The example, without a key and with a device of the right kind. */
function filled(operation: Operation, facts: DeveloperFacts | undefined): Fields {
  const kind = operation.tag === 'Fiscal Mode' ? 'register' : 'terminal';
  const device = facts?.devices?.find((one) => one.kind === kind)?.id;
  const { APIKey: _key, ...fields } = operation.example;
  return {
    ...fields,
    ...('DeviceID' in fields && device !== undefined ? { DeviceID: device } : {}),
    // Every try is a new sale; sending the same text again repeats the call.
    ...('documentNr' in fields ? { documentNr: newUuid() } : {}),
  };
}

function parseFields(text: string): Fields | undefined {
  try {
    const fields = JSON.parse(text === '' ? '{}' : text) as unknown;
    return typeof fields === 'object' && fields !== null && !Array.isArray(fields) ? (fields as Fields) : undefined;
  } catch {
    return undefined;
  }
}

function curlOf(operation: Operation, fields: Fields, isGet: boolean): string {
  const address = `${location.origin}${basePath}${operation.path}`;
  const query = new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)])).toString();
  if (isGet) return `curl -H "X-API-Key: $KEY" '${address}?${query}'`;
  return `curl '${address}' \\\n  -H "X-API-Key: $KEY" -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(fields).replaceAll("'", "'\\''")}'`;
}

/** Version 4. `crypto.randomUUID` is not there on plain HTTP. */
function newUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
