// 1,900 Chinese letters by chance, so that nothing makes them shorter: 5,800 characters as the DNS writes them, and an index of PostgreSQL takes 2,704.
import { seededRandom } from './seeded-random.ts';

const dice = seededRandom(5);

export const longHost = Array.from({ length: 1_900 }, () => String.fromCodePoint(0x4e00 + Math.floor(dice.fraction() * 20_000))).join('');
