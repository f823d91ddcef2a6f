// `tillgate completions bash|zsh|fish`: the completion script of a shell, generated from the table of commands, so that new commands are
// included. The scripts are complete: pressing Tab starts no process and calls no gateway.

import { helpOption, type Options } from './options.ts';

export interface Completable {
  /** As typed: 'serve', 'key create'. */
  name: string;
  help: string;
  options: Options;
  /** Possible arguments after the name. */
  words?: readonly string[];
}

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export const howToLoad: Record<Shell, string> = {
  bash: 'source <(tillgate completions bash)',
  zsh: 'source <(tillgate completions zsh)   (after compinit)',
  fish: 'tillgate completions fish | source',
};

interface Tree {
  /** First words with their help. */
  firsts: { word: string; help: string }[];
  /** Of a family such as `key`: its second words. */
  families: Map<string, Completable[]>;
  singles: Completable[];
}

function treeOf(commands: readonly Completable[]): Tree {
  const singles = commands.filter(({ name }) => !name.includes(' '));
  const families = new Map<string, Completable[]>();
  for (const command of commands) {
    const [first = '', second] = command.name.split(' ');
    if (second !== undefined) families.set(first, [...(families.get(first) ?? []), command]);
  }
  const firsts = singles.map(({ name, help }) => ({ word: name, help }));
  for (const [word, members] of families) firsts.push({ word, help: members.map(({ name }) => secondOf(name)).join(', ') });
  return { firsts, families, singles };
}

const secondOf = (name: string) => name.split(' ')[1] ?? '';
const optionsOf = ({ options }: Completable) => [...Object.keys(options), 'help'].map((option) => `--${option}`);
const wordsOf = (command: Completable) => [...(command.words ?? []), ...optionsOf(command)];
/** Options without a value: after any other option a value follows, which is not completed. */
function flagsOf(commands: readonly Completable[]): string[] {
  const plain = commands.flatMap(({ options }) => Object.entries(options).filter(([, [type]]) => type === 'boolean'));
  return [...new Set([...plain.map(([option]) => `--${option}`), '--help'])];
}

/** In single quotes for a POSIX shell and zsh. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const fishQuoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

export function completionScript(shell: Shell, commands: readonly Completable[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](commands);
}

function bashScript(commands: readonly Completable[]): string {
  const { firsts, families, singles } = treeOf(commands);
  const reply = (words: readonly string[]) => `words=${quoted(words.join(' '))}`;
  const family = ([first, members]: [string, Completable[]]) => [
    `    ${first})`,
    `      if ((COMP_CWORD == 2)); then ${reply(members.map(({ name }) => secondOf(name)))}; else`,
    '        case ${COMP_WORDS[2]} in',
    ...members.map((member) => `          ${secondOf(member.name)}) ${reply(wordsOf(member))} ;;`),
    '        esac',
    '      fi ;;',
  ];
  return [
    '# bash completion of tillgate, made by `tillgate completions bash`.',
    '_tillgate() {',
    '  local words= current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}',
    '  COMPREPLY=()',
    `  case $before in ${flagsOf(commands).join('|')}) ;; --*) return ;; esac`,
    `  if ((COMP_CWORD == 1)); then ${reply([...firsts.map(({ word }) => word), '--help', '--version'])}; else`,
    '    case ${COMP_WORDS[1]} in',
    ...singles.map((single) => `    ${single.name}) ${reply(wordsOf(single))} ;;`),
    ...[...families].flatMap(family),
    '    esac',
    '  fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    'complete -o default -F _tillgate tillgate',
    '',
  ].join('\n');
}

function zshScript(commands: readonly Completable[]): string {
  const { firsts, families, singles } = treeOf(commands);
  const described = (items: { word: string; help: string }[]) =>
    items.map(({ word, help }) => quoted(`${word}:${help.replaceAll(':', '\\:')}`)).join(' ');
  const plain = (words: readonly string[]) => `compadd -- ${words.join(' ')}`;
  const family = ([first, members]: [string, Completable[]]) => [
    `    ${first})`,
    '      if (( CURRENT == 3 )); then',
    `        found=(${described(members.map(({ name, help }) => ({ word: secondOf(name), help })))}); _describe command found`,
    '      else case $words[3] in',
    ...members.map((member) => `        ${secondOf(member.name)}) ${plain(wordsOf(member))} ;;`),
    '      esac; fi ;;',
  ];
  return [
    '#compdef tillgate',
    '# zsh completion of tillgate, made by `tillgate completions zsh`.',
    '_tillgate() {',
    '  local -a found',
    `  case $words[CURRENT-1] in ${flagsOf(commands).join('|')}) ;; --*) _files; return ;; esac`,
    '  if (( CURRENT == 2 )); then',
    `    found=(${described(firsts)}); _describe command found`,
    '  else case $words[2] in',
    ...singles.map((single) => `    ${single.name}) ${plain(wordsOf(single))} ;;`),
    ...[...families].flatMap(family),
    '  esac; fi',
    '}',
    'compdef _tillgate tillgate',
    '',
  ].join('\n');
}

function fishScript(commands: readonly Completable[]): string {
  const { firsts, families, singles } = treeOf(commands);
  const line = (condition: string, rest: string) => `complete -c tillgate -f -n ${fishQuoted(condition)} ${rest}`;
  const ofCommand = (command: Completable) => [
    ...(command.words ?? []).map((word) => line(`__tillgate_in ${command.name}`, `-a ${word}`)),
    ...Object.entries<Options[string]>({ ...command.options, ...helpOption }).map(([option, [type]]) =>
      line(`__tillgate_in ${command.name}`, `-l ${option}${type === 'string' ? ' -r' : ''}`),
    ),
  ];
  return [
    '# fish completion of tillgate, made by `tillgate completions fish`.',
    'function __tillgate_at # exactly these words have been typed',
    '  set -l typed (commandline -opc)',
    '  test "$typed[2..-1]" = "$argv"',
    'end',
    'function __tillgate_in # the line begins with these words',
    '  set -l typed (commandline -opc)',
    '  set -l last (math (count $argv) + 1)',
    '  test (count $typed) -ge $last; and test "$typed[2..$last]" = "$argv"',
    'end',
    ...firsts.map(({ word, help }) => line('__tillgate_at', `-a ${word} -d ${fishQuoted(help)}`)),
    ...[...families].flatMap(([first, members]) =>
      members.map(({ name, help }) => line(`__tillgate_at ${first}`, `-a ${secondOf(name)} -d ${fishQuoted(help)}`)),
    ),
    ...[...singles, ...[...families.values()].flat()].flatMap(ofCommand),
    '',
  ].join('\n');
}
