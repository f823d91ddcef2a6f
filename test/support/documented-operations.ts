// The operations of the catalogue as openapi/v1.json describes them: the endpoint of each, and the example of its request.
import { readFileSync } from 'node:fs';

export interface DocumentedOperation {
  /** Its name in the catalogue. */
  operation: string;
  path: string;
  method: string;
  operationId: string;
  tags: string[];
  example: Record<string, unknown>;
}

interface Described extends Pick<DocumentedOperation, 'operationId' | 'tags'> {
  'x-operation'?: string;
  requestBody?: { content: Record<string, { example: Record<string, unknown> }> };
}

export function documentedOperations(): DocumentedOperation[] {
  const text = readFileSync(new URL('../../openapi/v1.json', import.meta.url), 'utf8');
  const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, Described>> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { 'x-operation': operation, operationId, tags, requestBody }]) => {
      const { APIKey: _, ...example } = requestBody?.content['application/json']?.example ?? {};
      return operation === undefined ? [] : [{ operation, path, method, operationId, tags, example }];
    }),
  );
}
