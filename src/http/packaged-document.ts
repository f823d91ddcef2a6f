// The API document that a running gateway serves: the two files of the package, with the gateway's own address. Generating it from the
// routes takes a second of the main thread, in which payments would wait.
import { readFile } from 'node:fs/promises';
import type { ApiDocument } from './openapi-parts.ts';

const directory = new URL('../../openapi/', import.meta.url);

export type DocumentFile = 'v1.json' | 'cabinet.json';

export async function packagedDocument(file: DocumentFile, basePath: string): Promise<ApiDocument> {
  const document = JSON.parse(await readFile(new URL(file, directory), 'utf8')) as ApiDocument;
  return { ...document, servers: [{ url: basePath === '' ? '/' : basePath }] };
}
