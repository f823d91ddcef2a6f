// For developers of an ERP: the table of errors, the magic amounts, and in a sandbox a test key and test devices. A real gateway shows no key
// here.

import { Type } from 'typebox';
import type { RouteApp } from '../../http/server.ts';
import { errorCodes } from '../../kernel/error-codes.ts';
import { addRoute } from '../add-route.ts';
import { exampleIds, listOf } from '../shared-schemas.ts';

export interface DeveloperFacts {
  /** Only in a sandbox. */
  apiKey?: string | undefined;
  devices?: readonly { id: string; kind: 'terminal' | 'register'; name: string }[] | undefined;
  magicAmounts: readonly { amount: string; fault: string; kind: string; meaning: string }[];
}

export interface DeveloperDeps {
  developerFacts: () => DeveloperFacts;
}

export function registerDeveloperRoutes(app: RouteApp, { developerFacts }: DeveloperDeps): void {
  const errors = Object.entries(errorCodes).map(([name, { code, httpStatus, meaning }]) => ({ code, name, httpStatus, meaning }));
  addRoute(app, 'GET /developers', 'readDevelopers', {
    summary: 'Errors, magic amounts, and in a sandbox a test key and test devices',
    answer: {
      description: 'Reference data for developers of an ERP.',
      fields: {
        apiKey: Type.Optional(Type.String()),
        devices: Type.Optional(listOf({ id: Type.String(), kind: Type.String(), name: Type.String() })),
        magicAmounts: listOf({ amount: Type.String(), fault: Type.String(), kind: Type.String(), meaning: Type.String() }),
        errors: listOf({ code: Type.Integer(), name: Type.String(), httpStatus: Type.Integer(), meaning: Type.String() }),
      },
      example: {
        devices: [{ id: exampleIds.device, kind: 'terminal', name: 'Till 1' }],
        magicAmounts: [{ amount: 'x.61', fault: 'declined', kind: 'terminal', meaning: 'the bank declines the card' }],
        errors: [{ code: 0, name: 'NoError', httpStatus: 200, meaning: 'Success.' }],
      },
    },
    handle: () => ({ ...developerFacts(), errors }),
  });
}
