// The Developers page shows what the document says of each call, also what the document says once and refers to.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type OpenApi, operationsOf } from '../../web/src/pages/openapi-reading.ts';

const api = JSON.parse(readFileSync(new URL('../../openapi/v1.json', import.meta.url), 'utf8')) as OpenApi;
const operations = operationsOf(api);
const fieldsOf = (id: string) => operations.find((operation) => operation.id === id)?.fields ?? [];

describe('the calls of the document', () => {
  it('are all there, each with fields that have a type', () => {
    const calls = Object.entries(api.paths).flatMap(([path, methods]) => (/^\/(Device|Invoice)\//.test(path) ? Object.keys(methods) : []));
    expect(operations).toHaveLength(calls.length);
    expect(operations).not.toHaveLength(0);
    for (const { id, fields } of operations) {
      expect(fields.length, id).toBeGreaterThan(1);
      for (const { name, type } of fields) expect(type, `${id} ${name}`).not.toBe('');
    }
  });

  it('show the fields of a body that stands behind a reference', () => {
    expect(fieldsOf('pay')).toMatchObject([
      { name: 'APIKey', type: 'string uuid', isRequired: false },
      { name: 'DeviceID', type: 'string uuid', isRequired: true },
      { name: 'amount', type: 'number | string', isRequired: true },
      { name: 'documentNr', type: 'string uuid', isRequired: false },
    ]);
  });

  it('show the fields of a receipt, its items and its payments', () => {
    const names = fieldsOf('printReceipt').map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['Receipt', 'Receipt.Uid', 'Receipt.Items', 'Receipt.Items[].Name', 'Receipt.Payments[].PaymentCode']),
    );
    expect(fieldsOf('printReceipt').find(({ name }) => name === 'Receipt.Items[].Name')).toMatchObject({
      type: 'string',
      isRequired: true,
    });
  });
});

it('a schema that refers to itself, and a reference to nothing, are read to an end', () => {
  const tree = {
    type: 'object',
    properties: { child: { $ref: '#/components/schemas/Tree' }, lost: { $ref: '#/components/schemas/None' } },
  };
  const paths = {
    '/tree': {
      post: { tags: ['POS Mode'], requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Tree' } } } } },
    },
  };
  const [operation] = operationsOf({ info: { description: '' }, paths, components: { schemas: { Tree: tree } } });
  expect(operation?.fields.map(({ name }) => name)).toContain('child.child.child.lost');
  expect(operation?.fields).toHaveLength(8);
});
