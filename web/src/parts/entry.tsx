// A text field with its label and its error or success message, for sign-in, links and the account.
import type { HTMLInputAutoCompleteAttribute, ReactNode } from 'react';
import { Field } from './field.tsx';

interface EntryProps {
  label: string;
  hint?: string | undefined;
  type?: 'text' | 'email' | 'password';
  autoComplete: HTMLInputAutoCompleteAttribute;
  value: string;
  onChange: (value: string) => void;
  minLength?: number;
  isOptional?: boolean;
}

export function Entry({ label, hint, type = 'text', autoComplete, value, onChange, minLength, isOptional = false }: EntryProps) {
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      <input
        className="input"
        type={type}
        autoComplete={autoComplete}
        minLength={minLength}
        required={!isOptional}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

/** Six digits of an app; spaces are ignored. */
export function CodeEntry({ label, hint, value, onChange }: Pick<EntryProps, 'label' | 'hint' | 'value' | 'onChange'>) {
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      <input
        className="input"
        inputMode="numeric"
        autoComplete="one-time-code"
        pattern="\d{6}"
        required
        value={value}
        onChange={(event) => onChange(event.target.value.replace(/\s/g, ''))}
      />
    </Field>
  );
}

export function Said({ error, done }: { error?: string | undefined; done?: ReactNode }) {
  if (error !== undefined)
    return (
      <p className="note tone-bad" role="alert">
        {error}
      </p>
    );
  return done === undefined || done === false ? null : (
    <p className="note tone-ok" role="status">
      {done}
    </p>
  );
}
