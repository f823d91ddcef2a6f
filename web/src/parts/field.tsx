// A control of a form.
import type { ReactNode } from 'react';

/** A control with its name and, where it helps, a hint. */
export function Field({ label, hint, children }: { label: string; hint?: string; children: ReactNode }) {
  return (
    // The control is always the child.
    <label className="field">
      <span>{label}</span>
      {children}
      {hint !== undefined && <small>{hint}</small>}
    </label>
  );
}
