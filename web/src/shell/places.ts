// The pages of the cabinet: where they are, what leads there, which letter after `g` goes there.
import type { IconName } from '../parts/icons.tsx';

export interface Place {
  key: string;
  path: string;
  icon: IconName;
  letter: string;
  /** There is no such page where the money is real. */
  isSandboxOnly?: true;
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

export function placeGroupsOf(isSandbox: boolean): PlaceGroup[] {
  return placeGroups.map((group) => ({ ...group, places: group.places.filter((place) => isSandbox || place.isSandboxOnly !== true) }));
}

export function placesOf(isSandbox: boolean): Place[] {
  return placeGroupsOf(isSandbox).flatMap((group) => group.places);
}
