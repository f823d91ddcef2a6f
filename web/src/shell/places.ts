// The pages of the cabinet: where they are, what leads there, which letter after `g` goes there.
import type { IconName } from '../parts/icons.tsx';

export interface Place {
  key: string;
  path: string;
  icon: IconName;
  letter: string;
  /** Only for these; absent: for all. */
  onlyFor?: 'operator' | 'changers';
}

export interface PlaceGroup {
  key: string;
  places: Place[];
}

export const placeGroups: PlaceGroup[] = [
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
    ],
  },
  { key: 'build', places: [{ key: 'developers', path: '/developers', icon: 'developers', letter: 'v' }] },
];

export const places: Place[] = placeGroups.flatMap((group) => group.places);
