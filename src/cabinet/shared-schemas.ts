// Shared parts of the schemas of the cabinet's routes.
import { type TProperties, Type } from 'typebox';
import { dateTimeField, uuidField } from '../http/schemas.ts';

export const exampleIds = {
  merchant: '0d4f3c52-7a33-4b56-9d0e-6a2f6c1f8a11',
  key: '5b6e0b61-5a1d-4f5e-8c55-0f6a3b7f2c22',
  device: 'b4c7b0f6-3f5e-4f0e-9a51-5d2f8e7c1a90',
  callback: '9f2d7c1e-64aa-4c8f-b1b7-3e5a0c9d4e33',
  invoice: 'e7a1c0d4-2b38-4f6c-8d9e-1f2a3b4c5d44',
};
export const exampleTime = '2026-01-15T09:00:00.000Z';

/** A page of at most 500; the next one begins after its last row. */
export const pageFields = { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'How many at most (100).' })) };
export const defaultPage = 100;

export const merchantQuery = Type.Object({ merchantId: Type.Optional(uuidField('Only rows of this merchant.')) });
export const moment = dateTimeField('Date and time in ISO 8601.');

export function listOf(fields: TProperties) {
  return Type.Array(Type.Object(fields));
}

/** Values of these types under any names. */
export function mapOf<Value>(...types: string[]) {
  const [only] = types;
  const values = types.length === 1 ? { type: only } : { anyOf: types.map((type) => ({ type })) };
  return Type.Unsafe<Record<string, Value>>({ type: 'object', additionalProperties: values });
}
