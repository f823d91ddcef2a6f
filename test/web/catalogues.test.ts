// The three catalogues say the same: no key is missing, none is left over, and every value that a sentence takes is in all of them.
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { storyNames } from '../../src/cabinet/playground/view-schema.ts';
import { operationNames } from '../../src/kernel/operations.ts';
import { dropReasons } from '../../src/link/messages.ts';
import * as cardStories from '../../src/playground/stories/card-stories.ts';
import * as qrStories from '../../src/playground/stories/qr-stories.ts';

const root = fileURLToPath(new URL('../../web/src/', import.meta.url));
const plural = /_(one|two|few|many|other)$/;

type Tree = { [key: string]: string | Tree };

function flat(tree: Tree, path = ''): Map<string, string> {
  const entries = Object.entries(tree).flatMap(([key, value]): [string, string][] => {
    const at = path === '' ? key : `${path}.${key}`;
    return typeof value === 'string' ? [[at, value]] : [...flat(value, at)];
  });
  return new Map(entries);
}

const read = (language: string) => flat(JSON.parse(readFileSync(`${root}i18n/${language}.json`, 'utf8')) as Tree);
const english = read('en');
const valuesOf = (text: string) => [...text.matchAll(/\{\{\s*(\w+)/g)].map(([, name]) => name ?? '').sort();

describe.each(['ro', 'ru'])('the catalogue %s', (language) => {
  const other = read(language);
  it('has the keys of the English one', () => {
    const names = (catalogue: Map<string, string>) => [...new Set([...catalogue.keys()].map((key) => key.replace(plural, '')))].sort();
    expect(names(other)).toEqual(names(english));
  });

  it('has every form of a plural that its language needs', () => {
    const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
    const bases = [...english.keys()].filter((key) => plural.test(key)).map((key) => key.replace(plural, ''));
    const missing = [...new Set(bases)].flatMap((key) =>
      forms.filter((form) => !other.has(`${key}_${form}`)).map((form) => `${key}_${form}`),
    );
    expect(missing).toEqual([]);
  });

  it('takes the same values', () => {
    const differing = [...english].filter(([key, text]) => {
      const own = other.get(key);
      return own !== undefined && !plural.test(key) && String(valuesOf(own)) !== String(valuesOf(text));
    });
    expect(differing.map(([key]) => key)).toEqual([]);
  });
});

describe('the pages', () => {
  const files = globSync('**/*.{ts,tsx}', { cwd: root }).map((path) => [path, readFileSync(`${root}${path}`, 'utf8')] as const);

  it('name only keys that exist', () => {
    const exists = (key: string) => english.has(key) || english.has(`${key}_other`);
    const missing = files.flatMap(([path, text]) =>
      [...text.matchAll(/\bt\(\s*'([^']+)'/g)]
        .map(([, key]) => key ?? '')
        .filter((key) => !exists(key))
        .map((key) => `${path}: ${key}`),
    );
    expect(missing).toEqual([]);
  });

  it('name only families of keys that exist', () => {
    const families = files.flatMap(([path, text]) => [...text.matchAll(/\bt\(\s*`([\w.]+)\.\$\{/g)].map(([, key]) => `${path}: ${key}`));
    const missing = families.filter((line) => ![...english.keys()].some((key) => key.startsWith(`${line.split(': ')[1]}.`)));
    expect(families.length).toBeGreaterThan(10);
    expect(missing).toEqual([]);
  });

  it('have no words of their own', () => {
    const spoken = files.flatMap(([path, text]) =>
      [...text.matchAll(/>\s*([A-Z][a-z]+(?: [a-z]+)+)[^<>{}=;]*</g)].map(([, words]) => `${path}: ${words}`),
    );
    expect(spoken).toEqual([]);
  });
});

describe('what the gateway says', () => {
  const sources = globSync('src/cabinet/**/*.ts', { cwd: `${root}../../` }).map((path) => readFileSync(`${root}../../${path}`, 'utf8'));
  const families = ['outcome', 'advice', 'mark', 'step', 'consequence', 'whyNot', 'search', 'attention'];
  const name = `(?:${families.join('|')})\\.[A-Za-z][\\w.]*`;

  it('has its words in the catalogue', () => {
    const keys = sources.flatMap((text) => [...text.matchAll(new RegExp(`(?<!action: )'(${name})'`, 'g'))].map(([, key]) => key ?? ''));
    expect(keys.length).toBeGreaterThan(40);
    expect(keys.filter((key) => !english.has(key) && !english.has(`${key}_other`))).toEqual([]);
  });

  it('has a name for every operation', () => {
    expect(operationNames.filter((name) => !english.has(`command.${name}`))).toEqual([]);
  });

  it('has a word for every reason why a message is dropped', () => {
    const missing = [...dropReasons, 'late-question'].filter((reason) => !english.has(`dropped.${reason}`));
    expect(missing).toEqual([]);
  });

  it('has a word for every action of the audit log', () => {
    const rooms = globSync('src/{access,cabinet,cards,devices,invoices,callbacks,wiring}/**/*.ts', { cwd: `${root}../../` });
    const deed = /'((?:access|attention|callback|command|device|document|invoice|key|login|merchant|qr-secret|session|user)\.[a-z-]+)'/g;
    const texts = rooms.map((path) => readFileSync(`${root}../../${path}`, 'utf8'));
    const deeds = texts.flatMap((text) => [...text.matchAll(deed)].map(([, key]) => (key ?? '').replace('.', '-')));
    expect(deeds.length).toBeGreaterThan(20);
    expect([...new Set(deeds)].filter((key) => !english.has(`audit.action.${key}`))).toEqual([]);
  });

  it('has a family in the catalogue for every key that is put together', () => {
    const keys = sources.flatMap((text) =>
      [...text.matchAll(/`((?:outcome|step|attention|whyNot|consequence)[\w.]*)\$\{/g)].map(([, key]) => key ?? ''),
    );
    expect(keys.length).toBeGreaterThan(4);
    expect(keys.filter((key) => ![...english.keys()].some((one) => one.startsWith(key)))).toEqual([]);
  });
});

describe('what the playground says', () => {
  const told = globSync('src/playground/**/*.ts', { cwd: `${root}../../` }).map((path) => readFileSync(`${root}../../${path}`, 'utf8'));
  const scripts = { ...cardStories, ...qrStories };

  it('has its words in the catalogue', () => {
    const keys = told.flatMap((text) => [...text.matchAll(/'(playground\.[A-Za-z][\w.]*)'/g)].map(([, key]) => key ?? ''));
    expect(keys.length).toBeGreaterThan(5);
    expect(keys.filter((key) => !english.has(key))).toEqual([]);
  });

  it.each(storyNames)('has a name, a sentence, a verdict and a word for every step of the story %s', (name) => {
    const steps = scripts[name].steps.map((step) => `playground.steps.${name}.${step}.name`);
    const keys = [`playground.story.${name}.name`, `playground.story.${name}.about`, `playground.verdict.${name}`, ...steps];
    expect(steps.length).toBeGreaterThan(3);
    expect(keys.filter((key) => !english.has(key))).toEqual([]);
  });
});

describe('the words of the cabinet', () => {
  /** Words that mean several things, or are no established terms of the field. */
  const avoided = {
    en: /\b(told|tells?|hears?|heard|whoever|befalls?|at work|the deed|come in|comes in|taken back|give back|heals|riddle)\b/i,
    ro: /\b(anunțat\w*|făcut\.|un om|unui om|necaz\w*|fapta|se mișcă singură|aude|auzi|i s-a spus)\b|încasat o singură/i,
    ru: /сесси|(?<!про)читан[а-я]* |продавц|установлен|(?<![а-я])книг|вызов|услыш|слышит|сказано|реестр|неприятн|карта списана|заперт/i,
  };

  it.each(Object.entries(avoided))('avoid what is not established in %s', (language, words) => {
    const found = [...read(language)].filter(([, text]) => words.test(text));
    expect(found).toEqual([]);
  });

  it('take an ERP as feminine in Russian', () => {
    expect([...read('ru')].filter(([, text]) => /ERP[^.;:,]* (он|узнал|вернулся|отключился|принял|спросил)(?![а-я])/.test(text))).toEqual(
      [],
    );
  });

  it('are plain in the sources as well', () => {
    const sources = globSync('**/*.{ts,tsx,css}', { cwd: root }).map((path) => [path, readFileSync(`${root}${path}`, 'utf8')] as const);
    const found = sources.flatMap(([path, text]) =>
      [...text.matchAll(/\b(told|heard|whoever|befalls?|newcomers?|he|him|his)\b/gi)].map(([word]) => `${path}: ${word}`),
    );
    expect(found).toEqual([]);
  });
});
