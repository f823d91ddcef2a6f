// The pages of the cabinet: their addresses, their links, and the letter after `g` that opens each.
import type { Session, User } from '../api/session.tsx';
import type { IconName } from '../parts/icons.tsx';

export interface Place {
  key: string;
  path: string;
  icon: IconName;
  letter: string;
  /** Only in the sandbox. */
  isSandboxOnly?: true;
  isOperatorOnly?: true;
}

export interface PlaceGroup {
  key: string;
  places: Place[];
}

const placeGroups: PlaceGroup[] = [
  {
    key: 'work',
    places: [
      { key: 'overview', path: '/overview', icon: 'overview', letter: 'o' },
      { key: 'payments', path: '/payments', icon: 'payments', letter: 'p' },
      { key: 'fiscal', path: '/fiscal', icon: 'fiscal', letter: 'f' },
      { key: 'invoices', path: '/invoices', icon: 'invoices', letter: 'i' },
      { key: 'devices', path: '/devices', icon: 'devices', letter: 'd' },
      { key: 'callbacks', path: '/callbacks', icon: 'callbacks', letter: 'c' },
      { key: 'attention', path: '/attention', icon: 'attention', letter: 'a' },
      { key: 'dayClose', path: '/day-close', icon: 'dayClose', letter: 'z' },
    ],
  },
  {
    key: 'setUp',
    places: [
      { key: 'keys', path: '/keys', icon: 'keys', letter: 'k' },
      { key: 'merchants', path: '/merchants', icon: 'merchants', letter: 'm' },
      { key: 'users', path: '/users', icon: 'users', letter: 'u' },
      { key: 'audit', path: '/audit', icon: 'audit', letter: 'l' },
      { key: 'instances', path: '/instances', icon: 'gateway', letter: 'w', isOperatorOnly: true },
    ],
  },
  {
    key: 'build',
    places: [
      { key: 'playground', path: '/playground', icon: 'playground', letter: 'y', isSandboxOnly: true },
      { key: 'developers', path: '/developers', icon: 'developers', letter: 'v' },
    ],
  },
];

type Seen = Pick<Session, 'isSandbox'> & { user: Pick<User, 'role'> };

export function placeGroupsOf({ isSandbox, user }: Seen): PlaceGroup[] {
  const isShown = (place: Place) =>
    (isSandbox || place.isSandboxOnly !== true) && (user.role === 'operator' || place.isOperatorOnly !== true);
  return placeGroups.map((group) => ({ ...group, places: group.places.filter(isShown) }));
}

export function placesOf(session: Seen): Place[] {
  return placeGroupsOf(session).flatMap((group) => group.places);
}
