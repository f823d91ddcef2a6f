// Holds source files against the tables in floors.ts. Takes files as a map from path to text, so that a test can
// plant a violation without touching the disk.
import { posix } from 'node:path';
import {
  doors,
  emptyNames,
  floors,
  innerFloors,
  maxFileLines,
  maxFunctionLines,
  mayKnowErrorCodes,
  outsideSources,
  packageRules,
  pureFolders,
  topFiles,
  virtualMayImport,
  virtualMayImportTypes,
} from './floors.ts';
import { type Reference, readFacts } from './references.ts';

export type Files = ReadonlyMap<string, string>;

const floorOf = new Map(floors.flatMap((rooms, floor) => rooms.map((room) => [room, floor] as const)));

/** The room of a path under src, `wiring` or `settings` for what stands above the rooms, undefined for the unknown. */
function placeOf(path: string): string | undefined {
  const listed = topFiles[path];
  if (listed) return listed;
  const room = /^src\/([^/]+)\//.exec(path)?.[1];
  if (room === 'cli' || room === 'wiring') return 'wiring';
  return room !== undefined && (floorOf.has(room) || room === 'virtual') ? room : undefined;
}

/** How high a file stands inside its room; 0 where the room has no inner order, undefined for a folder that its table does not name. */
function innerFloorOf(room: string, path: string): { floor: number; folder: string } | undefined {
  const order = innerFloors[room];
  const [inside = '', ...deeper] = path.slice(`src/${room}/`.length).split('/');
  if (!order) return deeper.length === 0 ? { floor: 0, folder: '.' } : undefined;
  const folder = deeper.length > 0 || order.some((names) => names.includes(inside)) ? inside : '.';
  const floor = order.findIndex((names) => names.includes(folder));
  return floor === -1 ? undefined : { floor, folder };
}

/** Inside a room, folders know only what lies below them. */
function mayImportInside(room: string, path: string, target: string): boolean {
  const from = innerFloorOf(room, path);
  const to = innerFloorOf(room, target);
  return from !== undefined && to !== undefined && (from.folder === to.folder || to.floor < from.floor);
}

function mayImport(path: string, place: string, target: string, isTypeOnly: boolean): boolean {
  const to = placeOf(target);
  if (to === undefined) return false;
  if (place === to && place !== 'wiring') return mayImportInside(place, path, target);
  if (place === 'virtual' && isTypeOnly && virtualMayImportTypes.includes(target)) return true;
  if (place === 'virtual')
    return virtualMayImport.some((allowed) => target === allowed || (allowed.endsWith('/') && target.startsWith(allowed)));
  if (place === 'settings') return to === 'kernel';
  if (place === 'wiring') return true;
  if (to === 'wiring' || to === 'settings') return false;
  if (doors.some((door) => door.from === place && door.to === to)) return true;
  if (to === 'virtual') return false;
  return (floorOf.get(to) ?? Infinity) < (floorOf.get(place) ?? -1);
}

function packageName(target: string): string {
  if (target.startsWith('node:')) return target;
  return target.split('/', target.startsWith('@') ? 2 : 1).join('/');
}

function judgePackage(place: string, { target = '', isTypeOnly }: Reference): string | undefined {
  const name = packageName(target);
  const rule = packageRules.find(({ packages }) => packages.includes(name));
  if (!rule) return `imports ${name}, which no table in floors.ts lists`;
  if (rule.places.includes(place)) return undefined;
  if (rule.typesIn?.includes(place)) return isTypeOnly ? undefined : `may import only types from ${name}`;
  return `is in ${place}, which may not import ${name}`;
}

function judgeReference(path: string, place: string, reference: Reference, files: Files): string | undefined {
  const { target } = reference;
  if (target === undefined) return 'imports something computed, which cannot be judged';
  if (!target.startsWith('.')) return judgePackage(place, reference);
  const resolved = posix.join(posix.dirname(path), target);
  if (outsideSources.some((allowed) => allowed.place === place && resolved.startsWith(allowed.target))) return undefined;
  if (!files.has(resolved)) return `imports ${resolved}, which is not a source file`;
  return mayImport(path, place, resolved, reference.isTypeOnly) ? undefined : `is in ${place}, which may not import ${resolved}`;
}

/** Pure folders reach nothing outside, and error codes about money come from the rules [D300]. */
function judgePurity(path: string, { target = '' }: Reference): string | undefined {
  const resolved = target.startsWith('.') ? posix.join(posix.dirname(path), target) : undefined;
  const [folder, others] = Object.entries(pureFolders).find(([start]) => path.startsWith(start)) ?? [];
  if (folder !== undefined && !(resolved !== undefined && [folder, ...(others ?? [])].some((start) => resolved.startsWith(start))))
    return `is in ${folder}, which is pure and may not import ${resolved ?? target}`;
  const isInRoom = path.startsWith('src/money/') && folder === undefined;
  const isListed = mayKnowErrorCodes.some((one) => one.path === path);
  return isInRoom && resolved === 'src/kernel/error-codes.ts' && !isListed ? 'makes an error about money beside the rules' : undefined;
}

/** Rules for files under src. */
export function findViolations(files: Files): string[] {
  const violations: string[] = [];
  for (const [path, text] of files) {
    const say = (problem: string) => violations.push(`${path} ${problem}`);
    const place = placeOf(path);
    if (place === undefined || (floorOf.has(place) && innerFloorOf(place, path) === undefined)) {
      say('is in no room that floors.ts lists');
      continue;
    }
    const facts = readFacts(path, text);
    for (const error of facts.syntaxErrors) say(`cannot be parsed: ${error}`);
    for (const reference of facts.references) {
      const problem = judgePurity(path, reference) ?? judgeReference(path, place, reference, files);
      if (problem) say(problem);
    }
    if (facts.readsEnvironment && place !== 'settings') say('reads process.env, which only src/config.ts may');
    if (facts.hasDefaultExport) say('has a default export');
    if (!facts.hasHeader) say('has no header comment');
    if (emptyNames.includes(posix.basename(path).replace(/\.tsx?$/, ''))) say('has a name that tells no subject');
  }
  return violations;
}

/** The rule for every TypeScript file of the repository. */
/** What a script makes is as long as what it is made of. */
const isGenerated = (text: string) => text.startsWith('// Made by scripts/');

export function findLongFiles(files: Files): string[] {
  return [...files].flatMap(([path, text]) => {
    if (isGenerated(text)) return [];
    const lines = text.split('\n').length - 1;
    return lines > maxFileLines ? [`${path} has ${lines} lines, more than ${maxFileLines}`] : [];
  });
}

/** One closure around the ledger of a day: they compare the old core with the new one, and go with the old one [D300]. */
const goWithOldCore = 'simulation/compare/';

/** What registers routes is a table, one entry a call, and may be as long as its table. */
export function findLongFunctions(files: Files): string[] {
  return [...files].flatMap(([path, text]) =>
    readFacts(path, text)
      .functions.filter(({ name, lines }) => lines > maxFunctionLines && !name.startsWith('register') && !path.startsWith(goWithOldCore))
      .map(({ name, lines }) => `${path}: ${name} has ${lines} lines, more than ${maxFunctionLines}`),
  );
}
