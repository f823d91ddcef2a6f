// A user who was invited by a one-time link and has set a password with it.
import type { Till } from '../../support/till.ts';

export interface Invitation {
  name: string;
  role: string;
  merchantId?: string;
  allMerchants?: boolean;
}

export interface Login {
  email: string;
  password: string;
}

const password = 'a sentence that nobody guesses';

export async function invitedBy(baseUrl: string, admin: Till['admin'], { name, role, ...standing }: Invitation): Promise<Login> {
  const email = `${name.toLowerCase().replaceAll(' ', '.')}@example.md`;
  const { link } = await admin('/users', { email, name, role, ...standing });
  const token = String(link).split('#')[1];
  const used = await fetch(`${baseUrl}/cabinet/api/links/use`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-tillgate-request': '1' },
    body: JSON.stringify({ token, password }),
  });
  if (!used.ok) throw new Error(`The link of ${email} was refused: ${await used.text()}`);
  return { email, password };
}
